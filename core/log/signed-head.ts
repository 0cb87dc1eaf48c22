import { equalBytes, toHex } from '../bytes.ts'
import { RegistryError, corrupt } from '../errors.ts'
import type { RecordStore, SignedHead } from '../ports/index.ts'
import type { LogReader } from './reader.ts'
import type { TreeHeadRecord } from './records.ts'

/**
 * Checks at a start that the store still holds what was signed. Reads only the tiles at the right edge of the tree.
 *
 * `signed` must be read before this is called. In the other order, a batch that another sealer signs in between would
 * look like a tree that was set back.
 *
 * Throws `LOG_BEHIND_SIGNED` and `CORRUPT` as `assertTreeHoldsSigned`, and `CORRUPT` if the log is shorter than the
 * tree.
 */
export async function assertHoldsSigned(
  records: RecordStore,
  reader: LogReader,
  signed: SignedHead | undefined,
): Promise<void> {
  const head = await reader.treeHead()
  await assertTreeHoldsSigned(reader, head, signed)
  if ((await records.logSize()) < head.size)
    throw corrupt(`The log has fewer than the ${head.size} entries that are sealed`)
}

/**
 * Checks that the tree contains the one that was signed last, and returns the root of the head, 32 bytes.
 *
 * Throws `LOG_BEHIND_SIGNED` if the tree is smaller than the signed one or has a different root at its size, `CORRUPT`
 * if the tiles do not produce the root of the head.
 */
export async function assertTreeHoldsSigned(
  reader: LogReader,
  head: TreeHeadRecord,
  signed: SignedHead | undefined,
): Promise<Uint8Array> {
  if (signed !== undefined && signed.size > head.size)
    throw behindSignedError(
      `a checkpoint of ${signed.size} entries was signed, but the store has only ${head.size} sealed entries`,
    )
  const root = await reader.rootAt(head.size)
  if (toHex(root) !== head.root) throw corrupt(`The tiles do not produce the root of the tree of ${head.size}`)
  if (signed !== undefined && !equalBytes(await reader.rootAt(signed.size), signed.root))
    throw behindSignedError(
      `the signed checkpoint of ${signed.size} entries has a different root than the store has at that size`,
    )
  return root
}

const behindSignedError = (what: string): RegistryError =>
  new RegistryError(
    'LOG_BEHIND_SIGNED',
    `The record store was set back or replaced: ${what}. Entries for which others hold proofs are lost. ` +
      'Restore the newest ' +
      'store, or a later backup. If there is none, start a new log with an empty store and a new secret, and ' +
      'keep this one ' +
      'only for reading: this log must not be signed again',
  )
