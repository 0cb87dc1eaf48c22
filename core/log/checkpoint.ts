import { fromBase64, toBase64 } from '../bytes.ts'
import { verificationError, type RegistryError } from '../errors.ts'
import { openNote, parseNote } from './note.ts'
import { HASH_BYTES } from './tree/hasher.ts'

/**
 * A checkpoint (https://c2sp.org/tlog-checkpoint): the size and root of a log's tree. It is published as a signed note
 * with the text `ORIGIN\nSIZE\nBASE64(root)\n`. The notes here have exactly one signature, by a key that is named like
 * the origin, and no extension lines.
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
  const checkpoint = parseCheckpointText(text)
  if (text !== checkpointText(checkpoint)) throw checkpointError('the text must have three lines')
  if (signatures.length !== 1 || signatures[0]?.name !== checkpoint.origin)
    throw checkpointError('it must have one signature, by its origin')
  return checkpoint
}

/**
 * Verifies a signed checkpoint and returns its content.
 *
 * @param note The whole signed note. It may come from an attacker.
 * @param verifierKey The C2SP verifier key of the log, `NAME+HASH+BASE64`. Its name must be the origin.
 * @throws `VERIFICATION_FAILED` if it is not a checkpoint, or this key did not sign it.
 */
export function verifyCheckpoint(note: string, verifierKey: string): Checkpoint {
  const checkpoint = parseCheckpoint(note)
  // The only signature is named like the origin. So a key with another name finds no signature of its own, and throws.
  openNote(note, verifierKey)
  return checkpoint
}
