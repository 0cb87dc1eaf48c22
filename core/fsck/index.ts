import type { BlobStore, RecordStore, SignedHead } from '../ports.ts'
import { checkBlobs } from './blobs.ts'
import { checkCompanies } from './categories.ts'
import { Check, type FsckHandlers, type FsckStage } from './check.ts'
import { checkEvidences } from './evidences.ts'
import { checkIndexes } from './indexes.ts'
import { checkIdentity, checkLog } from './log.ts'
import { checkAttestations } from './attestations.ts'

export type { Difference, DifferenceKind, FsckHandlers, FsckProgress, FsckStage } from './check.ts'

export interface FsckStores {
  readonly records: RecordStore
  /** With it, every file's bytes are read and hashed again. */
  readonly blobs?: BlobStore
  /** The root secret. With it, the log's keys are derived again. */
  readonly secret?: Uint8Array
  /** What was signed last. With it, a store that was set back is named. */
  readonly signedHead?: SignedHead
}

export interface FsckReport {
  readonly differences: number
  /** What was looked at in each stage. */
  readonly done: Readonly<Record<FsckStage, number>>
}

/**
 * Derives everything that can be derived from the records again, and names what differs: each txId from its values and salts, each leaf, tile and
 * root from the log's entries, batches, checkpoint signatures, stamps and anchors against them, each evidence's record against
 * its history, every index, listing and counter, and with `blobs` the bytes of every file. Reads only, in bounded memory
 * (the ids of categories and source systems apart).
 *
 * Nobody may write meanwhile: what is half seen would be named. It says nothing about whether the stamps' tokens are good: that
 * is `verifyTimestamp`. Throws what the stores throw.
 */
export async function fsck(stores: FsckStores, handlers: FsckHandlers = {}): Promise<FsckReport> {
  const check = new Check(stores.records, handlers)
  const log = await checkIdentity(check, stores.secret)
  await checkLog(check, log, stores.signedHead)
  await checkAttestations(check)
  await checkEvidences(check, log?.origin ?? '')
  await checkCompanies(check)
  await checkIndexes(check)
  if (stores.blobs !== undefined) await checkBlobs(check, stores.blobs)
  const stages: readonly FsckStage[] = ['log', 'evidences', 'indexes', 'blobs']
  const done = Object.fromEntries(stages.map((stage) => [stage, check.doneIn(stage)])) as FsckReport['done']
  return { differences: check.differences, done }
}
