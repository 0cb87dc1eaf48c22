import { isRegistryError } from './errors.ts'
import type { Clock, Logger } from './ports/index.ts'

/** Work in the background, and when it is repeated. */
export interface BackgroundOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** One run, from stored state. Returns after how many ms the next run is due; `undefined`: once it is requested. */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>
  /** How long after a failure it runs again, ms. `earlier`: how many runs before this one failed in succession. */
  readonly retryMs: (earlier: number) => number
  /** Logged with the error of a run that failed. */
  readonly failure: string
  /** Logged with each failure. */
  readonly fields?: object
}

/** Failures since the start. */
interface BackgroundFailures {
  readonly count: number
  readonly lastCode: string | null
  /** ms since 1970, 0 if there was no failure. */
  readonly lastAt: number
}

/**
 * Repeats work: some time after it was requested, once for all requests until then, and again when a run says so. A run
 * that fails is counted, logged with its error code, and repeated later, but not before the time for which a service
 * outside asks. Two runs never overlap.
 */
export class Background {
  readonly #options: BackgroundOptions
  readonly #stopping = new AbortController()
  #waiting: Promise<void> | undefined
  #running: Promise<void> = Promise.resolve()
  /** Ends the pause before the next run. */
  #pause = new AbortController()
  #isPausedByFailure = false
  #isWoken = false
  #failures: BackgroundFailures = { count: 0, lastCode: null, lastAt: 0 }
  #inSuccession = 0
  #currentCode: string | undefined

  constructor(options: BackgroundOptions) {
    this.#options = options
  }

  get failures(): BackgroundFailures {
    return this.#failures
  }

  /** The code of the last failure; `undefined` if a run has succeeded since. */
  get currentCode(): string | undefined {
    return this.#currentCode
  }

  /** Requests a run in `ms`, unless one is requested already. */
  request(ms = 0): void {
    this.#runIn(ms, false)
  }

  /** Ends the pause before the next run, but not one after a failure. During a run: the next one follows at once. */
  wake(): void {
    this.#isWoken = true
    // Each call of `abort` makes an exception, and a registry wakes the sealer with each create.
    if (!this.#isPausedByFailure && !this.#pause.signal.aborted) this.#pause.abort()
  }

  /** Runs now, or after a run that has begun. Never throws. */
  async runNow(): Promise<void> {
    this.#running = this.#running.then(() => this.#run())
    await this.#running
  }

  /** Counts and logs a failure, also one of the same work outside of a run. */
  recordFailure(error: unknown): void {
    const { clock, logger, failure, fields } = this.#options
    const code = isRegistryError(error) ? error.code : 'INTERNAL'
    const count = this.#failures.count + 1
    this.#failures = { count, lastCode: code, lastAt: clock.now() }
    this.#currentCode = code
    logger.warn({ ...fields, code, err: error, failures: count }, failure)
  }

  /** Aborts a run that has begun, waits for it, and runs nothing any more. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#pause.abort()
    await this.#waiting
    await this.#running
  }

  #runIn(ms: number, isAfterFailure: boolean): void {
    if (this.#stopping.signal.aborted || this.#waiting !== undefined) return
    this.#pause = new AbortController()
    this.#isPausedByFailure = isAfterFailure
    this.#waiting = this.#pauseAndRun(ms, this.#pause.signal)
  }

  async #pauseAndRun(ms: number, signal: AbortSignal): Promise<void> {
    await (ms > 0 ? this.#options.clock.sleep(ms, signal).catch(() => undefined) : undefined)
    this.#waiting = undefined
    if (!this.#stopping.signal.aborted) await this.runNow()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    this.#isWoken = false
    try {
      const pauseMs = await this.#options.run(signal)
      this.#inSuccession = 0
      this.#currentCode = undefined
      const dueInMs = this.#isWoken ? 0 : pauseMs
      if (dueInMs !== undefined) this.request(dueInMs)
    } catch (error) {
      if (!signal.aborted) this.recordFailure(error)
      const askedMs = isRegistryError(error) ? (error.retryAfterMs ?? 0) : 0
      this.#runIn(Math.max(askedMs, this.#options.retryMs(this.#inSuccession++)), true)
    }
  }
}

/** The failures of several, as those of one. */
export function failuresOf(all: readonly (Background | undefined)[]): Omit<BackgroundFailures, 'lastAt'> {
  const failures = all.flatMap((each) => (each === undefined ? [] : [each.failures]))
  const last = failures.filter(({ count }) => count > 0).toSorted((a, b) => b.lastAt - a.lastAt)[0]
  return { count: failures.reduce((sum, { count }) => sum + count, 0), lastCode: last?.lastCode ?? null }
}
