import { ed25519 } from '@noble/curves/ed25519.js'
import { bytesToNumberLE } from '@noble/curves/utils.js'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { shake256 as nobleShake256 } from '@noble/hashes/sha3.js'

/**
 * Bytes, hashes and Ed25519 without Node, synchronous. WebCrypto is asynchronous, and missing on pages without TLS. The
 * exports are those of `node.ts`.
 */

// -- bytes

const encoder = /* @__PURE__ */ new TextEncoder()

/** The UTF-8 bytes of a string. Lone surrogates become U+FFFD, so reject them before. */
export const encodeUtf8 = (text: string): Uint8Array => encoder.encode(text)

/** Bytes that the caller must overwrite. */
export const allocate = (length: number): Uint8Array => new Uint8Array(length)

/** Lowercase hex. */
export const toHex = (bytes: Uint8Array): string => {
  let text = ''
  for (const byte of bytes) text += (byte + 256).toString(16).slice(1)
  return text
}

/** The bytes of lowercase hex; `undefined` for any other text. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return undefined
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16))
}

/** Standard base64 with padding (RFC 4648 § 4). */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** The bytes of standard base64 in its canonical form, with padding; `undefined` for any other text. */
export function fromBase64(text: string): Uint8Array | undefined {
  // `atob` ignores spaces, and throws for other characters.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined
  const decoded = atob(text)
  return btoa(decoded) === text ? Uint8Array.from(decoded, (character) => character.charCodeAt(0)) : undefined
}

/** Whether both have the same bytes. Not in constant time: do not use it to compare secrets. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i])

// -- hashes

export { sha256 }

/** SHA-256 in lowercase hex. */
export const sha256Hex = (bytes: Uint8Array): string => toHex(sha256(bytes))

const NO_BYTES: Uint8Array = /* @__PURE__ */ new Uint8Array()

/** SHA-256 of bytes followed by the UTF-8 bytes of a text, 32 bytes. */
export const sha256OfText = (text: string, before = NO_BYTES, next = NO_BYTES): Uint8Array =>
  sha256.create().update(before).update(next).update(encodeUtf8(text)).digest()

/** The same in lowercase hex. */
export const sha256HexOfText = (text: string, before = NO_BYTES, next = NO_BYTES): string =>
  toHex(sha256OfText(text, before, next))

/**
 * SHA-256 of tag ‖ salt ‖ text for each text, in lowercase hex. `salts`: 32 bytes each; the text at `i` has number
 * `firstSalt + i`.
 */
export const saltedHashes = (
  tag: Uint8Array,
  texts: readonly string[],
  salts: Uint8Array,
  firstSalt: number,
): readonly string[] =>
  texts.map((text, i) => sha256HexOfText(text, tag, salts.subarray(32 * (firstSalt + i), 32 * (firstSalt + i + 1))))

/** The first `length` bytes of the SHAKE256 output for `seed`. */
export const shake256 = (seed: Uint8Array, length: number): Uint8Array => nobleShake256(seed, { dkLen: length })

// -- Ed25519 (RFC 8032), with raw keys of 32 bytes

/**
 * Requires a public key of 32 bytes and a signature of 64 bytes. Checks that R is exactly sB − kA (§ 5.1.7), as OpenSSL
 * does in Node. `ed25519.verify` multiplies both sides by the cofactor: an attacker's key could then make signatures
 * that only one of the two platforms accepts.
 */
export function verifyEd25519(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  const { BASE, Fn } = ed25519.Point
  const [r, s] = [signature.subarray(0, 32), bytesToNumberLE(signature.subarray(32))]
  if (s >= Fn.ORDER) return false
  const k = Fn.create(bytesToNumberLE(sha512.create().update(r).update(publicKey).update(bytes).digest()))
  try {
    const key = ed25519.Point.fromBytes(publicKey)
    return equalBytes(BASE.multiplyUnsafe(s).subtract(key.multiplyUnsafe(k)).toBytes(), r)
  } catch {
    // The key is not the canonical encoding of a point.
    return false
  }
}

/** An Ed25519 key that can sign. */
export interface Ed25519Signer {
  /** Raw, 32 bytes. */
  readonly publicKey: Uint8Array
  /** 64 bytes, the same each time. */
  readonly sign: (bytes: Uint8Array) => Uint8Array
}

/** Requires a seed of 32 bytes. */
export const ed25519Signer = (seed: Uint8Array): Ed25519Signer => ({
  publicKey: ed25519.getPublicKey(seed),
  sign: (bytes) => ed25519.sign(bytes, seed),
})
