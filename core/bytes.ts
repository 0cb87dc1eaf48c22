import { createHash, hash as oneShotHash } from 'node:crypto'

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The UTF-8 bytes of a string. Lone surrogates become U+FFFD, so reject them before. It uses a Buffer, whose pool makes
 * short texts three to six times as fast as TextEncoder (60 characters: 105 against 619 ns).
 */
export const encodeUtf8 = (text: string): Uint8Array => plainBytes(Buffer.from(text, 'utf8'))

/** The same bytes as a Uint8Array, without a copy. */
const plainBytes = (bytes: Buffer): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)

/**
 * Bytes with arbitrary content: the caller must overwrite all of them. They come from Buffer's pool, because a
 * Uint8Array of more than 64 bytes needs an allocation outside V8's heap (120 bytes: 268 against 56 ns) and garbage
 * collection later.
 */
export const allocate = (length: number): Uint8Array => plainBytes(Buffer.allocUnsafe(length))

/** The string of UTF-8 bytes. Throws a `TypeError` if they are not well-formed. */
export const decodeUtf8 = (bytes: Uint8Array): string => strictUtf8.decode(bytes)

/** The same bytes as a Buffer, without a copy, for its encoders. */
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Lowercase hex. */
export const toHex = (bytes: Uint8Array): string => asBuffer(bytes).toString('hex')

/** The bytes of lowercase hex; `undefined` for any other text. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return undefined
  return plainBytes(Buffer.from(text, 'hex'))
}

/** Standard base64 with padding (RFC 4648 § 4). */
export const toBase64 = (bytes: Uint8Array): string => asBuffer(bytes).toString('base64')

/** The bytes of standard base64 in its canonical form, with padding; `undefined` for any other text. */
export function fromBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
}

/** Joins the parts into new bytes. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const out = allocate(length)
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** Whether both have the same bytes. Not in constant time: do not use it to compare secrets. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && Buffer.compare(a, b) === 0

const HIGH = 2 ** 32

/** Writes a number as 8 bytes, big-endian. Throws a `RangeError` unless it is a safe integer >= 0. */
export function u64(value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`A u64 must be a safe integer >= 0, got ${value}`)
  const out = new Uint8Array(8)
  writeU32(out, 0, value / HIGH)
  writeU32(out, 4, value)
  return out
}

/**
 * Reads a number that `u64` wrote, from `offset`. Throws a `RangeError` if bytes are missing or it exceeds 2^53 - 1.
 */
export function readU64(bytes: Uint8Array, offset = 0): number {
  if (offset + 8 > bytes.length) throw new RangeError(`A u64 has 8 bytes, got ${Math.max(0, bytes.length - offset)}`)
  const value = readU32(bytes, offset) * HIGH + readU32(bytes, offset + 4)
  if (value > Number.MAX_SAFE_INTEGER) throw new RangeError('A u64 exceeds the safe integers')
  return value
}

function writeU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

/** Requires that all four bytes exist. */
const readU32 = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0

/**
 * SHA-256, 32 bytes. The digest is passed from native code as a string of 32 one-byte characters, because creating a
 * Buffer there takes longer than hashing (120 bytes: 307 against 638 ns).
 */
export function sha256(bytes: Uint8Array): Uint8Array {
  const digest = oneShotHash('sha256', bytes, 'binary')
  const out = new Uint8Array(32)
  for (let i = 0; i < 32; i++) out[i] = digest.charCodeAt(i)
  return out
}

/** SHA-256 of the joined parts, 32 bytes. */
export const sha256Of = (...parts: readonly Uint8Array[]): Uint8Array => sha256(concatBytes(...parts))

const SCRATCH_BYTES = 4096
const scratch = Buffer.alloc(SCRATCH_BYTES)
/** Views of the first bytes of `scratch`, by length. Each is made once, not for each hash. */
const scratchViews: (Uint8Array | undefined)[] = []

/** SHA-256 of the parts followed by the UTF-8 bytes of a text, 32 bytes. */
export const sha256OfText = (text: string, ...before: readonly Uint8Array[]): Uint8Array => sha256(joined(text, before))

/** The same in lowercase hex, without making the bytes first. */
export const sha256HexOfText = (text: string, ...before: readonly Uint8Array[]): string =>
  oneShotHash('sha256', joined(text, before), 'hex')

/** The parts followed by the text. Valid only until the next call, because short results share one buffer. */
function joined(text: string, before: readonly Uint8Array[]): Uint8Array {
  let at = 0
  for (const part of before) at += part.length
  // UTF-8 needs at most three bytes for each UTF-16 code unit.
  if (at + 3 * text.length > SCRATCH_BYTES) return concatBytes(...before, encodeUtf8(text))
  at = 0
  for (const part of before) {
    scratch.set(part, at)
    at += part.length
  }
  const end = at + scratch.write(text, at, 'utf8')
  return (scratchViews[end] ??= new Uint8Array(scratch.buffer, scratch.byteOffset, end))
}

const SHA256_BLOCK_BYTES = 64

/**
 * Returns a function that computes HMAC-SHA-256 (RFC 2104) with this key, as lowercase hex. For short texts it takes a
 * fifth of the time of `createHmac`.
 */
export function hmacSha256(key: Uint8Array): (text: string) => string {
  const block = new Uint8Array(SHA256_BLOCK_BYTES)
  block.set(key.length > SHA256_BLOCK_BYTES ? sha256(key) : key)
  const [inner, outer] = [block.map((byte) => byte ^ 0x36), block.map((byte) => byte ^ 0x5c)]
  return (text) => oneShotHash('sha256', concatBytes(outer, sha256OfText(text, inner)), 'hex')
}

/** The first `length` bytes of the SHAKE256 output for `seed`. */
export const shake256 = (seed: Uint8Array, length: number): Uint8Array =>
  plainBytes(createHash('shake256', { outputLength: length }).update(seed).digest())
