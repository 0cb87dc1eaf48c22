import type { Clock, Logger } from '../../ports/index.ts'

const DELAY_MS = 60_000

export interface DelayedTaskOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Of the task, for the log line if it fails. */
  readonly name: string
  readonly run: () => Promise<void>
}

/** Runs a task a minute after it was requested, once for all requests until then. A task that fails is logged. */
export class DelayedTask {
  readonly #options: DelayedTaskOptions
  readonly #aborter = new AbortController()
  #waiting: Promise<void> | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: DelayedTaskOptions) {
    this.#options = options
  }

  request(): void {
    if (!this.#aborter.signal.aborted) this.#waiting ??= this.#runLater()
  }

  /** Runs the task now, after a run that has begun. */
  async run(): Promise<void> {
    this.#running = this.#running.then(() => this.#run())
    await this.#running
  }

  /** Runs a requested task at once, and waits for it. Later requests do nothing. */
  async stop(): Promise<void> {
    this.#aborter.abort()
    await this.#waiting
    await this.#running
  }

  async #runLater(): Promise<void> {
    await this.#options.clock.sleep(DELAY_MS, this.#aborter.signal).catch(() => undefined)
    this.#waiting = undefined
    await this.run()
  }

  async #run(): Promise<void> {
    const { logger, name, run } = this.#options
    try {
      await run()
    } catch (err) {
      logger.warn({ err }, `${name} could not be written`)
    }
  }
}
