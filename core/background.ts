import type { Clock, Logger } from './ports/index.ts'

export interface BackgroundTask {
  readonly clock: Clock
  readonly logger: Logger
  /** Logged with the error of a run that failed. */
  readonly failure: string
  /** How long after a request it runs, ms. */
  readonly delayMs: number
  /** How long after a failure it runs again, ms. Default: `delayMs`. */
  readonly retryMs?: number
  /** One run. Returns whether another run is needed. */
  run(signal: AbortSignal): Promise<boolean>
}

/**
 * Runs a task some time after it was requested, once for all requests until then. A run that fails is logged and
 * repeated later. Two runs never overlap.
 */
export class Background {
  readonly #task: BackgroundTask
  readonly #stopping = new AbortController()
  #waiting: Promise<void> | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(task: BackgroundTask) {
    this.#task = task
  }

  /** Requests a run in `ms`, unless one is requested already. */
  request(ms = this.#task.delayMs): void {
    if (!this.#stopping.signal.aborted) this.#waiting ??= this.#runIn(ms)
  }

  /** Runs the task now, or after a run that has begun. Never throws. */
  async runNow(): Promise<void> {
    this.#running = this.#running.then(() => this.#run())
    await this.#running
  }

  /** Aborts a run that has begun, waits for it, and runs nothing any more. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#waiting
    await this.#running
  }

  async #runIn(ms: number): Promise<void> {
    const { signal } = this.#stopping
    await this.#task.clock.sleep(ms, signal).catch(() => undefined)
    this.#waiting = undefined
    if (!signal.aborted) await this.runNow()
  }

  async #run(): Promise<void> {
    const { logger, failure, retryMs } = this.#task
    const { signal } = this.#stopping
    try {
      if (await this.#task.run(signal)) this.request()
    } catch (err) {
      if (!signal.aborted) logger.warn({ err }, failure)
      this.request(retryMs)
    }
  }
}
