import { isRegistryError } from '../core/errors.ts'
import type { Clock, Logger } from '../core/ports.ts'

export interface LoopOptions {
  readonly name: 'seal' | 'stamp' | 'anchor'
  /** Logged with each failure. */
  readonly fields?: object
  readonly clock: Clock
  readonly logger: Logger
  /** One step, from what is stored. Answers how long to sleep before the next, in ms; a wake ends that sleep. */
  readonly step: (signal: AbortSignal) => Promise<number>
  /** The longest pause between failures, ms. */
  readonly maxBackoffMs: number
}

/** Since the start. */
export interface LoopFailures {
  readonly count: number
  readonly lastCode: string | null
  /** ms since 1970, 0 where there is none. */
  readonly lastAt: number
}

const FIRST_BACKOFF_MS = 250

/**
 * Runs a step again and again. One that fails is counted, logged by its code, and tried again after a pause that doubles, with
 * jitter, and that no wake shortens.
 */
export class Loop {
  readonly #options: LoopOptions
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined
  #sleeping: AbortController | undefined
  #isWoken = false
  #failures = 0
  #lastCode: string | null = null
  #failedAt = 0
  /** Failures since the last success. */
  #consecutiveFailures = 0

  constructor(options: LoopOptions) {
    this.#options = options
  }

  get failures(): LoopFailures {
    return { count: this.#failures, lastCode: this.#lastCode, lastAt: this.#failedAt }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Ends the sleep between steps; during a step, has it done once more. */
  wake(): void {
    this.#isWoken = true
    this.#sleeping?.abort()
  }

  /** Counts and logs a failure of the same work outside the loop. */
  recordFailure(error: unknown): void {
    this.#failures++
    this.#failedAt = this.#options.clock.now()
    this.#lastCode = isRegistryError(error) ? error.code : 'INTERNAL'
    this.#options.logger.warn(
      { step: this.#options.name, ...this.#options.fields, code: this.#lastCode, err: error, failures: this.#failures },
      `${this.#options.name} failed: it is tried again`,
    )
  }

  /** Aborts outside calls and sleeps, and waits for the step under way. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#sleeping?.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { step } = this.#options
    const { signal } = this.#closing
    while (!signal.aborted) {
      this.#isWoken = false
      try {
        const pauseMs = await step(signal)
        this.#consecutiveFailures = 0
        if (!this.#isWoken) await this.#pause(pauseMs)
      } catch (error) {
        if (signal.aborted) return
        this.recordFailure(error)
        await this.#backOff()
      }
    }
  }

  /** Until the time is over, a wake, or the end. */
  async #pause(ms: number): Promise<void> {
    if (ms <= 0 || this.#closing.signal.aborted) return
    this.#sleeping = new AbortController()
    await this.#options.clock.sleep(ms, this.#sleeping.signal).catch(() => {})
    this.#sleeping = undefined
  }

  async #backOff(): Promise<void> {
    const ceiling = Math.min(this.#options.maxBackoffMs, FIRST_BACKOFF_MS * 2 ** this.#consecutiveFailures++)
    // Half of it fixed, half by chance: many that failed together do not come back together.
    const ms = ceiling / 2 + (Math.random() * ceiling) / 2
    await this.#options.clock.sleep(ms, this.#closing.signal).catch(() => {})
  }
}
