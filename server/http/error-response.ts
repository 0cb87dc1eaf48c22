import type { IncomingHttpHeaders } from 'node:http'
import type { Context } from 'koa'
import type { Logger } from '../../core/index.ts'
import { errorBody, failureOf, HttpError, type ErrorShape, type Failure } from '../contract/errors.ts'
import type { Health } from './health.ts'
import { JSON_TYPE, send } from './send.ts'

/** What an error tells, and whom. */
export interface ErrorOptions {
  readonly logger: Logger
  readonly health: Health
  readonly errorShapeOf: (target: string) => ErrorShape
  /** Told of a request that found no place. */
  readonly onOverload: () => void
}

/** Responds to a request that failed with the status and the body of its error. Logs what is the server's fault. */
export function sendError(ctx: Context, error: unknown, options: ErrorOptions): void {
  const { logger, health, errorShapeOf, onOverload } = options
  const { ids, head } = ctx.state
  health.note(error)
  const isOverload = error instanceof HttpError && error.code === 'OVERLOADED'
  const failure = isOverload ? failureOf(error) : withRefusal(failureOf(error), health)
  if (isOverload) onOverload()
  else if (failure.status >= 500) logger.error({ err: error, ...ids, code: failure.code }, 'a request failed')
  ctx.state.code = failure.code
  if (failure.status === 401 && !head.has('WWW-Authenticate')) head.set('WWW-Authenticate', CHALLENGE)
  if (failure.status === 503) head.set('Retry-After', isOverload ? OVERLOAD_RETRY_S : FAILURE_RETRY_S)
  if (!head.has('Cache-Control')) head.set('Cache-Control', 'no-cache')
  send(ctx, failure.status, { type: JSON_TYPE, data: JSON.stringify(errorBody(failure, errorShapeOf(ctx.url))) })
}

/** How long a sender may continue to send a body that the server has stopped reading. */
const DRAIN_MS = 2_000

/**
 * Discards the rest of a body while and after the response is sent. Closing the connection with bytes that were not
 * read would reset it, and the client would often lose the response. Closes the connection after two seconds.
 */
export function drainAfterResponse({ req: request, res: response }: Pick<Context, 'req' | 'res'>): void {
  const { socket } = request
  if (request.complete || request.destroyed) return
  request.on('error', () => undefined)
  // Node calls it after a response with `Connection: close`, which is every one to HTTP/1.0.
  socket.destroySoon = () => void socket.end()
  response.once('finish', () => {
    const timer = setTimeout(() => socket.destroy(), DRAIN_MS).unref()
    // Not of the connection, which lives on.
    request.once('close', () => clearTimeout(timer))
    if (!response.shouldKeepAlive) request.once('end', () => socket.destroy())
    request.resume()
  })
}

/** When a client should try again, seconds. An overload passes quickly, another failure may not. */
const [OVERLOAD_RETRY_S, FAILURE_RETRY_S] = ['1', '5']

/** Says in a 503 that this server refuses writes, and why. */
const withRefusal = (failure: Failure, health: Health): Failure =>
  failure.code === 'UNAVAILABLE' ? { ...failure, text: health.refusedText() ?? failure.text } : failure

/** RFC 9110 § 11.6.1 requires a challenge. There is no registered scheme for a key in a header. */
const CHALLENGE = 'ApiKey realm="evidence-registry", header="X-API-Key"'

/**
 * Rejects headers without one Host or with an unknown Expect, targets that are not a URL, and paths with broken
 * percent-escapes or control characters. The router would pass these to the endpoints as they are.
 */
export function assertWellFormed(ctx: Context): void {
  const path = pathOf(ctx)
  if (ctx.req.httpVersion === '1.1') assertValidHeaders(ctx.req.headers)
  // Node takes the first one, and a proxy before it perhaps the second.
  if (hasTwoHosts(ctx.req.rawHeaders)) throw new HttpError('VALIDATION_ERROR', 'The request must have one Host header')
  if (PLAIN_PATH.test(path)) return
  let decoded: string
  try {
    decoded = decodeURIComponent(path)
  } catch (cause) {
    throw new HttpError('VALIDATION_ERROR', 'The path contains a broken percent-escape', { cause })
  }
  if (/\p{Cc}/u.test(decoded)) throw new HttpError('VALIDATION_ERROR', 'The path contains a control character')
}

/** `headers`: names and values in turn. It runs for every request, so it looks at few names. */
function hasTwoHosts(headers: readonly string[]): boolean {
  let hosts = 0
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]?.length === 4 && headers[at]?.toLowerCase() === 'host') hosts += 1
  return hosts > 1
}

function assertValidHeaders({ host, expect }: IncomingHttpHeaders): void {
  if (host === undefined) throw new HttpError('VALIDATION_ERROR', 'The request needs a Host header')
  // As Node tells it apart: it has answered the other one with 100.
  if (expect !== undefined && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect))
    throw new HttpError('EXPECTATION_FAILED', 'Expect must be 100-continue, or not be sent')
}

/** The target can also be a whole URL, with a host that cannot be parsed. Its request is logged as one for `/`. */
function pathOf(ctx: Context): string {
  try {
    return ctx.path
  } catch (cause) {
    ctx.url = '/'
    throw new HttpError('VALIDATION_ERROR', 'The target of the request is not a valid URL', { cause })
  }
}

/** A path without percent-escapes and control characters. */
const PLAIN_PATH = /^[!-$&-~]*$/
