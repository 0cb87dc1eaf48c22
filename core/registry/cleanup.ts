import { Background } from '../background.ts'
import type { Clock, Commit, Key, Logger, RecordStore } from '../ports/index.ts'
import { keys, type StoredRecord } from '../store/keys.ts'
import { listEntries } from '../store/read.ts'
import { decodeRecord } from '../store/codec.ts'
import { putRecord } from '../store/entries.ts'
import type { PendingErasureRecord } from '../store/records.ts'
import { sweep, type BlobContext } from '../store/blob-lifecycle.ts'

/** The shortest time between two erasures, which rewrite parts of the store. */
const ERASURE_INTERVAL_MS = 60_000
/** Erasures that are done together. Each has a handful of keys. */
const MAX_ERASURES = 256

interface ErasureParts {
  readonly records: RecordStore
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Removes from the disk what deleted files had in the records (name, hash, size and the seed of their salts), and what
 * was erased of evidences. The commit that deletes adds a record with the keys that it changed. These records are
 * collected, and a minute later the store removes the old values of all these keys. What is not done yet is done after
 * the next start.
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
   * @param hadText - of the keys, those whose old values held text. Default: all
   */
  include(commit: Commit, id: string, hadText: (key: Key) => boolean = () => true): Commit {
    const { records, clock } = this.#parts
    if (records.eraser === null) return commit
    const { writes = [] } = commit
    const erasure = { at: clock.now(), keys: writes.map(({ key }) => key).filter(hadText) }
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
    const { eraser } = records
    if (eraser === null) return undefined
    const pending = await listEntries(records, { ...keys.pendingErasures(), limit: MAX_ERASURES })
    if (pending.length === 0) return undefined
    if (await eraser.eraseHistory(changedKeys(pending), signal))
      await records.commit({ writes: pending.map(({ key }) => ({ key, value: null })) })
    return ERASURE_INTERVAL_MS
  }
}

const changedKeys = (pending: readonly StoredRecord<PendingErasureRecord>[]): readonly Key[] => [
  ...new Set(pending.flatMap((entry) => decodeRecord(entry).keys)),
]

const SWEEP_INTERVAL_MS = 10 * 60_000
const ABANDONED_MS = 24 * 60 * 60_000

/**
 * Sweeps now, and then every ten minutes. An upload that is a day old is abandoned. If no other process than `process`
 * uses the stores, every upload from before this start is, too, because the process that began it is gone. Also
 * requests the erasures of deletions by other processes, and of those whose outcome was unknown.
 */
export function startSweeping(
  context: BlobContext,
  { erasures, process }: { readonly erasures: Erasures; readonly process: string | undefined },
): Background {
  const { clock, logger } = context
  const sweeping = new Background({
    clock,
    logger,
    failure: 'the sweep failed; it runs again in ten minutes',
    retryMs: () => SWEEP_INTERVAL_MS,
    async run(signal) {
      erasures.request()
      await sweep(context, { before: clock.now() - ABANDONED_MS, process, signal })
      return SWEEP_INTERVAL_MS
    },
  })
  void sweeping.runNow()
  return sweeping
}
