import type { Middleware } from 'koa'

/**
 * Every response is data: a browser must not run it, frame it, or guess its type. Strict-Transport-Security is left to
 * the proxy that ends TLS.
 */
const SECURITY_HEADERS = {
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
}

export const setSecurityHeaders: Middleware = async (ctx, next) => {
  ctx.set(SECURITY_HEADERS)
  await next()
}

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'X-Request-Id' }
const PREFLIGHT = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, POST',
  'Access-Control-Allow-Headers': 'Content-Type, X-Request-Id',
  'Access-Control-Max-Age': '86400',
}

/**
 * Lets scripts of any origin read the public responses (WHATWG Fetch § 3.2). There is no `Vary: Origin`, because the
 * responses do not depend on the origin: shared caches would otherwise keep each tile once per origin.
 */
export function allowAnyOrigin(isPublic: (path: string) => boolean): Middleware {
  return async (ctx, next) => {
    if (isPublic(ctx.path)) {
      ctx.set('Cross-Origin-Resource-Policy', 'cross-origin')
      if (ctx.method !== 'OPTIONS') ctx.set(ANY_ORIGIN)
      else if (ctx.get('Access-Control-Request-Method') !== '') {
        ctx.set(PREFLIGHT)
        ctx.status = 204
        return
      }
    }
    await next()
  }
}
