import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'
import { HttpError } from '../contract/errors.ts'
import type { Sender } from './sender.ts'

/** Counts a request for its sender. Sets the RateLimit headers. Throws `RATE_LIMITED` beyond the limit. */
export type RateLimiter = (ctx: Context, sender: Sender) => void

/** Counts nothing. */
export const noRateLimit: RateLimiter = () => undefined

/** A window begins with the first request of a sender. */
const WINDOW_S = 60

/** So that many addresses cannot fill the memory. Unlike `max`, it allocates nothing in advance, which takes 0.1 s. */
const MOST_SENDERS = { maxSize: 100_000, sizeCalculation: () => 1 }

/** Limits the requests of each sender in a minute. `limitOf`: how many it has; 0 means that there is no limit. */
export function createRateLimiter(limitOf: (sender: Sender) => number): RateLimiter {
  /** The number of requests of a sender in its window. */
  const windows = new LRUCache<string, { requests: number }>({ ...MOST_SENDERS, ttl: WINDOW_S * 1_000 })
  return (ctx, sender) => {
    const limit = limitOf(sender)
    if (limit === 0) return
    const counted = windows.get(sender.name) ?? { requests: 0 }
    if (counted.requests++ === 0) windows.set(sender.name, counted)
    const resetsInS = Math.max(1, Math.ceil(windows.getRemainingTTL(sender.name) / 1_000))
    const rule = { name: 'minute', limit, windowS: WINDOW_S }
    sayLimit(ctx, rule, { remaining: Math.max(0, limit - counted.requests), resetsInS })
    if (counted.requests > limit) throw refusal(ctx, rule, resetsInS)
  }
}

interface Rule {
  readonly name: string
  /** Requests in a window. */
  readonly limit: number
  readonly windowS: number
}

/** Sets the headers of draft-ietf-httpapi-ratelimit-headers. */
function sayLimit(
  ctx: Context,
  { name, limit, windowS }: Rule,
  { remaining, resetsInS }: { readonly remaining: number; readonly resetsInS: number },
): void {
  ctx.state.head.append('RateLimit-Policy', `"${name}";q=${limit};w=${windowS}`)
  ctx.state.head.append('RateLimit', `"${name}";r=${remaining};t=${resetsInS}`)
}

function refusal(ctx: Context, { name, limit }: Rule, resetsInS: number): HttpError {
  ctx.state.head.set('Retry-After', String(resetsInS))
  return new HttpError('RATE_LIMITED', `More than ${limit} requests in one ${name}; try again later`)
}

/** Limits what anyone may ask about a company. */
export type Ration = (ctx: Context, sender: Sender, companyId: string) => void

/** A bucket with an hour's requests, which fills continuously: 50 a minute. */
const OF_COMPANY: Rule = { name: 'hour', limit: 3_000, windowS: 3_600 }

/**
 * 30 requests a minute for an address, so that no client tries all ids, and 3,000 an hour about a company, so that many
 * addresses do not either. A request beyond the first limit does not count for the second one. If many addresses use up
 * the second one, others still get through: some request about the company is accepted every 1.2 s.
 */
export function createRation(now: () => number = () => performance.now()): Ration {
  const limitAddress = createRateLimiter(() => 30)
  const { limit, windowS } = OF_COMPANY
  const buckets = new LRUCache<string, { left: number; at: number }>(MOST_SENDERS)
  return (ctx, sender, companyId) => {
    limitAddress(ctx, sender)
    // A longer text is not the id of a company.
    if (companyId.length > 64) return
    const { left, at } = buckets.get(companyId) ?? { left: limit, at: now() }
    const filled = Math.min(limit, left + ((now() - at) / 1_000) * (limit / windowS))
    buckets.set(companyId, { left: filled < 1 ? filled : filled - 1, at: now() })
    // How much others ask is said only to who is refused.
    if (filled >= 1) return
    const resetsInS = Math.ceil((1 - filled) * (windowS / limit))
    sayLimit(ctx, OF_COMPANY, { remaining: 0, resetsInS })
    throw refusal(ctx, OF_COMPANY, resetsInS)
  }
}
