import type { Context } from 'koa'
import { isRegistryError, type Logger } from '../../core/index.ts'

/** Codes of the errors that a connection ends with when its client is gone. */
const DISCONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNABORTED',
  'ECONNRESET',
  'EPIPE',
  // The headers of its next request do not end.
  'ERR_HTTP_REQUEST_TIMEOUT',
  'ETIMEDOUT',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_UNABLE_TO_PIPE',
])

const isDisconnect = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (DISCONNECTED.has(error.code) || isNotHttp(error.code))

/** Whether the client has sent something that is not HTTP, or a part of a request, after the request. */
const isNotHttp = (code: unknown): boolean => typeof code === 'string' && code.startsWith('HPE_')

/**
 * Logs what failed after a response began: the client disconnected or sent no HTTP, or the rest could not be read. Only
 * the latter is the server's fault. It has the request id, as other failures have, and its code is added to the line of
 * the request.
 */
export function logIncompleteResponse(error: unknown, ctx: Pick<Context, 'state'>, logger: Logger): void {
  const { requestId } = ctx.state
  if (isDisconnect(error)) {
    logger.debug({ err: error, requestId }, 'a client disconnected before its response was complete')
    return
  }
  // Koa reports the same error for the body and for the connection.
  if (ctx.state.code !== undefined) return
  const code = isRegistryError(error) ? error.code : 'INTERNAL'
  ctx.state.code = code
  logger.error({ err: error, requestId, code }, 'a response was cut off')
}
