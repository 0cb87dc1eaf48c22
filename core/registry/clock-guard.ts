import { RegistryError } from '../errors.ts'
import type { Clock } from '../ports/index.ts'

const TOLERANCE_MS = 60_000

interface ClockGuardOptions {
  /** The operator has confirmed that the clock is right. */
  readonly acceptClock: boolean
  /** When the last batch was sealed, ms since 1970; `null` if there is none. */
  readonly lastBatchAt: () => number | null
}

/** Keeps events from getting a time that is more than 60 s before the log's last batch. */
export class ClockGuard {
  readonly #clock: Clock
  readonly #options: ClockGuardOptions

  constructor(clock: Clock, options: ClockGuardOptions) {
    this.#clock = clock
    this.#options = options
  }

  isBehind(): boolean {
    const lastBatchAt = this.#options.lastBatchAt()
    if (this.#options.acceptClock || lastBatchAt === null) return false
    return this.#clock.now() < lastBatchAt - TOLERANCE_MS
  }

  /** Throws `UNAVAILABLE` if the clock is behind. */
  assert(): void {
    if (!this.isBehind()) return
    const lastBatch = new Date(this.#options.lastBatchAt() ?? 0).toISOString()
    throw new RegistryError(
      'UNAVAILABLE',
      `The clock is behind the log's last batch (${lastBatch}): set the clock, or confirm it with acceptClock`,
    )
  }
}
