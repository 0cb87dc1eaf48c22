import { randomUUID } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import type { Logger } from '../../core/index.ts'

/**
 * One line a request. It holds the path but not the query, which may carry a token, and no header and no body: keys and
 * what people write never reach the log.
 */
export function requestLog(logger: Logger): Middleware {
  return async (ctx, next) => {
    const started = performance.now()
    const requestId = requestIdOf(ctx)
    ctx.state['requestId'] = requestId
    ctx.set('X-Request-Id', requestId)
    ctx.res.once('close', () => {
      const line = {
        requestId,
        method: ctx.method,
        path: ctx.path,
        route: routeOf(ctx),
        status: ctx.res.statusCode,
        ms: Math.round(performance.now() - started),
        ...(ctx.state['code'] !== undefined && { code: ctx.state['code'] as string }),
        ...(!ctx.res.writableFinished && { aborted: true }),
      }
      logger.info(line, 'request')
    })
    await next()
  }
}

/** The caller's own id where it is well-formed. */
function requestIdOf(ctx: Context): string {
  const given = ctx.get('X-Request-Id')
  return /^[A-Za-z0-9._:-]{1,128}$/.test(given) ? given : randomUUID()
}

/** The route's template: its number is bounded, that of paths is not. */
export const routeOf = (ctx: Context): string => (ctx.state['route'] as string | undefined) ?? 'none'
