import { fromHex } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import { LogReader } from '../log/reader.ts'
import { emptyRoot } from '../log/tree/hash.ts'
import type { SignedHead } from '../ports/index.ts'
import type { RegistryOptions } from './options.ts'

type HeadOptions = Pick<RegistryOptions, 'records' | 'signedHead' | 'knownHeads'>

/**
 * Makes sure that there is a signed head before anything is written to the log. The first start writes one of size 0.
 * So a missing head of a log with entries means that it was lost, unless `adoptSignedHead` has replaced it. A process
 * that joins others at shared records has none, either: it takes the tree of the newest confirmed anchor.
 *
 * Throws `LOG_BEHIND_SIGNED` if the head is missing and nothing replaces it, or if the store does not hold the anchored
 * tree or one of `knownHeads`.
 */
export async function openSignedHead(options: HeadOptions): Promise<void> {
  const { records, signedHead, knownHeads = [] } = options
  const reader = new LogReader(records)
  // The heads were read before this call, and the tree is read now. In the other order, a batch of another process in
  // between would look like a tree that was set back.
  const head = await signedHead.read()
  for (const known of knownHeads) await reader.tree.assertHolds(known)
  if (head !== undefined) return
  const logSize = await records.logSize()
  // Servers that start together for the first time: another one has just created the log, whose only entry is its key.
  const isNew = logSize === 0 || (records.isShared && logSize === 1)
  const first = isNew ? { size: 0, root: emptyRoot() } : records.isShared ? await anchoredHead(reader) : undefined
  if (first === undefined) throw missingHead(logSize)
  await signedHead.write(first)
}

/**
 * Replaces a signed head that was lost by that of another copy, or of another server of the same records. For a
 * registry that is not open.
 *
 * @param stores - the records, and where the signed head is missing
 * @param head - the newest one that still exists: what was signed after it can be signed again in another way
 * @throws RegistryError `LOG_BEHIND_SIGNED` if the records do not hold the head; `CONFIG_ERROR` if none is missing
 * @example
 * await adoptSignedHead({ records, signedHead }, head)
 */
export async function adoptSignedHead(
  { records, signedHead }: Pick<RegistryOptions, 'records' | 'signedHead'>,
  head: SignedHead,
): Promise<void> {
  const present = await signedHead.read()
  if (present !== undefined)
    throw new RegistryError(
      'CONFIG_ERROR',
      `There is a signed head already, of a tree of ${present.size} entries. Only a missing one can be replaced`,
    )
  await new LogReader(records).tree.assertHolds(head)
  await signedHead.write(head)
}

/** The tree of the newest confirmed anchor on record, `undefined` if there is none. */
async function anchoredHead(reader: LogReader): Promise<SignedHead | undefined> {
  const { confirmedSize } = await reader.anchorHead()
  const anchor = confirmedSize === 0 ? undefined : await reader.anchor(confirmedSize)
  const root = anchor && fromHex(anchor.root)
  if (root === undefined) return undefined
  const head = { size: confirmedSize, root }
  await reader.tree.assertHolds(head)
  return head
}

const missingHead = (logSize: number): RegistryError =>
  new RegistryError(
    'LOG_BEHIND_SIGNED',
    `The signed head is missing, but the log has ${logSize} entries. The first start wrote a signed head, so it was ` +
      'lost, and without it a record store that was set back is not noticed. Restore the newest signed-head.json, or ' +
      'adopt one that another copy or another server still has (adoptSignedHead, evidence-registry adopt head). If ' +
      'there is none, open the registry read-only (readOnly, EVIDENCE_READ_ONLY=true), and continue with a new one',
  )
