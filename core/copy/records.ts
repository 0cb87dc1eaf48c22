import { RegistryError } from '../errors.ts'
import type { RecordStore, Write } from '../ports/index.ts'
import { compareStores, firstDifferenceIn, recordDifferences, type Comparison, type CopyEnds } from './compare.ts'
import { sourceOf } from './source.ts'
import { CopyTarget, isEmpty, isUnfinishedCopy } from './target.ts'

export interface RecordStores {
  readonly from: RecordStore
  readonly to: RecordStore
}

export type CopyStage = 'log' | 'records' | 'compare'

export interface CopyRecordsHandlers {
  /** Called at the end for each difference. `subject` is a key, or a position as in `log/7`. */
  onDifference(subject: string, message: string): void
  /** `done`: log entries and records processed in this stage. */
  onProgress(stage: CopyStage, done: number): void
}

export interface CopyRecordsReport extends Comparison {
  /** Log entries that this run appended to the target. */
  readonly entries: number
  /** Records that this run wrote to the target or deleted from it. */
  readonly records: number
}

/** Limits of one commit, because it is held in memory several times. A larger record is written alone. */
const COMMIT_BYTES = 4 * 1024 * 1024
const COMMIT_WRITES = 2_048

/**
 * Copies the log and all records into another store, then compares every entry and record. Log positions stay the same,
 * versions are new.
 *
 * The copy can be interrupted and run again. A marker in the target says that it is being filled. A later run compares
 * what is there, and copies what is missing or has changed in the source. The marker is removed when everything is
 * equal.
 *
 * The source is only read. No other program may write to either store. Throws `CONFIG_ERROR` for a source that is empty
 * or an unfinished copy itself, and for a target that holds something else, which is not changed. Otherwise throws what
 * the stores throw.
 */
export async function copyRecords(stores: RecordStores, handlers: CopyRecordsHandlers): Promise<CopyRecordsReport> {
  await assertComplete(stores.from)
  return fillStore({ from: sourceOf(stores.from), to: stores.to }, handlers)
}

/** Fills a store from any source, as `copyRecords` does. The source must be complete. */
export async function fillStore(ends: CopyEnds, handlers: CopyRecordsHandlers): Promise<CopyRecordsReport> {
  const target = await CopyTarget.open(ends.to)
  // Without a marker it is either a finished copy or another registry.
  if (target === undefined) return assertEqual(ends, handlers)
  const entries = await copyLog(ends, target, handlers)
  const records = await copyAllRecords(ends, target, handlers)
  const comparison = await compareStores(ends, {
    onDifference: (subject, message) => handlers.onDifference(subject, message),
    onProgress: (done) => handlers.onProgress('compare', done),
  })
  if (comparison.differences === 0) await target.finish()
  return { entries, records, ...comparison }
}

async function assertComplete(source: RecordStore): Promise<void> {
  if (await isUnfinishedCopy(source))
    throw new RegistryError('CONFIG_ERROR', 'The source is an unfinished copy itself: finish that copy first')
  if (await isEmpty(source))
    throw new RegistryError('CONFIG_ERROR', 'The source is empty: name the store that holds the registry')
}

/** Returns the number of entries that it appended. */
async function copyLog({ from, to }: CopyEnds, target: CopyTarget, handlers: CopyRecordsHandlers): Promise<number> {
  const [size, existing] = await Promise.all([from.logSize(), to.logSize()])
  if (existing > size) throw holdsSomethingElse()
  let at = 0
  for await (const chunk of from.log()) {
    const copied = Math.min(chunk.length, Math.max(0, existing - at))
    if ((await firstDifferenceIn(to, at, chunk.slice(0, copied))) !== undefined) throw holdsSomethingElse()
    if (copied < chunk.length) await target.commit({ append: chunk.slice(copied) })
    at += chunk.length
    handlers.onProgress('log', at)
  }
  if (at === size) return size - existing
  throw new RegistryError('CORRUPT', `The source's log of ${size} entries ends at ${at}: check it with fsck`)
}

/** Returns the number of records that it changed. */
async function copyAllRecords(ends: CopyEnds, target: CopyTarget, handlers: CopyRecordsHandlers): Promise<number> {
  let [changed, bytes] = [0, 0]
  let writes: Write[] = []
  const flush = async (): Promise<void> => {
    if (writes.length > 0) await target.commit({ writes })
    changed += writes.length
    writes = []
    bytes = 0
  }
  const onRecord = (done: number): void => handlers.onProgress('records', done)
  for await (const { key, source = null } of recordDifferences(ends, onRecord)) {
    const size = key.length + (source?.length ?? 0)
    if (writes.length === COMMIT_WRITES || bytes + size > COMMIT_BYTES) await flush()
    writes.push({ key, value: source })
    bytes += size
  }
  await flush()
  return changed
}

/** Throws `CONFIG_ERROR` at the first difference. */
async function assertEqual(ends: CopyEnds, handlers: CopyRecordsHandlers): Promise<CopyRecordsReport> {
  const comparison = await compareStores(ends, {
    onDifference() {
      throw holdsSomethingElse()
    },
    onProgress: (done) => handlers.onProgress('compare', done),
  })
  return { entries: 0, records: 0, ...comparison }
}

const holdsSomethingElse = (): RegistryError =>
  new RegistryError(
    'CONFIG_ERROR',
    'The target holds something else than an earlier part of this copy: name an empty store',
  )
