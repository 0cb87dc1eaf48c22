import { verifyEd25519 } from '#platform'
import { concatBytes, encodeUtf8, fromBase64, sha256Of, toBase64, toHex } from '../bytes.ts'
import { RegistryError, verificationError } from '../errors.ts'

/** The C2SP verifier keys of signed notes (https://c2sp.org/signed-note), `NAME+HASH+BASE64`, and their signatures. */

/** The type byte of an Ed25519 key. It names the algorithm of the key. */
export const ED25519 = 0x01
/** The type byte of an Ed25519 key of a witness, which signs cosignatures (https://c2sp.org/tlog-cosignature). */
export const ED25519_COSIGNATURE = 0x04
/** The same of an ML-DSA-44 key. */
export const ML_DSA_44_COSIGNATURE = 0x06
const ML_DSA_44_KEY_BYTES = 1_312
/** The first bytes of a hash of name and key. */
export const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64

/** A parsed verifier key: the name and public key of a signer. */
export interface VerifierKey {
  readonly name: string
  /** 4 bytes: the first ones of SHA-256(name ‖ 0x0A ‖ type byte ‖ public key). */
  readonly keyId: Uint8Array
  /** The type byte. */
  readonly type: number
  /** The raw public key: 32 bytes of Ed25519, 1,312 of ML-DSA-44. */
  readonly publicKey: Uint8Array
}

/** Whether a key can have this name: not empty, without spaces, plus signs and control characters. */
export const isKeyName = (name: string): boolean => name !== '' && name.isWellFormed() && !/[\s+\p{Cc}]/u.test(name)

/** `typedKey`: the type byte and the public key. */
const keyIdOf = (name: string, typedKey: Uint8Array): Uint8Array =>
  sha256Of(encodeUtf8(`${name}\n`), typedKey).subarray(0, KEY_ID_BYTES)

/**
 * Writes a C2SP verifier key, `NAME+HASH+BASE64`.
 *
 * @param name Not empty, without spaces, plus signs and control characters.
 * @param publicKey Raw Ed25519 public key, 32 bytes.
 * @throws a `RangeError` for any other name or length.
 */
export function formatVerifierKey(name: string, publicKey: Uint8Array): string {
  if (!isKeyName(name))
    throw new RangeError('A key name must not be empty or contain spaces, plus signs or control characters')
  if (publicKey.length !== PUBLIC_KEY_BYTES)
    throw new RangeError(`An Ed25519 public key must have 32 bytes, got ${publicKey.length}`)
  const typedKey = concatBytes(Uint8Array.of(ED25519), publicKey)
  return `${name}+${toHex(keyIdOf(name, typedKey))}+${toBase64(typedKey)}`
}

/**
 * Writes a C2SP verifier key. `typedKey`: the type byte and the public key.
 *
 * @throws RegistryError `CONFIG_ERROR` if the type is not Ed25519, the only algorithm of this version
 */
export function formatTypedKey(name: string, typedKey: Uint8Array): string {
  if (typedKey[0] !== ED25519 || typedKey.length !== 1 + PUBLIC_KEY_BYTES)
    throw new RegistryError(
      'CONFIG_ERROR',
      `A checkpoint key of type ${typedKey[0]} with ${typedKey.length - 1} bytes cannot be used: expected ` +
        'Ed25519, type 1',
    )
  return formatVerifierKey(name, typedKey.subarray(1))
}

/** The type byte and the public key of a verifier key. Throws as `parseVerifierKey`. */
export const typedKeyOf = (verifierKey: string): Uint8Array =>
  concatBytes(Uint8Array.of(ED25519), parseVerifierKey(verifierKey).publicKey)

const keyError = (why: string): RegistryError => verificationError('keys.malformed', `Not a verifier key: ${why}`)

/**
 * Parses a C2SP verifier key, `NAME+HASH+BASE64`.
 *
 * @param type The type byte that the key must have: `ED25519` or that of a cosignature.
 * @throws `VERIFICATION_FAILED` if it is malformed, is of another type, its hash does not match its name and key, or
 *   its Ed25519 point is not in canonical form or of small order (`isUsablePoint`).
 */
export function parseVerifierKey(text: string, type = ED25519): VerifierKey {
  const { name, hash, typedKey } = splitVerifierKey(text)
  if (typedKey[0] !== type) throw keyError(`its type is ${typedKey[0]}, expected ${type}`)
  const bytes = type === ML_DSA_44_COSIGNATURE ? ML_DSA_44_KEY_BYTES : PUBLIC_KEY_BYTES
  if (typedKey.length !== 1 + bytes)
    throw keyError(`its public key must have ${bytes} bytes, got ${typedKey.length - 1}`)
  const keyId = keyIdOf(name, typedKey)
  if (toHex(keyId) !== hash) throw keyError('its hash does not match its name and public key')
  const publicKey = typedKey.subarray(1)
  if (bytes === PUBLIC_KEY_BYTES && !isUsablePoint(publicKey))
    throw keyError('its point is not in canonical form, or of small order')
  return { name, keyId, type, publicKey }
}

/** As `parseVerifierKey`. `undefined` for a key of a type that cannot be used: it counts as absent. */
export const usableKey = (text: string, type = ED25519): VerifierKey | undefined =>
  splitVerifierKey(text).typedKey[0] === type ? parseVerifierKey(text, type) : undefined

/** The same of a witness, of any type whose cosignatures can be verified. */
export const usableCosignatureKey = (text: string): VerifierKey | undefined =>
  usableKey(text, ED25519_COSIGNATURE) ?? usableKey(text, ML_DSA_44_COSIGNATURE)

/** The parts of a verifier key of any type. Throws `VERIFICATION_FAILED` if it has another form. */
export function splitVerifierKey(text: string): {
  readonly name: string
  readonly hash: string
  readonly typedKey: Uint8Array
} {
  const [, name = '', hash = '', data = ''] = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/s.exec(text) ?? []
  const typedKey = fromBase64(data)
  if (!isKeyName(name) || typedKey === undefined || typedKey.length === 0) throw keyError('expected NAME+HASH+BASE64')
  return { name, hash, typedKey }
}

/** y of the Ed25519 points whose order divides 8, hex in little-endian order. */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
])

/**
 * Whether a public key is in the one form of its point (y < 2^255 - 19), and not of small order. Node and browsers
 * differ about other forms, and under a key of small order one signature fits many messages.
 */
function isUsablePoint(publicKey: Uint8Array): boolean {
  const y = publicKey.slice()
  y[31] = (y[31] ?? 0) & 0x7f
  const isReduced = (y[0] ?? 0) < 0xed || y[31] < 0x7f || y.subarray(1, 31).some((byte) => byte < 0xff)
  return isReduced && !SMALL_ORDER.has(toHex(y))
}

/**
 * Whether an Ed25519 signature (64 bytes) of these bytes verifies with this raw public key (32 bytes). Never throws.
 */
export function verifySignature(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  return verifyEd25519(publicKey, bytes, signature)
}
