import { Background } from '../core/background.ts'
import type { LogReader } from '../core/log/reader.ts'
import type { Clock, Logger } from '../core/ports/index.ts'

interface OverdueOptions {
  readonly step: 'stamp' | 'anchor'
  /** Minimum time from one stamp or anchor to the next, ms. */
  readonly intervalMs: number
  readonly reader: Pick<LogReader, 'oldestUnattested'>
  readonly clock: Clock
  readonly logger: Logger
  readonly sealedSize: () => number
  /** How many entries a stamp or a confirmed anchor covers. */
  readonly coveredSize: () => number
  /** Of an anchor that is on its way. */
  readonly confirmations?: () => number
}

const MAX_MISSED = 3
/** A call to an authority or a node may take 10 s. */
const MIN_INTERVAL_MS = 5_000
/** Blocks of Ethereum are final after fewer. More confirmations do not count as progress. */
const MAX_CONFIRMATIONS = 128

/**
 * Notices that no stamp, or no anchor, was made for three intervals although entries wait for one, whatever the cause.
 * Tokens and receipts of erasures alone do not wait. It looks once in each interval, so that a clock that is set does
 * not matter. After a restart it counts from the time of the oldest batch that waits, but at least one interval of its
 * own.
 */
export class Overdue {
  readonly #options: OverdueOptions
  readonly #intervalMs: number
  readonly #background: Background
  #missed = 0
  /** The progress at the last look if entries waited; `undefined` before the first look. */
  #seen: string | undefined

  constructor(options: OverdueOptions) {
    this.#options = options
    this.#intervalMs = Math.max(options.intervalMs, MIN_INTERVAL_MS)
    this.#background = new Background({
      ...options,
      failure: `could not find out since when entries wait for their ${options.step}`,
      retryMs: () => this.#intervalMs,
      run: async () => {
        await this.#look()
        return this.#intervalMs
      },
    })
  }

  /** The code of the failure, as the status shows it; `undefined` if there is none. */
  get code(): string | undefined {
    const isOverdue = this.#missed >= MAX_MISSED && this.#waits && this.#progress === this.#seen
    return isOverdue ? `${this.#options.step.toUpperCase()}_OVERDUE` : undefined
  }

  start(): void {
    this.#background.request(this.#intervalMs)
  }

  stop(): Promise<void> {
    return this.#background.stop()
  }

  get #waits(): boolean {
    return this.#options.sealedSize() > this.#options.coveredSize()
  }

  /** A text that changes with each stamp or anchor, and as an anchor gets nearer to its confirmation. */
  get #progress(): string {
    const { coveredSize, confirmations = () => 0 } = this.#options
    return `${coveredSize()} ${Math.min(confirmations(), MAX_CONFIRMATIONS)}`
  }

  async #look(): Promise<void> {
    const { step, logger, reader, sealedSize, coveredSize } = this.#options
    const oldest = this.#waits ? await reader.oldestUnattested(coveredSize()) : undefined
    const [before, progress] = [this.#seen, this.#progress]
    if (oldest === undefined) this.#missed = 0
    else if (before === undefined) this.#missed = this.#missedSince(oldest.createdAt)
    else this.#missed = progress === before ? this.#missed + 1 : 0
    this.#seen = oldest === undefined ? '' : progress
    if (this.#missed !== MAX_MISSED) return
    const fields = { step, code: this.code, sealedSize: sealedSize(), coveredSize: coveredSize() }
    logger.warn(fields, `no ${step} for ${MAX_MISSED} intervals although entries wait for one`)
  }

  /** How many intervals entries had waited before this process saw it, but less than make a failure. */
  #missedSince(waitsSince: number): number {
    const missed = Math.floor((this.#options.clock.now() - waitsSince) / this.#intervalMs)
    return Math.min(Math.max(missed, 0), MAX_MISSED - 1)
  }
}
