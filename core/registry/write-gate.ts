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
  readonly sealer: Pick<Sealer, 'lastBatchAt' | 'isSetBack'>
}

const SET_BACK =
  'The record store was set back or replaced while this registry is open, so nothing is accepted: what is written ' +
  'to it cannot be sealed. Restore the newest store, then start the registry again'

/**
 * Decides whether a registry may write. A read-only one writes no record at all. A store that was set back while it is
 * open, as by a fail-over to an older copy, gets no writes: they would be acknowledged and never sealed. A clock that
 * is behind the log's last batch, or was never set, refuses events, which would get a wrong time.
 */
export class WriteGate {
  readonly #options: WriteGateOptions
  /** An entry was appended where one was sealed before. */
  #hasAppendedBehind = false

  constructor(options: WriteGateOptions) {
    this.#options = options
  }

  /** Why writes are refused, `null` if they are not. */
  get refused(): WritesRefused | null {
    if (this.#options.isReadOnly) return 'READ_ONLY'
    if (this.#isSetBack()) return 'LOG_BEHIND_SIGNED'
    return this.#isClockBehind() ? 'CLOCK' : null
  }

  /** Throws `UNAVAILABLE` if the registry is read-only, `LOG_BEHIND_SIGNED` if its store was set back. */
  assertWritable(): void {
    if (this.#isSetBack()) throw new RegistryError('LOG_BEHIND_SIGNED', SET_BACK)
    if (this.#options.isReadOnly)
      throw new RegistryError(
        'UNAVAILABLE',
        'This registry is open read-only: it serves what is recorded, and accepts no writes. To write, restore the ' +
          'newest store and start without read-only, or start a new registry',
      )
  }

  /**
   * Throws `UNKNOWN_OUTCOME` if an entry was appended at a position that was sealed when its commit began: the store
   * was set back. Nothing is written from then on.
   *
   * @param sealedBefore - number of sealed entries before the commit. Its entry may be sealed before it returns
   */
  assertAppended(position: number, sealedBefore: number): void {
    if (position >= sealedBefore) return
    this.#hasAppendedBehind = true
    throw new RegistryError('UNKNOWN_OUTCOME', SET_BACK)
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

  #isSetBack(): boolean {
    return this.#hasAppendedBehind || this.#options.sealer.isSetBack
  }

  #isClockBehind(): boolean {
    const { acceptClock, clock } = this.#options
    return !acceptClock && clock.now() < this.#earliest - CLOCK_TOLERANCE_MS
  }
}
