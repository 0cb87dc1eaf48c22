import type { Context } from 'koa'

/**
 * Calls a function once when the response has ended, whether it was sent or the client disconnected; at once if it has
 * ended already. All functions of a response share one listener: a streamed body has up to 7 of Node, which reports
 * more than 10 as a leak.
 */
export function afterResponse({ res, state }: Pick<Context, 'res' | 'state'>, callback: () => void): void {
  if (res.closed) return callback()
  // In the state of the request: a WeakMap of all open responses takes five times as long to collect.
  const callbacks = state.afterResponse
  if (callbacks !== undefined) {
    callbacks.push(callback)
    return undefined
  }
  const added = [callback]
  state.afterResponse = added
  res.once('close', () => {
    for (const each of added) each()
  })
  return undefined
}
