import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hash as oneShotHash,
  sign,
  verify,
  type KeyObject,
  randomFillSync,
  hkdfSync,
} from 'node:crypto'
import type { Ed25519Signer } from './web.ts'
import { RegistryError } from '../errors.ts'

/**
 * Bytes, hashes and Ed25519 with `node:buffer` and `node:crypto`. Package `imports` resolve `#platform` to this module
 * in Node, and to `web.ts` elsewhere. Both have the same exports, and return the same values.
 */

// -- bytes

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

/** Whether both have the same bytes. Not in constant time: do not use it to compare secrets. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && Buffer.compare(a, b) === 0

// -- hashes

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

/** SHA-256 in lowercase hex. */
export const sha256Hex = (bytes: Uint8Array): string => oneShotHash('sha256', bytes, 'hex')

const SCRATCH_BYTES = 4096
const scratch = Buffer.alloc(SCRATCH_BYTES)
/** Views of the first bytes of `scratch`, by length. Each is made once, not for each hash. */
const scratchViews: (Uint8Array | undefined)[] = []

const NO_BYTES: Uint8Array = new Uint8Array()

/** SHA-256 of bytes followed by the UTF-8 bytes of a text, 32 bytes. */
export const sha256OfText = (text: string, before = NO_BYTES, next = NO_BYTES): Uint8Array =>
  sha256(joined(text, before, next))

/** The same in lowercase hex, without making the bytes first. */
export const sha256HexOfText = (text: string, before = NO_BYTES, next = NO_BYTES): string =>
  sha256Hex(joined(text, before, next))

/** The bytes followed by the text. Valid only until the next call, because short results share one buffer. */
function joined(text: string, before: Uint8Array, next: Uint8Array): Uint8Array {
  const at = before.length + next.length
  if (at > SCRATCH_BYTES) return Buffer.concat([before, next, Buffer.from(text, 'utf8')])
  scratch.set(before)
  scratch.set(next, before.length)
  return withText(at, text)
}

/** The first `at` bytes of `scratch` followed by the text. Valid only until the next call, unless it is long. */
function withText(at: number, text: string): Uint8Array {
  // UTF-8 needs at most three bytes for each UTF-16 code unit.
  if (at + 3 * text.length > SCRATCH_BYTES) return Buffer.concat([scratch.subarray(0, at), Buffer.from(text, 'utf8')])
  const end = at + scratch.write(text, at, 'utf8')
  return (scratchViews[end] ??= new Uint8Array(scratch.buffer, scratch.byteOffset, end))
}

/**
 * SHA-256 of tag ‖ salt ‖ text for each text, in lowercase hex. `salts`: 32 bytes each; the text at `i` has number
 * `firstSalt + i`.
 */
export function saltedHashes(
  tag: Uint8Array,
  texts: readonly string[],
  salts: Uint8Array,
  firstSalt: number,
): readonly string[] {
  const hashes: string[] = []
  scratch.set(tag)
  const at = tag.length + SALT_BYTES
  let saltAt = firstSalt * SALT_BYTES
  for (const text of texts) {
    for (let i = tag.length; i < at; i++) scratch[i] = salts[saltAt++] ?? 0
    hashes.push(sha256Hex(withText(at, text)))
  }
  return hashes
}

const SALT_BYTES = 32

/** The first `length` bytes of the SHAKE256 output for `seed`. As text for the same reason as in `sha256`. */
export const shake256 = (seed: Uint8Array, length: number): Uint8Array =>
  plainBytes(Buffer.from(createHash('shake256', { outputLength: length }).update(seed).digest('binary'), 'binary'))

// -- Ed25519 (RFC 8032), with raw keys of 32 bytes

// RFC 8410 § 7 and § 4: the bytes before an Ed25519 seed in PKCS #8, and before a public key in SPKI.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** Requires a public key of 32 bytes and a signature of 64 bytes. */
export const verifyEd25519 = (publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean =>
  verify(null, bytes, publicKeyObject(publicKey), signature)

/** A log has few keys, and making the object takes longer than a check of a signature. */
const MAX_CACHED_KEYS = 32
const cachedKeys = new Map<string, KeyObject>()

function publicKeyObject(raw: Uint8Array): KeyObject {
  const id = toHex(raw)
  const cached = cachedKeys.get(id)
  if (cached !== undefined) return cached
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' })
  if (cachedKeys.size >= MAX_CACHED_KEYS) cachedKeys.clear()
  cachedKeys.set(id, key)
  return key
}

/** Requires a seed of 32 bytes. */
export function ed25519Signer(seed: Uint8Array): Ed25519Signer {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return {
    publicKey: new Uint8Array(spki.subarray(SPKI_PREFIX.length)),
    sign: (bytes) => new Uint8Array(sign(null, bytes, privateKey)),
  }
}

/** Drawing 4 KiB takes no longer than drawing 32 bytes (1.7 µs), and a create needs two draws. */
const POOL_BYTES = 4096
const pool = new Uint8Array(POOL_BYTES)
let used = POOL_BYTES

/**
 * Unpredictable bytes from the system's generator, for salts, seeds and keys. Each byte of the pool is returned once,
 * as a copy, and then erased from the pool, so that it can never be returned again.
 *
 * @param count 0 to 4,096. Throws a `RangeError` for any other number.
 */
export function randomBytes(count: number): Uint8Array {
  if (!Number.isInteger(count) || count < 0 || count > POOL_BYTES)
    throw new RangeError(`The number of random bytes must be 0 to ${POOL_BYTES}, got ${count}`)
  if (used + count > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  const out = pool.slice(used, used + count)
  pool.fill(0, used, used + count)
  used += count
  return out
}

/** What a secret is derived for. */
export type SecretPurpose = 'api-key' | 'file-token' | 'idempotency' | 'secret-id'

/** The smallest length of the root secret. */
export const MIN_SECRET_BYTES = 32

/**
 * Derives a secret of 32 bytes from the root secret: HKDF-SHA-256 (RFC 5869) without salt, with the purpose as info.
 * Throws `CONFIG_ERROR` if the root secret is shorter than 32 bytes.
 */
export function deriveSecret(root: Uint8Array, purpose: SecretPurpose): Uint8Array {
  if (root.length < MIN_SECRET_BYTES)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The root secret must have at least ${MIN_SECRET_BYTES} bytes, got ${root.length}`,
    )
  return new Uint8Array(hkdfSync('sha256', root, new Uint8Array(), `evidence-registry/1/${purpose}`, 32))
}
