import cors from '@koa/cors'
import type { Middleware } from 'koa'

/**
 * Lets scripts of any origin read the public answers (WHATWG Fetch § 3.2). They hold nothing that depends on who asks, so
 * `Vary: Origin`, which @koa/cors always sets, is taken back: it would make shared caches keep each tile once an origin.
 */
export function allowAnyOrigin(isPublic: (path: string) => boolean): Middleware {
  const allow = cors({
    origin: '*',
    allowMethods: 'GET, HEAD, POST',
    allowHeaders: 'Content-Type, X-Request-Id',
    exposeHeaders: 'X-Request-Id',
    maxAge: 86_400,
  })
  return async (ctx, next) => {
    if (!isPublic(ctx.path)) {
      await next()
      return
    }
    ctx.set('Cross-Origin-Resource-Policy', 'cross-origin')
    await allow(ctx, next)
    ctx.remove('Vary')
  }
}
