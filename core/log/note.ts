import { ed25519Signer, verifyEd25519 } from '#platform'
import { concatBytes, encodeUtf8, equalBytes, fromBase64, sha256Of, toBase64, toHex } from '../bytes.ts'
import { RegistryError, verificationError } from '../errors.ts'
import { HASH_BYTES } from './tree/hash.ts'

/**
 * Signed notes (https://c2sp.org/signed-note) with Ed25519 keys: a text that ends in a newline, an empty line, and
 * signature lines `— NAME BASE64(key id ‖ signature)`.
 */

/** The type byte of an Ed25519 key. It names the algorithm of the key. */
export const ED25519 = 0x01
/** The type byte of an Ed25519 key of a witness, which signs cosignatures (https://c2sp.org/tlog-cosignature). */
export const ED25519_COSIGNATURE = 0x04
/** The same of an ML-DSA-44 key. */
export const ML_DSA_44_COSIGNATURE = 0x06
const ML_DSA_44_KEY_BYTES = 1_312
const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const SEED_BYTES = 32
const SIGNATURE_MARK = '— '

/**
 * The longest note that is parsed, in UTF-16 code units. A checkpoint has less than 1,000, so there is room for
 * cosignatures.
 */
export const MAX_NOTE_LENGTH = 64 * 1024
const MAX_SIGNATURES = 100

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

const isKeyName = (name: string): boolean => name !== '' && name.isWellFormed() && !/[\s+\p{Cc}]/u.test(name)

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

/**
 * Whether an Ed25519 signature (64 bytes) of these bytes verifies with this raw public key (32 bytes). Never throws.
 */
export function verifySignature(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  return verifyEd25519(publicKey, bytes, signature)
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

/**
 * A checkpoint (https://c2sp.org/tlog-checkpoint): the size and root of a log's tree. It is published as a signed note
 * with the text `ORIGIN\nSIZE\nBASE64(root)\n`, without extension lines. The notes that are stored have exactly one
 * signature, by a key that is named like the origin.
 */
export interface Checkpoint {
  /** Names the log, for example `example.org/log`. */
  readonly origin: string
  /** Leaves of the tree. */
  readonly size: number
  /** 32 bytes. */
  readonly root: Uint8Array
}

/** The text of a checkpoint that is signed: three lines. Pass it to `NoteSigner.signNote`. */
export const checkpointText = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${toBase64(root)}\n`

const checkpointError = (why: string): RegistryError =>
  verificationError('checkpoint.malformed', `Not a checkpoint: ${why}`)

/**
 * Parses the text of a checkpoint, which may have extension lines.
 *
 * @throws `VERIFICATION_FAILED`
 */
export function parseCheckpointText(text: string): Checkpoint {
  const [origin = '', size = '', rootText = '', ...rest] = text.split('\n')
  if (origin === '' || rest.at(-1) !== '' || rest.slice(0, -1).includes(''))
    throw checkpointError('the text must have the lines origin, size, root, and no empty line')
  // Decimal without leading zeros, so that a tree has only one text.
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(size) || !Number.isSafeInteger(Number(size)))
    throw checkpointError('the size must be a decimal number without leading zeros')
  const root = fromBase64(rootText)
  if (root?.length !== HASH_BYTES) throw checkpointError('the root must be the base64 of 32 bytes')
  return { origin, size: Number(size), root }
}

/**
 * Parses a signed checkpoint without verifying the signature.
 *
 * @param note The whole signed note. It may come from an attacker.
 * @throws `VERIFICATION_FAILED` if it is not a checkpoint with one signature by its origin.
 */
export function parseCheckpoint(note: string): Checkpoint {
  const { text, signatures } = parseNote(note)
  const checkpoint = parseOwnText(text)
  if (signatures.length !== 1 || signatures[0]?.name !== checkpoint.origin)
    throw checkpointError('it must have one signature, by its origin')
  return checkpoint
}

/**
 * Verifies a signed checkpoint and returns its content. Signatures by other keys, such as those of witnesses, are
 * ignored.
 *
 * @param note The whole signed note. It may come from an attacker.
 * @param verifierKey The C2SP verifier key of the log, `NAME+HASH+BASE64`. Its name must be the origin.
 * @throws `VERIFICATION_FAILED` if it is not a checkpoint, or this key did not sign it.
 */
export function verifyCheckpoint(note: string, verifierKey: string): Checkpoint {
  const checkpoint = parseOwnText(openNote(note, verifierKey))
  if (checkpoint.origin !== parseVerifierKey(verifierKey).name)
    throw checkpointError('the key must be named like its origin')
  return checkpoint
}

/** The text of a checkpoint of this kind of log, which has no extension lines. */
function parseOwnText(text: string): Checkpoint {
  const checkpoint = parseCheckpointText(text)
  if (text !== checkpointText(checkpoint)) throw checkpointError('the text must have three lines')
  return checkpoint
}
