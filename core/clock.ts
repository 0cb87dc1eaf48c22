import type { Clock } from './ports/index.ts'

/** Before it there was no registry: a machine without a battery starts in 1970, until it has asked for the time. */
export const EARLIEST_TIME = Date.UTC(2025, 0, 1)

/** setTimeout accepts at most 2^31 - 1 ms, and fires at once for more. A longer sleep sets several timers in turn. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** The machine's clock. A pending sleep keeps the process alive: abort it when its owner closes. */
export const systemClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const onAbort = (): void => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      let timer: NodeJS.Timeout | undefined
      const wait = (leftMs: number): void => {
        timer = setTimeout(
          () => {
            if (leftMs > MAX_TIMEOUT_MS) return wait(leftMs - MAX_TIMEOUT_MS)
            signal?.removeEventListener('abort', onAbort)
            resolve()
          },
          Math.min(Math.max(leftMs, 0), MAX_TIMEOUT_MS),
        )
      }
      wait(ms)
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
}

/** Clocks are corrected by seconds. One that is further behind a time on record was wrong then, or is wrong now. */
export const CLOCK_TOLERANCE_MS = 60_000

/**
 * Measures intervals from a time on record, such as that of the last stamp, with a clock that may be set. A clock that
 * is set back makes no interval longer than it is, and no second stamp or transaction within one.
 */
export class DueTime {
  #last: number | undefined
  /** What `#last` counts as: a time in the future counts as the moment when it was first seen. */
  #since = 0

  /**
   * ms until `intervalMs` have passed since `last`. 0 or less: due now. A time that is more than a minute in the future
   * is that of a wrong clock, so it is due now.
   *
   * @param last - ms since 1970, `undefined` if there is none: due now
   * @param now - ms since 1970
   */
  msUntil(last: number | undefined, intervalMs: number, now: number): number {
    if (last === undefined || last > now + CLOCK_TOLERANCE_MS) return 0
    this.#since = Math.min(last === this.#last ? this.#since : last, now)
    this.#last = last
    return this.#since + intervalMs - now
  }
}

export interface Backoff {
  /** Failed attempts so far, from 0. */
  readonly attempt: number
  /** The upper limit of the first pause, ms. It doubles with each attempt. */
  readonly firstMs: number
  /** The upper limit of every pause, ms. */
  readonly maxMs: number
}

/**
 * How long to wait before the next attempt, in ms: half of the limit fixed and half random, so that callers that failed
 * together do not retry together. `random` is from 0 to 1.
 */
export function backoffMs({ attempt, firstMs, maxMs }: Backoff, random = Math.random()): number {
  const limitMs = Math.min(maxMs, firstMs * 2 ** attempt)
  return limitMs / 2 + (random * limitMs) / 2
}

/**
 * Settles as the promise, or rejects with the signal's reason if that comes first. The work behind the promise goes on.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** The ms of a `Date`, also of one of another realm. NaN for other values. */
export const timeOfDate = (value: unknown): number =>
  Object.prototype.toString.call(value) === '[object Date]' ? Number(value) : NaN
