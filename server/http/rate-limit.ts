import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'
import { HttpError } from '../contract/errors.ts'
import type { Sender } from './sender.ts'

/** Counts a request for its sender. Sets the RateLimit headers. Throws `RATE_LIMITED` beyond the limit. */
export type RateLimiter = (ctx: Context, sender: Sender) => void

/** Counts nothing. */
export const noRateLimit: RateLimiter = () => undefined

/** How many requests a sender has in a minute. */
export interface RateLimits {
  /** Requests of one company in a minute, by all of its keys. 0: no limit. */
  readonly perCompany: number
  /** Requests without a valid key from one address in a minute. 0: no limit. */
  readonly perAddress: number
}

const MINUTE_MS = 60_000
/** So that many addresses cannot fill the memory. */
const MAX_SENDERS = 100_000

/**
 * Limits the requests per minute of each company. Requests without a valid key are counted by address, and never for a
 * company, so that a flood from the address of a key's owner does not block the key.
 */
export function createRateLimiter({ perCompany, perAddress }: RateLimits): RateLimiter {
  /** The number of requests of a sender in its minute, which begins with the first one. */
  const windows = new LRUCache<string, { requests: number }>({ max: MAX_SENDERS, ttl: MINUTE_MS })
  return (ctx, { name, hasKey }) => {
    const limit = hasKey ? perCompany : perAddress
    if (limit === 0) return
    const window = windows.get(name) ?? { requests: 0 }
    if (window.requests++ === 0) windows.set(name, window)
    const resetsInS = String(Math.max(1, Math.ceil(windows.getRemainingTTL(name) / 1_000)))
    // draft-ietf-httpapi-ratelimit-headers
    ctx.state.head.set('RateLimit-Policy', `"minute";q=${limit};w=${MINUTE_MS / 1_000}`)
    ctx.state.head.set('RateLimit', `"minute";r=${Math.max(0, limit - window.requests)};t=${resetsInS}`)
    if (window.requests <= limit) return
    ctx.state.head.set('Retry-After', resetsInS)
    throw new HttpError('RATE_LIMITED', `More than ${limit} requests in a minute; try again later`)
  }
}
