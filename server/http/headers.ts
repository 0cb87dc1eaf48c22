import type { Context } from 'koa'
import type { Health } from './health.ts'
import { ResponseHead } from './response-head.ts'
import { send } from './send.ts'

/**
 * Every response is data: a browser must not run it, frame it, or guess its type. Strict-Transport-Security is left to
 * the proxy that ends TLS.
 */
export const SECURITY_HEADERS = {
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
}

/** For scripts of other origins. They may read these headers, besides the few that Fetch always shows them. */
const SHARED = {
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Access-Control-Expose-Headers':
    'Content-Disposition, Content-Range, ETag, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
}
const KEYED_PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers':
    'Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Range, ' +
    'Traceparent, Tracestate, X-API-Key, X-Request-Id',
  'Access-Control-Max-Age': '600',
}
const PUBLIC_PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST',
  'Access-Control-Allow-Headers': 'Content-Type, Traceparent, Tracestate, X-Request-Id',
  'Access-Control-Max-Age': '86400',
}

const SHARE_PREFLIGHT = {
  ...PUBLIC_PREFLIGHT,
  'Access-Control-Allow-Headers': 'Range, X-Request-Id, X-Share-Secret',
}

const KEYED = Object.entries(SECURITY_HEADERS).flat()
const PUBLIC = Object.entries({ ...SECURITY_HEADERS, ...SHARED, 'Access-Control-Allow-Origin': '*' }).flat()

/** What the headers of all responses depend on. */
export interface HeaderOptions {
  /** A server that stops asks clients to close their connections. */
  readonly health: Health
  /** Whether any origin may read the responses of a path. */
  readonly isPublic: (target: string) => boolean
  /** Whether a path is public to who has the secret of a share. */
  readonly isShare: (target: string) => boolean
  /** Origins that may use all other paths. */
  readonly corsOrigins: readonly string[]
}

/**
 * Returns a function that begins the head of a response with the headers that every response has, and lets scripts of
 * other origins read it (WHATWG Fetch § 3.2). Its result is whether the request is a preflight that is allowed.
 *
 * Public responses do not depend on the origin, so they have no `Vary: Origin`: shared caches would otherwise keep each
 * tile once per origin.
 */
export function headBeginner({ health, isPublic, isShare, corsOrigins }: HeaderOptions): (ctx: Context) => boolean {
  const allowed = new Set(corsOrigins)
  return (ctx) => {
    const target = ctx.req.url ?? ''
    const isOpen = isPublic(target)
    const head = new ResponseHead(ctx.state.ids.requestId, isOpen ? PUBLIC : KEYED)
    ctx.state.head = head
    if (health.isStopping) head.set('Connection', 'close')
    if (!isOpen) {
      if (allowed.size === 0) return false
      head.append('Vary', 'Origin')
      const origin = ctx.get('Origin')
      if (!allowed.has(origin)) return false
      head.setAll({ ...SHARED, 'Access-Control-Allow-Origin': origin })
    }
    if (ctx.method !== 'OPTIONS' || ctx.get('Access-Control-Request-Method') === '') return false
    head.setAll(isOpen ? (isShare(target) ? SHARE_PREFLIGHT : PUBLIC_PREFLIGHT) : KEYED_PREFLIGHT)
    return true
  }
}

/** Whether the client has what this ETag names already (RFC 9110 § 13.1.2). */
export function isFresh(ctx: Context, etag: string): boolean {
  const header = ctx.req.headers['if-none-match']
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/** 304 without a body. Its ETag says which state the client has. */
export function sendNotModified(ctx: Context, etag: string): void {
  ctx.state.head.set('ETag', etag)
  send(ctx, 304)
}

/** Names a download. `attachment` writes both forms of RFC 6266, and guesses a Content-Type. */
export function setFileName(ctx: Context, name: string): void {
  ctx.attachment(name, { fallback: name.replaceAll(/[^\x20-\x7e]/g, '?') })
  ctx.remove('Content-Type')
}
