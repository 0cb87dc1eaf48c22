import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'
import { HttpError } from '../contract/errors.ts'
import type { Sender } from './sender.ts'

/** Counts a request for its sender. Sets the RateLimit headers. Throws `RATE_LIMITED` beyond the limit. */
export type RateLimiter = (ctx: Context, sender: Sender) => void

/** Counts nothing. */
export const noRateLimit: RateLimiter = () => undefined

/** How long a window is. It begins with the first request of a sender. */
const WINDOWS_MS = { minute: 60_000, hour: 3_600_000 } as const

/** So that many addresses cannot fill the memory. */
const MAX_SENDERS = 100_000

/** Limits the requests of each sender in a window. `limitOf`: how many it has; 0 means that there is no limit. */
export function createRateLimiter(
  limitOf: (sender: Sender) => number,
  window: keyof typeof WINDOWS_MS = 'minute',
): RateLimiter {
  const ms = WINDOWS_MS[window]
  /** The number of requests of a sender in its window. */
  const windows = new LRUCache<string, { requests: number }>({ max: MAX_SENDERS, ttl: ms })
  return (ctx, sender) => {
    const limit = limitOf(sender)
    if (limit === 0) return
    const counted = windows.get(sender.name) ?? { requests: 0 }
    if (counted.requests++ === 0) windows.set(sender.name, counted)
    // That of an hour counts what others ask: how much that is, is not said.
    if (window === 'hour' && counted.requests <= limit) return
    const resetsInS = String(Math.max(1, Math.ceil(windows.getRemainingTTL(sender.name) / 1_000)))
    // draft-ietf-httpapi-ratelimit-headers
    ctx.state.head.append('RateLimit-Policy', `"${window}";q=${limit};w=${ms / 1_000}`)
    ctx.state.head.append('RateLimit', `"${window}";r=${Math.max(0, limit - counted.requests)};t=${resetsInS}`)
    if (counted.requests <= limit) return
    ctx.state.head.set('Retry-After', resetsInS)
    throw new HttpError('RATE_LIMITED', `More than ${limit} requests in one ${window}; try again later`)
  }
}

/** Limits what anyone may ask about a company. */
export type Ration = (ctx: Context, sender: Sender, companyId: string) => void

/**
 * 30 requests a minute for an address, so that no client tries all ids, and 3,000 an hour about a company, so that many
 * addresses do not either. A request beyond the first limit does not count for the second one.
 */
export function createRation(): Ration {
  const limitAddress = createRateLimiter(() => 30)
  const limitCompany = createRateLimiter(() => 3_000, 'hour')
  return (ctx, sender, companyId) => {
    limitAddress(ctx, sender)
    // A longer text is not the id of a company.
    if (companyId.length <= 64) limitCompany(ctx, { ...sender, name: companyId })
  }
}
