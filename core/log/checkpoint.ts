import { fromBase64, toBase64 } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import { HASH_BYTES } from './tree/hasher.ts'
import { openNote, parseNote } from './note.ts'

/**
 * Checkpoints, https://c2sp.org/tlog-checkpoint: a signed note whose text is `ORIGIN\nSIZE\nBASE64(root)\n`. Ours carry exactly
 * one signature, by the origin's own key, and no extension lines; cosignatures are kept beside them.
 */
export interface Checkpoint {
  readonly origin: string
  /** Leaves of the tree. */
  readonly size: number
  /** 32 bytes. */
  readonly root: Uint8Array
}

const refuse = (why: string): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `Not a checkpoint of this kind: ${why}`)

/** The three lines that are signed. */
export const checkpointText = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${toBase64(root)}\n`

function parseCheckpointText(text: string): Checkpoint {
  const [origin = '', size = '', rootText = '', end, ...more] = text.split('\n')
  if (origin === '' || end !== '' || more.length > 0) throw refuse('its text has three lines')
  // Decimal without leading zeros, so that one tree has one text.
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(size) || !Number.isSafeInteger(Number(size)))
    throw refuse('its size is no plain number')
  const root = fromBase64(rootText)
  if (root?.length !== HASH_BYTES) throw refuse('its root is not the base64 of 32 bytes')
  return { origin, size: Number(size), root }
}

/** Parses a whole signed checkpoint without checking the signature. From anybody: throws `VERIFICATION_FAILED`. */
export function parseCheckpoint(note: string): Checkpoint {
  const { text, signatures } = parseNote(note)
  const checkpoint = parseCheckpointText(text)
  if (signatures.length !== 1 || signatures[0]?.name !== checkpoint.origin)
    throw refuse('it has one signature, by its origin')
  return checkpoint
}

/** What a checkpoint says, if this verifier key signed it and its origin is the key's name. Throws `VERIFICATION_FAILED`. */
export function verifyCheckpoint(note: string, verifierKey: string): Checkpoint {
  const checkpoint = parseCheckpoint(note)
  // The name in the only signature is the origin, so a key of another name finds no signature of its own.
  openNote(note, verifierKey)
  return checkpoint
}
