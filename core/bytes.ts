import { createHash, hash as oneShotHash } from 'node:crypto'

const utf8 = new TextEncoder()
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** UTF-8 bytes of a string. Lone surrogates become U+FFFD: refuse them before. */
export const encodeUtf8 = (text: string): Uint8Array => utf8.encode(text)

/** The string of UTF-8 bytes. Throws a TypeError where they are not well-formed. */
export const decodeUtf8 = (bytes: Uint8Array): string => strictUtf8.decode(bytes)

/** The bytes of an own ArrayBuffer-backed copy-free view as a Buffer, for its encoders. */
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Lowercase hex. */
export const toHex = (bytes: Uint8Array): string => asBuffer(bytes).toString('hex')

/** Bytes of lowercase hex; `undefined` where it is anything else. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return undefined
  return new Uint8Array(Buffer.from(text, 'hex'))
}

/** Standard base64 with padding (RFC 4648 § 4). */
export const toBase64 = (bytes: Uint8Array): string => asBuffer(bytes).toString('base64')

/** Bytes of canonical standard base64; `undefined` where it is anything else. */
export function fromBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
}

/** All parts, one after the other. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const out = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** Bytewise order, as `Array.sort` wants it. */
export const compareBytes = (a: Uint8Array, b: Uint8Array): number => Buffer.compare(a, b)

export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && Buffer.compare(a, b) === 0

/** `u64(x)` of design.md § 3: 8 bytes, big-endian. Requires 0 <= value <= 2^53 - 1. */
export function u64(value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`u64 takes a safe integer >= 0, not ${value}`)
  const out = new Uint8Array(8)
  new DataView(out.buffer).setBigUint64(0, BigInt(value))
  return out
}

/** The inverse of `u64`, from `offset`. Throws a RangeError beyond 2^53 - 1. */
export function readU64(bytes: Uint8Array, offset = 0): number {
  const value = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(offset)
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError('u64 beyond the safe integers')
  return Number(value)
}

/** SHA-256 of one piece, 32 bytes. */
export const sha256 = (bytes: Uint8Array): Uint8Array => new Uint8Array(oneShotHash('sha256', bytes, 'buffer'))

/** SHA-256 of the parts joined, 32 bytes. */
export function sha256Of(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}

/** The first `length` bytes of SHAKE256 of `seed`. */
export const shake256 = (seed: Uint8Array, length: number): Uint8Array =>
  new Uint8Array(createHash('shake256', { outputLength: length }).update(seed).digest())
