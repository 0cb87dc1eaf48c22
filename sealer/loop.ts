import { backoffMs } from '../core/clock.ts'
import { isRegistryError } from '../core/errors.ts'
import type { Clock, Logger } from '../core/ports/index.ts'

/** What a loop repeats, and how. */
export interface LoopOptions {
  readonly name: 'seal' | 'stamp' | 'anchor'
  /** Logged with each failure. */
  readonly fields?: object
  readonly clock: Clock
  readonly logger: Logger
  /** One step, from stored state. Returns how long to sleep before the next step, in ms. A wake ends that sleep. */
  readonly step: (signal: AbortSignal) => Promise<number>
  /** The longest pause after a failure, ms. */
  readonly maxBackoffMs: number
}

/** Failures since the start. */
interface LoopFailures {
  readonly count: number
  readonly lastCode: string | null
  /** ms since 1970, 0 if there was no failure. */
  readonly lastAt: number
}

const FIRST_BACKOFF_MS = 250

/**
 * Repeats a step. A step that fails is counted, logged with its error code, and repeated after a random pause that
 * doubles with each failure, and not before the time for which the service outside asks. A wake does not shorten that
 * pause.
 */
export class Loop {
  readonly #options: LoopOptions
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined
  #sleeping: AbortController | undefined
  #isWoken = false
  #failures: LoopFailures = { count: 0, lastCode: null, lastAt: 0 }
  #consecutiveFailures = 0
  #currentCode: string | undefined

  constructor(options: LoopOptions) {
    this.#options = options
  }

  get failures(): LoopFailures {
    return this.#failures
  }

  /** The code of the last failure; `undefined` if a step has succeeded since. */
  get currentCode(): string | undefined {
    return this.#currentCode
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Ends the sleep between steps. During a step: the next step follows without a sleep. */
  wake(): void {
    this.#isWoken = true
    this.#sleeping?.abort()
  }

  /** Counts and logs a failure, also one of the same work outside the loop. */
  recordFailure(error: unknown): void {
    const { name, fields, clock, logger } = this.#options
    const code = isRegistryError(error) ? error.code : 'INTERNAL'
    const count = this.#failures.count + 1
    this.#failures = { count, lastCode: code, lastAt: clock.now() }
    this.#currentCode = code
    logger.warn({ step: name, ...fields, code, err: error, failures: count }, `${name} failed: it is tried again`)
  }

  /** Aborts outside calls and sleeps, and waits for the step under way. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#sleeping?.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      this.#isWoken = false
      try {
        const pauseMs = await this.#options.step(signal)
        this.#consecutiveFailures = 0
        this.#currentCode = undefined
        if (!this.#isWoken) await this.#pause(pauseMs)
      } catch (error) {
        if (signal.aborted) return
        this.recordFailure(error)
        await this.#backOff(isRegistryError(error) ? error.retryAfterMs : undefined)
      }
    }
  }

  /** Sleeps until the time is over, a wake, or the close. */
  async #pause(ms: number): Promise<void> {
    if (ms <= 0 || this.#closing.signal.aborted) return
    this.#sleeping = new AbortController()
    await this.#options.clock.sleep(ms, this.#sleeping.signal).catch(() => {})
    this.#sleeping = undefined
  }

  async #backOff(askedMs = 0): Promise<void> {
    const { clock, maxBackoffMs: maxMs } = this.#options
    const ms = backoffMs({ attempt: this.#consecutiveFailures++, firstMs: FIRST_BACKOFF_MS, maxMs })
    await clock.sleep(Math.max(askedMs, ms), this.#closing.signal).catch(() => {})
  }
}
