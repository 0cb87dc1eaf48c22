import type { RequestListener } from 'node:http'
import Koa from 'koa'
import { assertWellFormed, drainAfterResponse, sendError, type ErrorOptions } from './error-response.ts'
import { headBeginner, type HeaderOptions } from './headers.ts'
import type { LoadShedder } from './load-shedding.ts'
import { logIncompleteResponse, observer, type ObserverOptions } from './observe.ts'
import { oneByOne } from './pipelining.ts'
import type { Routes } from './routes.ts'
import { send } from './send.ts'

/** What a listener is made of. */
export interface ListenerOptions extends ErrorOptions, HeaderOptions, ObserverOptions {
  /** Whether a proxy of ours sets X-Forwarded-For. */
  readonly trustProxy: boolean
  /** Default: every request is admitted. */
  readonly shedder?: LoadShedder
}

/**
 * What every request goes through, in one middleware: it is shed or admitted, noted, and gets the headers that all
 * responses have; its route responds, or its error does.
 */
export function createListener(routes: Routes, options: ListenerOptions): RequestListener {
  const { logger, trustProxy, shedder } = options
  // Only the last forwarded address was seen by our own proxy. The addresses before it are the client's claim.
  const koa = new Koa({ proxy: trustProxy, maxIpsCount: 1 })
  const observe = observer(options)
  const beginHead = headBeginner(options)
  koa.use(async (ctx) => {
    if (shedder?.enter(ctx) === false) return
    try {
      observe(ctx)
      if (beginHead(ctx)) {
        send(ctx, 204)
        return
      }
      assertWellFormed(ctx)
      const handled = routes.handle(ctx)
      if (handled !== undefined) await handled
      // Koa writes streams.
      if (ctx.respond !== false) ctx.state.head.applyTo(ctx.res)
    } catch (error) {
      sendError(ctx, error, options)
    } finally {
      shedder?.leave()
      drainAfterResponse(ctx)
    }
  })
  koa.on('error', (error: unknown, ctx: Koa.Context) => logIncompleteResponse(error, ctx, logger))
  const handle = koa.callback()
  return oneByOne((request, response) => void handle(request, response))
}
