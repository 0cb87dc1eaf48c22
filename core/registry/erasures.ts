import type { Clock, Commit, Entry, Key, Logger, RecordEraser, RecordStore } from '../ports/index.ts'
import { keys } from '../store/keys.ts'
import { listEntries } from '../store/read.ts'
import { decodeRecord, putRecord } from '../store/record-codec.ts'
import type { PendingErasureRecord } from '../store/records.ts'

/** The shortest time between two erasures, which rewrite parts of the store. */
const INTERVAL_MS = 60_000
/** How long it waits for a notice. A deletion whose commit had an unknown outcome, or of another server, gives none. */
const RECHECK_MS = 10 * 60_000
/** Erasures that are done together. Each has a handful of keys. */
const MAX_ERASURES = 256

interface ErasureParts {
  readonly records: RecordStore
  /** `undefined`: the store keeps no old values. */
  readonly eraser: RecordEraser | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** Whether a store keeps old values, and can remove them. */
export const isRecordEraser = (store: object): store is RecordEraser =>
  'eraseHistory' in store && typeof store.eraseHistory === 'function'

/**
 * Removes what deleted files had in the records from the disk: name, hash, size and the seed of their salts. The commit
 * that deletes a file adds a record with the keys that it changed. These records are collected, and once a minute at
 * most, the store removes the old values of all these keys. What is not done yet is done after the next start.
 */
export class Erasures {
  readonly #parts: ErasureParts
  readonly #stopping = new AbortController()
  #sleeping = new AbortController()
  #isNotified = true
  #running: Promise<void> | undefined

  constructor(parts: ErasureParts) {
    this.#parts = parts
  }

  /**
   * The commit that deletes files, with the record that their old values must be erased. `id`: of the file, or of the
   * category that was removed with its files.
   */
  include(commit: Commit, id: string): Commit {
    const { eraser, clock } = this.#parts
    if (eraser === undefined) return commit
    const { writes = [] } = commit
    const erasure: PendingErasureRecord = { at: clock.now(), keys: writes.map(({ key }) => key) }
    return { ...commit, writes: [...writes, putRecord(keys.pendingErasure(id), erasure)] }
  }

  /** Says that a commit of `include` was applied. */
  notify(): void {
    this.#isNotified = true
    this.#sleeping.abort()
  }

  start(): void {
    if (this.#parts.eraser !== undefined) this.#running ??= this.#run(this.#parts.eraser)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#sleeping.abort()
    await this.#running
  }

  async #run(eraser: RecordEraser): Promise<void> {
    const { clock, logger } = this.#parts
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#isNotified = false
      const isDone = await this.#erase(eraser).catch((err: unknown) => {
        if (!signal.aborted)
          logger.warn({ err }, 'old values of deleted files could not be erased yet; it is tried again')
        return false
      })
      if (isDone) await this.#waitForNotice()
      else await clock.sleep(INTERVAL_MS, signal).catch(() => undefined)
    }
  }

  /** Returns true if nothing is pending. */
  async #erase(eraser: RecordEraser): Promise<boolean> {
    const { records } = this.#parts
    const pending = await listEntries(records, { ...keys.pendingErasures(), limit: MAX_ERASURES })
    if (pending.length === 0) return true
    if (await eraser.eraseHistory(changedKeys(pending), this.#stopping.signal))
      await records.commit({ writes: pending.map(({ key }) => ({ key, value: null })) })
    // The next one is a minute later, also if there is more to erase.
    return false
  }

  async #waitForNotice(): Promise<void> {
    if (this.#isNotified || this.#stopping.signal.aborted) return
    this.#sleeping = new AbortController()
    await this.#parts.clock.sleep(RECHECK_MS, this.#sleeping.signal).catch(() => undefined)
  }
}

const changedKeys = (pending: readonly Entry[]): readonly Key[] => [
  ...new Set(pending.flatMap((entry) => decodeRecord<PendingErasureRecord>(entry).keys)),
]
