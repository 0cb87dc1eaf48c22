import type { Middleware } from 'koa'

/**
 * Lets scripts of any origin read the public answers (WHATWG Fetch § 3.2). They hold nothing that depends on who asks, so
 * there is neither a list of origins nor `Vary`.
 */
export function allowAnyOrigin(isPublic: (path: string) => boolean): Middleware {
  return async (ctx, next) => {
    if (!isPublic(ctx.path)) {
      await next()
      return
    }
    ctx.set({
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': 'X-Request-Id',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    })
    if (ctx.method !== 'OPTIONS' || ctx.get('Access-Control-Request-Method') === '') {
      await next()
      return
    }
    ctx.set({
      'Access-Control-Allow-Methods': 'GET, HEAD, POST',
      'Access-Control-Allow-Headers': 'Content-Type, X-Request-Id',
      'Access-Control-Max-Age': '86400',
    })
    ctx.status = 204
  }
}
