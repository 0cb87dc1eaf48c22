import type { Context, Middleware } from 'koa'
import { RegistryError } from '../../core/errors.ts'
import type { Logger } from '../../core/ports.ts'
import { drainAfterAnswer } from './bodies.ts'
import { errorBody, failureOf, type ErrorShape } from './errors.ts'
import type { Health } from './health.ts'

/** The one way out for errors: each becomes its status and body, and what is our fault is logged. */
export function answerErrors({
  logger,
  health,
  shapeOf,
}: {
  logger: Logger
  health: Health
  shapeOf: (path: string) => ErrorShape
}): Middleware {
  return async (ctx, next) => {
    ctx.res.once('finish', () => drainAfterAnswer(ctx.req))
    try {
      await next()
    } catch (error) {
      health.note(error)
      const failure = failureOf(error)
      const requestId = ctx.state['requestId'] as string
      if (failure.status >= 500) logger.error({ err: error, requestId, code: failure.code }, 'a request failed')
      ctx.state['code'] = failure.code
      ctx.status = failure.status
      ctx.body = errorBody(failure, shapeOf(ctx.path))
    }
  }
}

/**
 * Refuses paths that name nothing: broken percent-escapes, and control characters in a part. The router would hand them
 * on as they are.
 */
export const refuseBrokenPaths: Middleware = async (ctx, next) => {
  let decoded: string
  try {
    decoded = decodeURIComponent(ctx.path)
  } catch (cause) {
    throw new RegistryError('VALIDATION_ERROR', 'The path holds a broken percent-escape', { cause })
  }
  if (/\p{Cc}/u.test(decoded)) throw new RegistryError('VALIDATION_ERROR', 'The path holds a control character')
  await next()
}

/** What no route took: 405 where another method would do, else 404. */
export const refuseUnrouted: Middleware = (ctx: Context) => {
  const layers = (ctx['matched'] ?? []) as readonly { readonly methods: readonly string[] }[]
  const methods = [...new Set(layers.flatMap((layer) => layer.methods))].sort()
  if (methods.length === 0) throw new RegistryError('NOT_FOUND', 'There is nothing at this path')
  ctx.set('Allow', methods.join(', '))
  throw new RegistryError('METHOD_NOT_ALLOWED', `This path takes ${methods.join(', ')}`)
}
