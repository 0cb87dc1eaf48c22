import { equalBytes, toHex } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { RecordStore, SignedHead } from '../ports.ts'
import type { LogReader } from './reader.ts'

/**
 * Checks, at a start, that the store still holds what was signed. Reads the tiles at the tree's right edge, no more.
 *
 * Throws `LOG_BEHIND_SIGNED` where the tree is smaller than the last signed one or has another root at its size, `CORRUPT` where the
 * head is not the root of its own tiles or the log is shorter than the tree.
 */
export async function assertHoldsSigned(
  records: RecordStore,
  reader: LogReader,
  signed: SignedHead | undefined,
): Promise<void> {
  const head = await reader.treeHead()
  if (signed !== undefined && signed.size > head.size)
    throw behind(
      `a checkpoint of ${signed.size} entries was signed, and the store has only ${head.size} of them sealed`,
    )
  if ((await records.logSize()) < head.size)
    throw new RegistryError(
      'CORRUPT',
      `The log has fewer than the ${head.size} entries that are sealed: restore the store from a backup`,
    )
  if (toHex(await reader.rootAt(head.size)) !== head.root)
    throw new RegistryError(
      'CORRUPT',
      `The tiles do not lead to the root of the tree of ${head.size}: restore the store from a backup`,
    )
  if (signed !== undefined && !equalBytes(await reader.rootAt(signed.size), signed.root))
    throw behind(
      `the checkpoint of ${signed.size} entries that was signed has another root than the store has at that size`,
    )
}

/** The one error of a store that is not the one that was signed. */
export const behind = (what: string): RegistryError =>
  new RegistryError(
    'LOG_BEHIND_SIGNED',
    `The record store was set back or replaced: ${what}. Entries that others hold proofs of are gone. Restore the newest store, or a later backup. ` +
      'If there is none, begin a new log with an empty store and a new secret, and keep this one to read: this log must not be signed again',
  )
