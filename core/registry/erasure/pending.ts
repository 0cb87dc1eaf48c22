import { Background } from '../../background.ts'
import type { Clock, Commit, Key, Logger, RecordStore, Write } from '../../ports/index.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import { listRecords } from '../../store/read.ts'
import { decodeRecord } from '../../store/codec.ts'
import { putRecord } from '../../store/entries.ts'
import type { PendingErasureRecord } from '../../store/records.ts'
import type { Place } from './places.ts'

/** The shortest time between two erasures, which rewrite parts of the store. */
const ERASURE_INTERVAL_MS = 60_000
/** Erasures that are done together. Each has a handful of keys, and the store writes their values again at once. */
const MAX_ERASURES = 4_096

interface ErasureParts {
  readonly records: RecordStore
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Removes from the disk what deleted files had in the records (name, hash, size and the seed of their salts), and what
 * was erased of evidences. The commit that deletes adds a record with the keys that it changed. These records are
 * collected, and a minute later the store removes the old values of all these keys. If keys contained erased text, the
 * old values of the record go next, because it names them, and then the keys in the store's own files. What is not done
 * yet is done after the next start.
 */
export class Erasures {
  readonly #parts: ErasureParts
  readonly #task: Background

  constructor(parts: ErasureParts) {
    this.#parts = parts
    this.#task = new Background({
      ...parts,
      failure: 'old values of deleted files could not be erased yet; it is tried again',
      retryMs: () => ERASURE_INTERVAL_MS,
      run: (signal) => this.#erase(signal),
    })
  }

  /**
   * The commit that deletes files or erases text, with the record that the old values must be erased.
   *
   * @param id - of the file, of the category that was removed with its files, or of the erasure
   * @param place - what is erased with the entry of a key, `undefined` for nothing. Default: its old value
   */
  include(commit: Commit, id: string, place: (key: Key) => Place | undefined = () => 'rewritten'): Commit {
    const { records, clock } = this.#parts
    if (records.eraser === null) return commit
    const { writes = [] } = commit
    const changed = writes.filter(({ key }) => place(key) !== undefined)
    const hasText = changed.some(({ key, value }) => value === null && place(key) === 'removed')
    const erasure = { at: clock.now(), keys: changed.map(({ key }) => key), ...(hasText && { hasText }) }
    return { ...commit, writes: [...writes, putRecord(keys.pendingErasure(id), erasure)] }
  }

  /** Requests the erasure of what such commits have deleted, of this process or of others. */
  request(): void {
    if (this.#parts.records.eraser !== null) this.#task.request(ERASURE_INTERVAL_MS)
  }

  stop(): Promise<void> {
    return this.#task.stop()
  }

  /** Returns when the next erasure is due, because more may be pending. */
  async #erase(signal: AbortSignal): Promise<number | undefined> {
    const { records } = this.#parts
    const pending = await pendingErasures(records)
    return (await erasePending(records, pending, signal)) ? undefined : ERASURE_INTERVAL_MS
  }
}

interface Pending {
  readonly key: Key
  readonly record: PendingErasureRecord
}

interface PendingErasures {
  /** Old values of these keys are still on disk. At most `MAX_ERASURES`. */
  readonly inValues: readonly Pending[]
  /** No entry of the store holds anything of these any more, but its files may hold keys. */
  readonly inKeys: readonly Pending[]
}

async function pendingErasures(records: RecordStore): Promise<PendingErasures> {
  const inValues: Pending[] = []
  const inKeys: Pending[] = []
  for await (const entry of records.eraser === null ? [] : listRecords(records, keys.pendingErasures())) {
    const record = decodeRecord(entry)
    if (record.keys.length === 0) inKeys.push({ key: entry.key, record })
    else if (inValues.length < MAX_ERASURES) inValues.push({ key: entry.key, record })
  }
  return { inValues, inKeys }
}

/** Does the next step. Returns true if there is none before the store is opened again. */
async function erasePending(
  records: RecordStore,
  { inValues, inKeys }: PendingErasures,
  signal?: AbortSignal,
): Promise<boolean> {
  const { eraser } = records
  if (eraser !== null && inValues.length > 0) {
    const changed = new Set(inValues.flatMap(({ record }) => record.keys))
    if (await eraser.eraseHistory([...changed], signal)) await records.commit({ writes: inValues.map(withoutValues) })
    return false
  }
  if (eraser?.eraseKeys !== undefined && inKeys.length > 0) {
    await eraser.eraseKeys(signal)
    await records.commit({ writes: inKeys.map(({ key }) => ({ key, value: null })) })
  }
  return true
}

/** What a record becomes when the old values of its keys are gone: if these hold text, its own old values are next. */
function withoutValues({ key, record }: Pending): Write {
  if (record.hasText !== true) return { key, value: null }
  return putRecord(keys.pendingErasure(lastPartOfKey(key)), { ...record, keys: record.keys[0] === key ? [] : [key] })
}

/** Erases now what is pending. `onStep` gets how many erasures the next step is for. */
export async function finishErasures(records: RecordStore, onStep: (erasures: number) => void): Promise<void> {
  for (let isDone = false; !isDone;) {
    const pending = await pendingErasures(records)
    if (pending.inValues.length > 0) onStep(pending.inValues.length)
    isDone = await erasePending(records, pending)
  }
}

/** Whether text was erased that entries of the store still hold, so that the next start cannot remove its keys. */
export const hasErasuresToFinish = async (records: RecordStore): Promise<boolean> =>
  (await pendingErasures(records)).inValues.some(({ record }) => record.hasText)

/**
 * Ends the erasures that were waiting for the store to be opened, which has removed their keys from its files. Returns
 * how many these were. Call it before anything else is written.
 */
export async function endErasures(records: RecordStore): Promise<number> {
  if (records.eraser?.eraseKeys !== undefined) return 0
  const { inKeys } = await pendingErasures(records)
  if (inKeys.length > 0) await records.commit({ writes: inKeys.map(({ key }) => ({ key, value: null })) })
  return inKeys.length
}
