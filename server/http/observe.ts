import { randomUUID } from 'node:crypto'
import type { Context } from 'koa'
import { isRegistryError, type Logger, type Principal, type Scope } from '../../core/index.ts'
import { failureOf } from '../contract/errors.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { ResponseHead } from './response-head.ts'

/** What the operator sees of each request: a line in the log, and its numbers in the metrics. */

/** By which a request is found. */
interface RequestIds {
  readonly requestId: string
  /** Of W3C Trace Context, if the client sent a valid one. */
  readonly traceparent?: string
}

declare module 'koa' {
  /** What middleware notes about a request (`ctx.state`). */
  interface DefaultState {
    /** What each line about the request has. */
    ids: RequestIds
    /** The headers of the response, until it is written. */
    head: ResponseHead
    /** Of a valid key or file token. */
    scope?: Scope
    /** The internal id of the evidence that its path names by the external one. */
    evidence?: string
    /** The code of the error with which it ended. */
    code?: string
    /** How long it waited for something else than the server. The metrics of durations do not count this. */
    longPollMs?: number
    /** What `onClose` was given. */
    onClose?: () => void
  }
}

/**
 * Calls a function once when the response has ended, whether it was sent or the client disconnected; at once if it has
 * ended already. All functions of a response share one listener: a streamed body has up to 7 of Node, which reports
 * more than 10 as a leak.
 */
export function onClose({ res, state }: Pick<Context, 'res' | 'state'>, callback: () => void): void {
  if (res.closed) return callback()
  // In the state of the request: a WeakMap of all open responses takes five times as long to collect. Not in an array:
  // V8 would come to make it as an old object, which keeps its request until the next full collection.
  const before = state.onClose
  state.onClose = callback
  if (before === undefined) return void res.once('close', () => state.onClose?.())
  state.onClose = () => {
    before()
    callback()
  }
  return undefined
}

/** What is told of requests, and to whom. */
export interface ObserverOptions {
  readonly logger: Logger
  readonly requests: RequestMetrics
  readonly trustProxy: boolean
  /** Whether the line has the client's address. */
  readonly logsAddresses: boolean
}

/**
 * Gives each request an id, counts it, and logs one line. It contains who sent it, the route and the ids in its path.
 * The path itself may hold an external id, which can name a person, or by mistake the secret of a link. It is never
 * logged, and neither are the query, headers and the body.
 */
export function observer({ logger, requests, trustProxy, logsAddresses }: ObserverOptions): (ctx: Context) => void {
  const warnAboutProxy = proxyWarning(logger, trustProxy)
  return (ctx) => {
    const startedAtMs = performance.now()
    const ids = requestIdsOf(ctx)
    ctx.state.ids = ids
    warnAboutProxy(ctx)
    onClose(ctx, () => {
      const { method } = ctx
      const [status, route, ms] = [ctx.res.statusCode, routeOf(ctx), performance.now() - startedAtMs]
      requests.note({ method, route, status }, (ms - (ctx.state.longPollMs ?? 0)) / 1_000)
      const { code, scope, evidence } = ctx.state
      // One shape for all requests: spreads cost five times as much here, and pino leaves out what is undefined.
      logger.info(
        {
          requestId: ids.requestId,
          traceparent: ids.traceparent,
          method,
          route,
          evidence,
          ids: idsOf(ctx['params']),
          status,
          ms: Math.round(ms),
          company: scope?.companyId,
          sender: scope && senderName(scope.principal),
          address: logsAddresses ? ctx.ip : undefined,
          code,
          aborted: ctx.res.writableFinished ? undefined : true,
        },
        'request',
      )
    })
  }
}

/** Parameters that a caller fills with ids of its own. */
const EXTERNAL: readonly string[] = ['EVIDENCE_EXTERNAL_ID', 'evidenceId']
const ID = /^(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{64})$/

/** Our own ids in a path: UUIDs and txIds. `undefined` if there are none. */
function idsOf(params: Readonly<Record<string, string>> = {}): readonly string[] | undefined {
  let ids: string[] | undefined
  for (const name in params) {
    const value = params[name]
    if (value !== undefined && ID.test(value) && !EXTERNAL.includes(name)) (ids ??= []).push(value)
  }
  return ids
}

/** The id of the source system, or what else opened the endpoint. */
const senderName = (principal: Principal): string => (principal.kind === 'sourceSystem' ? principal.id : principal.kind)

/** The id of the client if it is well-formed, otherwise a new one; and the position in its trace, if it is valid. */
function requestIdsOf({ req: { headers } }: Context): RequestIds {
  const given = headers['x-request-id']
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
  const trace = headers['traceparent'] === undefined ? null : TRACEPARENT.exec(String(headers['traceparent']))
  return trace === null ? { requestId } : { requestId, traceparent: trace[0] }
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** Version 00 ends after the flags. A later one may have more, which is not logged. */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?![^-])/

/** The path of the route, with names of parameters. There are few of them, but any number of paths. */
const routeOf = (ctx: Context): string => ctx['routerName'] ?? 'none'

/** Codes of the errors that a connection ends with when its client is gone. */
const DISCONNECTED =
  /^(?:HPE_|ECONNABORTED$|ECONNRESET$|EPIPE$|ETIMEDOUT$|ERR_HTTP_REQUEST_TIMEOUT$|ERR_STREAM_(?:DESTR|PREMAT|UNABLE))/

/**
 * Logs what failed after a response began: the client disconnected or sent no HTTP, or the rest could not be read. Only
 * the latter is the server's fault. It has the request id, as other failures have, and its code is added to the line of
 * the request.
 */
export function logIncompleteResponse(
  error: unknown,
  ctx: { readonly state: Partial<Context['state']> },
  logger: Logger,
): void {
  const { ids } = ctx.state
  if (typeof error === 'object' && error !== null && 'code' in error && DISCONNECTED.test(String(error.code))) {
    logger.debug({ err: error, ...ids }, 'a client disconnected before its response was complete')
    return
  }
  // Koa reports the same error for the body and for the connection.
  if (ctx.state.code !== undefined) return
  const code = isRegistryError(error) ? error.code : failureOf(error).code
  ctx.state.code = code
  // Its key has ended.
  if (code === 'UNAUTHORIZED' || code === 'FORBIDDEN') return
  logger.error({ err: error, ...ids, code }, 'a response was cut off')
}

/** A function that warns once if a proxy forwards requests and is not trusted. */
function proxyWarning(logger: Logger, trustProxy: boolean): (ctx: Context) => void {
  let isDone = trustProxy
  return (ctx) => {
    if (isDone || ctx.req.headers['x-forwarded-for'] === undefined) return
    isDone = true
    logger.warn({ ...ctx.state.ids, address: ctx.ip }, UNTRUSTED_PROXY)
  }
}

const UNTRUSTED_PROXY =
  'a request has X-Forwarded-For, which is not trusted. Behind a reverse proxy of yours set ' +
  'EVIDENCE_TRUST_PROXY=true: all of its clients count as one address now'
