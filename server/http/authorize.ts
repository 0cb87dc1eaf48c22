import { hash, timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Context, Middleware } from 'koa'
import { LRUCache } from 'lru-cache'
import { permits, type Principal, type Registry, type Scope } from '../../core/index.ts'
import type { Access, Endpoint } from '../contract/endpoint.ts'
import { HttpError } from '../contract/errors.ts'
import { rawQuery } from './query.ts'
import type { Sender } from './shares.ts'

/** What it needs to look a key up, and to count the request. */
export interface AuthorizationServices {
  readonly registry: Registry
  readonly rateLimit: RateLimiter
}

/**
 * Who sends a request, and for which company. Decides from the X-API-Key header or a file token before anything else of
 * the request is read, and counts the request for the rate limit. The core asserts the same permissions again.
 *
 * @throws `UNAUTHORIZED` (the same for every reason), `FORBIDDEN`, `RATE_LIMITED`
 */
export async function authorize(
  { access, isUnmetered }: Endpoint,
  ctx: Context,
  companyId: string,
  { registry, rateLimit }: AuthorizationServices,
): Promise<{ readonly scope: Scope; readonly sender: Sender }> {
  const scope = access === 'public' ? ANONYMOUS : await authenticate(registry, ctx, companyId, access)
  if (scope === undefined) {
    // Counted by address, so that keys cannot be tried faster than the limit.
    rateLimit(ctx, senderOf(ctx, ANONYMOUS))
    throw new HttpError('UNAUTHORIZED', 'Unauthorized')
  }
  if (access !== 'public') ctx.state.scope = scope
  // Before the permission is checked, so that a key cannot send forbidden requests without limit. Who has a token is
  // counted by address: with a link of a company, its keys cannot be brought to their limit.
  const sender = senderOf(ctx, scope)
  if (isUnmetered !== true) rateLimit(ctx, sender.hasKey ? sender : senderOf(ctx, ANONYMOUS))
  if (!isPermitted(scope.principal, access)) throw new HttpError('FORBIDDEN', 'Forbidden resource')
  return { scope, sender }
}

/** Who sends a request without a key. */
const ANONYMOUS: Scope = { companyId: '', principal: { kind: 'anonymous' } }

/** Whether a valid key may use the endpoint. */
function isPermitted(principal: Principal, access: Access): boolean {
  if (access === 'public' || access === 'sourceSystem' || principal.kind === 'fileToken') return true
  if (access === 'operator') return principal.kind === 'operator'
  return permits(principal, access === 'fileToken' ? 'R' : access)
}

/** The scope of a key, or of a file token if there is no key. `undefined` if the endpoint does not accept it. */
async function authenticate(
  registry: Registry,
  ctx: Context,
  companyId: string,
  access: Access,
): Promise<Scope | undefined> {
  const apiKey = String(ctx.req.headers['x-api-key'] ?? '')
  if (apiKey === '') return access === 'fileToken' ? authenticateToken(registry, ctx, companyId) : undefined
  const principal = await registry.sourceSystems.authenticate({ companyId, apiKey, address: ctx.ip })
  // The operator is not a source system.
  if (principal === undefined || (access === 'sourceSystem' && principal.kind === 'operator')) return undefined
  return { companyId, principal, logFields: ctx.state.ids }
}

/** A file token stands for one file: a query that names another one does not fit. */
async function authenticateToken(registry: Registry, ctx: Context, companyId: string): Promise<Scope | undefined> {
  const query = rawQuery(ctx)
  const principal = await registry.files.authenticateToken({ companyId, token: query.get('token') ?? '' })
  if (principal?.kind !== 'fileToken') return undefined
  const namesOtherFile = query
    .getAll('fileId')
    .some((fileId) => fileId !== '' && fileId.toLowerCase() !== principal.fileId)
  return namesOtherFile ? undefined : { companyId, principal, logFields: ctx.state.ids }
}

/** Lets only requests with this bearer token (RFC 6750) pass. Throws `UNAUTHORIZED` for all others. */
export function requireBearer(token: string): Middleware {
  const expected = hash('sha256', token, 'buffer')
  return (ctx, next) => {
    const given = /^Bearer +(\S+)$/i.exec(ctx.get('Authorization'))?.[1]
    if (given !== undefined && timingSafeEqual(hash('sha256', given, 'buffer'), expected)) return next()
    ctx.set('WWW-Authenticate', 'Bearer')
    throw new HttpError('UNAUTHORIZED', 'Unauthorized')
  }
}

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

/**
 * The company of a valid key, the operator, a company's file tokens, or the network of an address. Tokens are apart
 * from the keys, so that who has a link of a company takes no place from its own requests.
 */
function senderOf(ctx: Context, { companyId, principal }: Scope): Sender {
  if (principal.kind === 'sourceSystem') return { name: `company ${companyId}`, hasKey: true }
  if (principal.kind === 'fileToken') return { name: `tokens of ${companyId}`, hasKey: false }
  if (principal.kind === 'operator') return { name: 'operator', hasKey: true }
  return { name: `address ${clientNetwork(ctx.ip)}`, hasKey: false }
}

/**
 * What counts as one client: an IPv4 address, or the /64 network of an IPv6 address, because each subscriber has at
 * least a whole one, with more addresses than anyone can count. A text that is not an address stays as it is.
 */
export function clientNetwork(address: string): string {
  // The usual case. It has one spelling only.
  if (isIPv4(address)) return address
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
