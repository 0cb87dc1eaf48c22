import { randomUUID } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import type { Logger } from '../../core/index.ts'
import { afterResponse } from './after-response.ts'
import { isExcess } from './admit.ts'

/**
 * Gives each request an id, and logs one line per admitted request. It contains the path, but neither the query, which
 * may contain a token, nor headers or the body. So keys and content never reach the log.
 */
export function requestLog(logger: Logger): Middleware {
  return (ctx, next) => {
    const requestId = requestIdOf(ctx)
    ctx.state.requestId = requestId
    ctx.res.setHeader('X-Request-Id', requestId)
    if (isExcess(ctx)) return next()
    const started = performance.now()
    afterResponse(ctx, () => {
      const line = {
        requestId,
        method: ctx.method,
        path: ctx.path,
        route: routeOf(ctx),
        status: ctx.res.statusCode,
        ms: Math.round(performance.now() - started),
        ...(ctx.state.code !== undefined && { code: ctx.state.code }),
        ...(!ctx.res.writableFinished && { aborted: true }),
      }
      logger.info(line, 'request')
    })
    return next()
  }
}

/** The id of the client if it is well-formed, otherwise a new one. */
function requestIdOf(ctx: Context): string {
  const given = ctx.get('X-Request-Id')
  return /^[A-Za-z0-9._:-]{1,128}$/.test(given) ? given : randomUUID()
}

/** The path of the route, with names of parameters. There are few of them, but any number of paths. */
export const routeOf = (ctx: Context): string => ctx.state.route?.path ?? 'none'
