import type { Context } from 'koa'
import type { Principal } from '../../core/index.ts'
import { HttpError } from './errors.ts'

/** Counts a request for its sender. Throws `RATE_LIMITED` beyond the limit, and sets Retry-After. */
export type RateLimiter = (ctx: Context, principal: Principal) => Promise<void>

/** Counts requests, possibly for several servers together. */
export interface RequestCounter {
  /**
   * Counts one more request of a sender.
   *
   * @returns the number of its requests in its current window, and the time until that window ends
   */
  countRequest(sender: string, windowMs: number): Promise<{ readonly requests: number; readonly resetsInMs: number }>
}

const MINUTE_MS = 60_000

/**
 * Limits the requests per minute of each source system. Requests without a valid key are counted by address.
 *
 * @param perMinute - 0: no limit
 * @param counter - default: counts in this process
 */
export function createRateLimiter(perMinute: number, counter: RequestCounter = new WindowCounter()): RateLimiter {
  if (perMinute === 0) return async () => undefined
  return async (ctx, principal) => {
    const { requests, resetsInMs } = await counter.countRequest(senderOf(ctx, principal), MINUTE_MS)
    if (requests <= perMinute) return
    ctx.set('Retry-After', String(Math.max(1, Math.ceil(resetsInMs / 1_000))))
    throw new HttpError('RATE_LIMITED', `More than ${perMinute} requests in a minute; try again later`)
  }
}

interface Window {
  requests: number
  readonly endsAtMs: number
}

/**
 * Counts in memory. A sender's window starts with its first request. Keeps at most `maxSenders` windows and drops the
 * oldest, so that many addresses cannot fill the memory.
 */
export class WindowCounter implements RequestCounter {
  /** By sender, in the order in which the windows end. */
  readonly #windows = new Map<string, Window>()
  readonly #maxSenders: number
  readonly #nowMs: () => number

  constructor({ maxSenders = 100_000, nowMs = () => performance.now() } = {}) {
    this.#maxSenders = maxSenders
    this.#nowMs = nowMs
  }

  /** How many windows it holds. */
  get size(): number {
    return this.#windows.size
  }

  async countRequest(sender: string, windowMs: number): Promise<{ requests: number; resetsInMs: number }> {
    const nowMs = this.#nowMs()
    this.#dropEnded(nowMs)
    const window = this.#windows.get(sender) ?? this.#open(sender, nowMs + windowMs)
    window.requests++
    return { requests: window.requests, resetsInMs: window.endsAtMs - nowMs }
  }

  #dropEnded(nowMs: number): void {
    for (const [sender, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs) return
      this.#windows.delete(sender)
    }
  }

  #open(sender: string, endsAtMs: number): Window {
    const [oldest] = this.#windows.keys()
    if (oldest !== undefined && this.#windows.size >= this.#maxSenders) this.#windows.delete(oldest)
    const window = { requests: 0, endsAtMs }
    this.#windows.set(sender, window)
    return window
  }
}

const senderOf = (ctx: Context, principal: Principal): string =>
  principal.kind === 'sourceSystem' ? `system ${principal.id}` : `address ${ctx.ip}`
