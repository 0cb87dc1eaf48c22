import ipaddr from 'ipaddr.js'
import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'
import type { Logger, Scope } from '../../core/index.ts'
import { HttpError } from '../contract/errors.ts'
import type { Sender } from './overload.ts'

/** Counts a request for its sender. Sets the RateLimit headers. Throws `RATE_LIMITED` beyond the limit. */
export type RateLimiter = (ctx: Context, sender: Sender) => void

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
    ctx.set('RateLimit-Policy', `"minute";q=${limit};w=${MINUTE_MS / 1_000}`)
    ctx.set('RateLimit', `"minute";r=${Math.max(0, limit - window.requests)};t=${resetsInS}`)
    if (window.requests <= limit) return
    ctx.set('Retry-After', resetsInS)
    throw new HttpError('RATE_LIMITED', `More than ${limit} requests in a minute; try again later`)
  }
}

/** The company of a valid key, the operator, or the network of an address. */
export function senderOf(ctx: Context, { companyId, principal }: Scope): Sender {
  if (principal.kind === 'sourceSystem') return { name: `company ${companyId}`, hasKey: true }
  if (principal.kind === 'operator') return { name: 'operator', hasKey: true }
  return { name: `address ${clientNetwork(ctx.ip)}`, hasKey: false }
}

/**
 * What counts as one client: an IPv4 address, or the /64 network of an IPv6 address, because each subscriber has at
 * least a whole one, with more addresses than anyone can count. A text that is not an address stays as it is.
 */
export function clientNetwork(address: string): string {
  // Some proxies forward the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
  const [, ipv4, ipv6] = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]*)\](?::\d+)?)$/.exec(address) ?? []
  const plain = ipv4 ?? ipv6 ?? address
  if (!ipaddr.isValid(plain)) return plain
  // An IPv4 address that is mapped into IPv6 becomes one.
  const parsed = ipaddr.process(plain)
  // Each address of the network 64:ff9b::/96 is that of an IPv4 client (RFC 6052).
  if (!(parsed instanceof ipaddr.IPv6) || parsed.range() === 'rfc6052') return parsed.toString()
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}

/** A function that warns once if a proxy forwards requests and is not trusted. */
export function proxyWarning(logger: Logger, trustProxy: boolean): (ctx: Context) => void {
  let isDone = trustProxy
  return (ctx) => {
    if (isDone || ctx.req.headers['x-forwarded-for'] === undefined) return
    isDone = true
    logger.warn({ address: ctx.ip }, UNTRUSTED_PROXY)
  }
}

const UNTRUSTED_PROXY =
  'a request has X-Forwarded-For, which is not trusted. Behind a reverse proxy of yours set ' +
  'EVIDENCE_TRUST_PROXY=true: ' +
  'all of its clients count as one address now'
