import type { ServerResponse } from 'node:http'
import type { Context } from 'koa'

const callbacksOf = new WeakMap<ServerResponse, (() => void)[]>()

/**
 * Calls a function once when the response has ended, whether it was sent or the client disconnected; at once if it has
 * ended already. All functions of a response share one listener: a streamed body has up to 7 of Node, which reports
 * more than 10 as a leak.
 */
export function afterResponse({ res }: Pick<Context, 'res'>, callback: () => void): void {
  if (res.closed) return callback()
  const callbacks = callbacksOf.get(res)
  if (callbacks !== undefined) {
    callbacks.push(callback)
    return undefined
  }
  const added = [callback]
  callbacksOf.set(res, added)
  res.once('close', () => {
    for (const each of added) each()
  })
  return undefined
}
