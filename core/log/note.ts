import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { concatBytes, encodeUtf8, equalBytes, fromBase64, fromHex, sha256Of, toBase64, toHex } from '../bytes.ts'
import { RegistryError } from '../errors.ts'

/**
 * Signed notes with Ed25519 keys, https://c2sp.org/signed-note: a text that ends in a newline, an empty line, and
 * signature lines `— NAME BASE64(key id ‖ signature)`.
 */

const ED25519 = 0x01
const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const SEED_BYTES = 32
const SIGNATURE_MARK = '— '

/** Longest note that is parsed, in UTF-16 code units. Ours are below 1,000; there is room for cosignatures. */
export const MAX_NOTE_LENGTH = 64 * 1024
const MAX_SIGNATURES = 100

/** Who may have signed a note. */
export interface VerifierKey {
  readonly name: string
  /** 4 bytes: the first of SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key). */
  readonly keyId: Uint8Array
  /** Raw Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array
}

export interface NoteSignature {
  readonly name: string
  /** 4 bytes. */
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

export interface SignedNote {
  /** What is signed, with its last newline. */
  readonly text: string
  /** At least one; nothing is verified yet. */
  readonly signatures: readonly NoteSignature[]
}

export interface NoteSigner {
  /** `name+hash+base64`, as C2SP writes a verifier key. */
  readonly verifierKey: string
  /** Raw, 32 bytes. */
  readonly publicKey: Uint8Array
  /** The Ed25519 signature of any bytes, 64 bytes, the same each time. */
  sign(bytes: Uint8Array): Uint8Array
  /** The whole note over a text that ends in a newline, with this one signature. */
  signNote(text: string): string
}

const refuse = (why: string): RegistryError => new RegistryError('VERIFICATION_FAILED', `Not a signed note: ${why}`)

const isKeyName = (name: string): boolean => name !== '' && name.isWellFormed() && !/[\s+\p{Cc}]/u.test(name)

function keyIdOf(name: string, publicKey: Uint8Array): Uint8Array {
  return sha256Of(encodeUtf8(`${name}\n`), Uint8Array.of(ED25519), publicKey).subarray(0, KEY_ID_BYTES)
}

/** The verifier key of a name and a raw Ed25519 public key, in text. */
export function formatVerifierKey(name: string, publicKey: Uint8Array): string {
  if (!isKeyName(name))
    throw new RangeError('A key name is not empty and holds no spaces, no plus signs and no control characters')
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new RangeError('An Ed25519 public key has 32 bytes')
  return `${name}+${toHex(keyIdOf(name, publicKey))}+${toBase64(concatBytes(Uint8Array.of(ED25519), publicKey))}`
}

/** Parses a verifier key. Throws `VERIFICATION_FAILED` where it is none, is not Ed25519, or its hash is not its own. */
export function parseVerifierKey(text: string): VerifierKey {
  const [, name = '', hash = '', data = ''] = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/s.exec(text) ?? []
  const bytes = fromBase64(data)
  if (!isKeyName(name) || bytes?.length !== 1 + PUBLIC_KEY_BYTES || bytes[0] !== ED25519)
    throw new RegistryError('VERIFICATION_FAILED', 'Not an Ed25519 verifier key: it has the form NAME+HASH+BASE64')
  const publicKey = bytes.subarray(1)
  const keyId = keyIdOf(name, publicKey)
  if (toHex(keyId) !== hash)
    throw new RegistryError('VERIFICATION_FAILED', 'The hash in the verifier key is not that of its name and key')
  return { name, keyId, publicKey }
}

/** Parses a note from anybody, without checking a signature. Throws `VERIFICATION_FAILED`. */
export function parseNote(note: string): SignedNote {
  if (note.length > MAX_NOTE_LENGTH) throw refuse('it is too long')
  if (!note.isWellFormed() || /[^\P{Cc}\n]/u.test(note)) throw refuse('it holds control characters')
  const split = note.lastIndexOf('\n\n')
  if (split < 0 || !note.endsWith('\n')) throw refuse('it has no signature lines')
  const lines = note.slice(split + 2, -1).split('\n')
  if (lines.length > MAX_SIGNATURES) throw refuse('it has too many signatures')
  return { text: note.slice(0, split + 1), signatures: lines.map(parseSignatureLine) }
}

function parseSignatureLine(line: string): NoteSignature {
  const [name = '', data = '', ...more] = line.startsWith(SIGNATURE_MARK)
    ? line.slice(SIGNATURE_MARK.length).split(' ')
    : []
  const bytes = fromBase64(data)
  if (!isKeyName(name) || more.length > 0 || bytes === undefined || bytes.length <= KEY_ID_BYTES)
    throw refuse('a signature line is malformed')
  return { name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) }
}

/**
 * The text of a note that this key signed. Signatures of others are passed over, as C2SP wants; one by this key's name and
 * id that does not hold refuses the note. Throws `VERIFICATION_FAILED`.
 */
export function openNote(note: string, verifierKey: string): string {
  const key = parseVerifierKey(verifierKey)
  const { text, signatures } = parseNote(note)
  const own = signatures.filter(({ name, keyId }) => name === key.name && equalBytes(keyId, key.keyId))
  if (own.length === 0) throw new RegistryError('VERIFICATION_FAILED', `The note has no signature by ${key.name}`)
  for (const { signature } of own)
    if (!verifySignature(key.publicKey, encodeUtf8(text), signature))
      throw new RegistryError('VERIFICATION_FAILED', `The note's signature by ${key.name} does not verify`)
  return text
}

/** True where the Ed25519 signature of these bytes holds under this raw public key. */
export function verifySignature(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  return verify(null, bytes, publicKeyObject(publicKey), signature)
}

/** Signs with the Ed25519 key of a 32-byte seed (RFC 8032 § 5.1.5) under a name. */
export function createNoteSigner(name: string, seed: Uint8Array): NoteSigner {
  const privateKey = privateKeyOfSeed(seed)
  const publicKey = rawPublicKey(privateKey)
  const keyId = keyIdOf(name, publicKey)
  const signBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(sign(null, bytes, privateKey))
  return {
    verifierKey: formatVerifierKey(name, publicKey),
    publicKey,
    sign: signBytes,
    signNote(text) {
      if (!text.endsWith('\n')) throw new RangeError("A note's text ends in a newline")
      return `${text}\n${SIGNATURE_MARK}${name} ${toBase64(concatBytes(keyId, signBytes(encodeUtf8(text))))}\n`
    },
  }
}

/** The raw public key of a seed. */
export const publicKeyOfSeed = (seed: Uint8Array): Uint8Array => rawPublicKey(privateKeyOfSeed(seed))

// RFC 8410 § 7 and § 4: what stands before the 32 bytes of an Ed25519 seed in PKCS #8, and of a public key in SPKI.
const PKCS8_PREFIX = fromHex('302e020100300506032b657004220420') as Uint8Array
const SPKI_PREFIX = fromHex('302a300506032b6570032100') as Uint8Array

function privateKeyOfSeed(seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_BYTES) throw new RangeError('An Ed25519 seed has 32 bytes')
  return createPrivateKey({ key: Buffer.from(concatBytes(PKCS8_PREFIX, seed)), format: 'der', type: 'pkcs8' })
}

function rawPublicKey(privateKey: KeyObject): Uint8Array {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return new Uint8Array(der.subarray(SPKI_PREFIX.length))
}

const publicKeyObject = (raw: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.from(concatBytes(SPKI_PREFIX, raw)), format: 'der', type: 'spki' })
