import type { Context } from 'koa'
import type { Principal } from '../../core/index.ts'
import { HttpError } from './errors.ts'
import { WindowCounter, type RequestCounter } from './request-counter.ts'

/** Counts a request for its sender. Sets the RateLimit headers. Throws `RATE_LIMITED` beyond the limit. */
export type RateLimiter = (ctx: Context, principal: Principal) => Promise<void>

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
    const resetsInS = String(Math.max(1, Math.ceil(resetsInMs / 1_000)))
    // draft-ietf-httpapi-ratelimit-headers
    ctx.set('RateLimit-Policy', `"minute";q=${perMinute};w=${MINUTE_MS / 1_000}`)
    ctx.set('RateLimit', `"minute";r=${Math.max(0, perMinute - requests)};t=${resetsInS}`)
    if (requests <= perMinute) return
    ctx.set('Retry-After', resetsInS)
    throw new HttpError('RATE_LIMITED', `More than ${perMinute} requests in a minute; try again later`)
  }
}

const senderOf = (ctx: Context, principal: Principal): string =>
  principal.kind === 'sourceSystem' ? `system ${principal.id}` : `address ${ctx.ip}`
