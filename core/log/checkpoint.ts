import { fromBase64, toBase64 } from '../bytes.ts'
import { type RegistryError, verificationError } from '../errors.ts'
import { openNote, parseNote } from './note.ts'
import { HASH_BYTES } from './tree/hash.ts'
import { parseVerifierKey } from './verifier-key.ts'

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
