import { ed25519Signer } from '#platform'
import { concatBytes, encodeUtf8, equalBytes, fromBase64, toBase64 } from '../bytes.ts'
import { type RegistryError, verificationError } from '../errors.ts'
import { formatVerifierKey, isKeyName, KEY_ID_BYTES, parseVerifierKey, verifySignature } from './verifier-key.ts'

/**
 * Signed notes (https://c2sp.org/signed-note) with Ed25519 keys: a text that ends in a newline, an empty line, and
 * signature lines `— NAME BASE64(key id ‖ signature)`.
 */

const SEED_BYTES = 32
const SIGNATURE_MARK = '— '

/**
 * The longest note that is parsed, in UTF-16 code units. A checkpoint has less than 1,000, so there is room for
 * cosignatures.
 */
export const MAX_NOTE_LENGTH = 64 * 1024
const MAX_SIGNATURES = 100

/** One signature of a note. */
export interface NoteSignature {
  readonly name: string
  /** 4 bytes. */
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

/** A parsed note. Its signatures are not verified. */
export interface SignedNote {
  /** The signed text, with its last newline. */
  readonly text: string
  /** At least one. */
  readonly signatures: readonly NoteSignature[]
}

/** Signs notes with one key. */
export interface NoteSigner {
  /** The C2SP verifier key `NAME+HASH+BASE64`. Give it to those who verify. */
  readonly verifierKey: string
  /** Raw Ed25519 public key, 32 bytes. */
  readonly publicKey: Uint8Array
  /** The Ed25519 signature of any bytes: 64 bytes, the same each time. */
  sign(bytes: Uint8Array): Uint8Array
  /** The whole note with this one signature. Throws a `RangeError` unless the text ends in a newline. */
  signNote(text: string): string
}

const noteError = (why: string): RegistryError => verificationError('note.malformed', `Not a signed note: ${why}`)

/**
 * Parses a note without verifying its signatures.
 *
 * @param note May come from an attacker.
 * @throws `VERIFICATION_FAILED` if it is not a signed note.
 */
export function parseNote(note: string): SignedNote {
  if (note.length > MAX_NOTE_LENGTH) throw noteError(`it has more than ${MAX_NOTE_LENGTH} characters`)
  if (!note.isWellFormed() || /[^\P{Cc}\n]/u.test(note)) throw noteError('it contains control characters')
  const split = note.lastIndexOf('\n\n')
  if (split < 0 || !note.endsWith('\n')) throw noteError('it has no signature lines')
  const lines = note.slice(split + 2, -1).split('\n')
  if (lines.length > MAX_SIGNATURES) throw noteError(`it has more than ${MAX_SIGNATURES} signatures`)
  return { text: note.slice(0, split + 1), signatures: lines.map(parseSignatureLine) }
}

function parseSignatureLine(line: string): NoteSignature {
  const [name = '', data = '', ...more] = line.startsWith(SIGNATURE_MARK)
    ? line.slice(SIGNATURE_MARK.length).split(' ')
    : []
  const bytes = fromBase64(data)
  if (!isKeyName(name) || more.length > 0 || bytes === undefined || bytes.length <= KEY_ID_BYTES)
    throw noteError('a signature line is malformed')
  return { name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) }
}

/**
 * Verifies that a key signed a note, and returns the signed text. Signatures by other keys are ignored, as C2SP
 * specifies.
 *
 * @param note The whole note. It may come from an attacker.
 * @param verifierKey The C2SP verifier key, `NAME+HASH+BASE64`.
 * @throws `VERIFICATION_FAILED` if the note is malformed, has no signature by this key, or one that does not verify.
 */
export function openNote(note: string, verifierKey: string): string {
  const key = parseVerifierKey(verifierKey)
  const { text, signatures } = parseNote(note)
  const own = signatures.filter(({ name, keyId }) => name === key.name && equalBytes(keyId, key.keyId))
  if (own.length === 0) throw verificationError('note.signature', `The note has no signature by ${key.name}`)
  for (const { signature } of own)
    if (!verifySignature(key.publicKey, encodeUtf8(text), signature))
      throw verificationError('note.signature', `The note's signature by ${key.name} does not verify`)
  return text
}

/** The note with more signature lines, which have no line feed. */
export const withSignatures = (note: string, lines: readonly string[]): string =>
  [note, ...lines.map((line) => `${line}\n`)].join('')

/**
 * Makes a signer from an Ed25519 seed (RFC 8032 § 5.1.5).
 *
 * @param name The key's name, for a checkpoint the origin of the log.
 * @param seed 32 secret random bytes.
 * @throws a `RangeError` for a name that no verifier key can have, or a seed of another length.
 */
export function createNoteSigner(name: string, seed: Uint8Array): NoteSigner {
  const { publicKey, sign } = signerOfSeed(seed)
  const verifierKey = formatVerifierKey(name, publicKey)
  const { keyId } = parseVerifierKey(verifierKey)
  return {
    verifierKey,
    publicKey,
    sign,
    signNote(text) {
      return noteOf(text, { name, keyId, signature: sign(encodeUtf8(text)) })
    },
  }
}

/** The whole note with one signature, by this verifier key. Throws a `RangeError` unless the text ends in a newline. */
export const formatNote = (text: string, verifierKey: string, signature: Uint8Array): string =>
  noteOf(text, { ...parseVerifierKey(verifierKey), signature })

function noteOf(text: string, { name, keyId, signature }: NoteSignature): string {
  if (!text.endsWith('\n')) throw new RangeError("A note's text must end in a newline")
  return `${text}\n${SIGNATURE_MARK}${name} ${toBase64(concatBytes(keyId, signature))}\n`
}

/** The raw Ed25519 public key (32 bytes) of a seed. Throws a `RangeError` unless the seed has 32 bytes. */
export const publicKeyOfSeed = (seed: Uint8Array): Uint8Array => signerOfSeed(seed).publicKey

function signerOfSeed(seed: Uint8Array): ReturnType<typeof ed25519Signer> {
  if (seed.length !== SEED_BYTES) throw new RangeError(`An Ed25519 seed must have 32 bytes, got ${seed.length}`)
  return ed25519Signer(seed)
}
