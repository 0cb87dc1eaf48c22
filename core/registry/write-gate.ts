import type { WritesRefused } from '../api/registry.ts'
import { CLOCK_TOLERANCE_MS, EARLIEST_TIME } from '../clock.ts'
import { RegistryError } from '../errors.ts'
import type { Clock, RecordStore, Sealer } from '../ports/index.ts'
import { decorateRecords } from '../store/decorate.ts'

interface WriteGateOptions {
  readonly isReadOnly: boolean
  /** The operator has confirmed that the clock is right. */
  readonly acceptClock: boolean
  readonly clock: Clock
  readonly sealer: Pick<Sealer, 'lastBatchAt'>
}

/**
 * Decides whether a registry may write. A read-only one writes no record at all. A clock that is behind the log's last
 * batch, or was never set, refuses events, which would get a wrong time.
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
        'This registry is open read-only: it serves what is recorded, and accepts no writes. To write, restore the ' +
          'newest store and start without read-only, or start a new registry',
      )
  }

  /** Throws `UNAVAILABLE` if the clock is behind. */
  assertClock(): void {
    if (!this.#isClockBehind()) return
    const earliest = new Date(this.#earliest).toISOString()
    throw new RegistryError(
      'UNAVAILABLE',
      `The clock is behind ${earliest}, when the log's last batch was sealed or this program made: set the clock, ` +
        'or confirm it with acceptClock',
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

  /** ms since 1970. */
  get #earliest(): number {
    return Math.max(this.#options.sealer.lastBatchAt ?? 0, EARLIEST_TIME)
  }

  #isClockBehind(): boolean {
    const { acceptClock, clock } = this.#options
    return !acceptClock && clock.now() < this.#earliest - CLOCK_TOLERANCE_MS
  }
}
