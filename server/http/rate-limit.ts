import type { Context, Middleware } from 'koa'
import type { Logger, Principal } from '../../core/index.ts'
import { clientNetwork } from './client-network.ts'
import { HttpError } from './errors.ts'
import { WindowCounter, type RequestCounter } from './request-counter.ts'

/** Counts a request for its sender. Sets the RateLimit headers. Throws `RATE_LIMITED` beyond the limit. */
export type RateLimiter = (ctx: Context, principal: Principal) => Promise<void>

export interface RateLimits {
  /** Requests of one key in a minute. 0: no limit. */
  readonly perKey: number
  /** Requests without a valid key from one address in a minute. 0: no limit. */
  readonly perAddress: number
  /** Counts the requests of keys. Default: counts in this process. Addresses are always counted in this process. */
  readonly counter?: RequestCounter
}

const MINUTE_MS = 60_000
/** Default of the limit for addresses, here and in the settings. */
export const ADDRESS_LIMIT_PER_MINUTE = 6_000

/**
 * Limits the requests per minute of each source system and of the operator. Requests without a valid key are counted by
 * address, and never for a key, so that a flood from the address of a key's owner does not block the key.
 */
export function createRateLimiter({ perKey, perAddress, counter = new WindowCounter() }: RateLimits): RateLimiter {
  const addresses = new WindowCounter()
  return async (ctx, principal) => {
    const [limit, requests] = hasKey(principal) ? [perKey, counter] : [perAddress, addresses]
    if (limit > 0) await countRequest(ctx, senderOf(ctx, principal), limit, requests)
  }
}

async function countRequest(ctx: Context, sender: string, limit: number, counter: RequestCounter): Promise<void> {
  const { requests, resetsInMs } = await counter.countRequest(sender, MINUTE_MS)
  const resetsInS = String(Math.max(1, Math.ceil(resetsInMs / 1_000)))
  // draft-ietf-httpapi-ratelimit-headers
  ctx.set('RateLimit-Policy', `"minute";q=${limit};w=${MINUTE_MS / 1_000}`)
  ctx.set('RateLimit', `"minute";r=${Math.max(0, limit - requests)};t=${resetsInS}`)
  if (requests <= limit) return
  ctx.set('Retry-After', resetsInS)
  throw new HttpError('RATE_LIMITED', `More than ${limit} requests in a minute; try again later`)
}

/** Whether a request has a valid key. */
export const hasKey = ({ kind }: Principal): boolean => kind === 'sourceSystem' || kind === 'operator'

/** A source system, the operator, or the network of an address. */
export function senderOf(ctx: Context, principal: Principal): string {
  if (principal.kind === 'sourceSystem') return `system ${principal.id}`
  return principal.kind === 'operator' ? 'operator' : `address ${clientNetwork(ctx.ip)}`
}

/**
 * Warns once if a proxy forwards requests but is not trusted: all of its clients then share the limit of one address.
 */
export function warnAboutProxy(logger: Logger, trustProxy: boolean): Middleware {
  let isDone = trustProxy
  return (ctx, next) => {
    if (!isDone && ctx.get('X-Forwarded-For') !== '') {
      isDone = true
      logger.warn({ address: ctx.ip }, UNTRUSTED_PROXY)
    }
    return next()
  }
}

const UNTRUSTED_PROXY =
  'a request has X-Forwarded-For, which is not trusted. Behind a reverse proxy of yours set EVIDENCE_TRUST_PROXY=true: ' +
  'all of its clients count as one address now'
