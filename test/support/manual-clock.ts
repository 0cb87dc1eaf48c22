import type { Clock } from '../../core/ports/index.ts'

interface Sleeper {
  readonly due: number
  readonly wake: () => void
}

/**
 * A clock that changes only when it is advanced. As with timers, a jump of the clock by `set` ends no sleep. A sleep
 * takes whole milliseconds, so that `now` is an integer, as on a machine.
 */
export class ManualClock implements Clock {
  #passed = 0
  #offset: number
  readonly #sleepers = new Set<Sleeper>()

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#offset = now
  }

  now(): number {
    return this.#offset + this.#passed
  }

  /** The number of sleeps that have not ended. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error)
      if (ms <= 0) return resolve()
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason as Error)
      }
      const sleeper: Sleeper = {
        due: this.#passed + Math.ceil(ms),
        wake: () => {
          this.#sleepers.delete(sleeper)
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Sets the time without ending sleeps, like a jump of a machine's clock. */
  set(now: number): void {
    this.#offset = now - this.#passed
  }

  /**
   * Lets `ms` pass. Sleeps end in the order in which they are due. What they start runs, and can sleep again, before
   * more time passes.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#passed + ms
    for (;;) {
      await settle()
      const next = this.#next(end)
      if (next === undefined) break
      this.#passed = Math.max(this.#passed, next.due)
      next.wake()
    }
    this.#passed = Math.max(this.#passed, end)
    await settle()
  }

  /** Lets `ms` pass again and again until the condition is true. */
  advanceUntil(ms: number, isTrue: () => boolean | Promise<boolean>): Promise<void> {
    return until(async () => {
      await this.advance(ms)
      return isTrue()
    })
  }

  #next(end: number): Sleeper | undefined {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers)
      if (sleeper.due <= end && (next === undefined || sleeper.due < next.due)) next = sleeper
    return next
  }
}

/** Waits until everything has run that needs neither time nor real I/O. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

/**
 * Polls in real time until the condition is true, for work of threads and files. The timeout only ends a test that
 * hangs: it is long, because a slow machine must not fail a test.
 */
export async function until(isTrue: () => boolean | Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`Not true after ${timeoutMs} ms: ${isTrue.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
