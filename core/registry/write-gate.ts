import { RegistryError } from '../errors.ts'
import type { WritesRefused } from '../api/registry.ts'
import type { Clock, RecordStore } from '../ports/index.ts'
import { decorateRecords } from '../store/read.ts'

/** The clock may be this far behind the log's last batch. */
const TOLERANCE_MS = 60_000

interface WriteGateOptions {
  readonly isReadOnly: boolean
  /** The operator has confirmed that the clock is right. */
  readonly acceptClock: boolean
  readonly clock: Clock
  /** When the last batch was sealed, ms since 1970; `null` if there is none. */
  readonly lastBatchAt: () => number | null
}

/**
 * Decides whether a registry may write. A read-only one writes no record at all. A clock that is behind the log's last
 * batch refuses events, which would get a wrong time.
 */
export class WriteGate {
  readonly #options: WriteGateOptions

  constructor(options: WriteGateOptions) {
    this.#options = options
  }

  /** Why writes are refused, `null` if they are not. */
  get refused(): WritesRefused | null {
    if (this.#options.isReadOnly) return 'READ_ONLY'
    return this.#isClockBehind() ? 'CLOCK' : null
  }

  /** Throws `UNAVAILABLE` if the registry is read-only. */
  assertWritable(): void {
    if (this.#options.isReadOnly)
      throw new RegistryError(
        'UNAVAILABLE',
        'This registry is open read-only: it serves what is recorded, and accepts no writes. To write, ' +
          'restore the newest ' +
          'store and start without read-only, or start a new registry',
      )
  }

  /** Throws `UNAVAILABLE` if the clock is behind. */
  assertClock(): void {
    if (!this.#isClockBehind()) return
    const lastBatch = new Date(this.#options.lastBatchAt() ?? 0).toISOString()
    throw new RegistryError(
      'UNAVAILABLE',
      `The clock is behind the log's last batch (${lastBatch}): set the clock, or confirm it with acceptClock`,
    )
  }

  /** The same store, whose `commit` throws `UNAVAILABLE` if the registry is read-only. */
  guard(records: RecordStore): RecordStore {
    if (!this.#options.isReadOnly) return records
    return decorateRecords(records, {
      commit: async (commit) => {
        this.assertWritable()
        return records.commit(commit)
      },
    })
  }

  #isClockBehind(): boolean {
    const { acceptClock, clock, lastBatchAt } = this.#options
    const at = lastBatchAt()
    return !acceptClock && at !== null && clock.now() < at - TOLERANCE_MS
  }
}
