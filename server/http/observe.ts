import { randomUUID } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import { collectDefaultMetrics, Counter, Gauge, Histogram } from 'prom-client'
import { isRegistryError, type Logger, type Registry, type ScrubStatus } from '../../core/index.ts'
import type { Instruments } from './instruments.ts'
import type { Connections } from './listen.ts'
import type { Door, Lane, LaneName, MemoryBudget } from './overload.ts'

/** What the operator sees of requests: a line in the log, and metrics by route. */

declare module 'koa' {
  /** What middleware notes about a request (`ctx.state`). */
  interface DefaultState {
    requestId?: string
    /** The code of the error with which it ended. */
    code?: string
    /** What `onClose` was given. */
    onClose?: (() => void)[]
  }
}

/**
 * Calls a function once when the response has ended, whether it was sent or the client disconnected; at once if it has
 * ended already. All functions of a response share one listener: a streamed body has up to 7 of Node, which reports
 * more than 10 as a leak.
 */
export function onClose({ res, state }: Pick<Context, 'res' | 'state'>, callback: () => void): void {
  if (res.closed) return callback()
  // In the state of the request: a WeakMap of all open responses takes five times as long to collect.
  if (state.onClose !== undefined) return void state.onClose.push(callback)
  const callbacks = [callback]
  state.onClose = callbacks
  res.once('close', () => {
    for (const each of callbacks) each()
  })
  return undefined
}

/**
 * Gives each request an id, counts it, and logs one line. It contains the path, but neither the query, which may
 * contain a token, nor headers or the body. So keys and content never reach the log.
 */
export function observe(
  logger: Logger,
  { requests, durations }: Metrics,
  warnAboutProxy: (ctx: Context) => void,
): Middleware {
  return (ctx, next) => {
    warnAboutProxy(ctx)
    const startedAtMs = performance.now()
    const requestId = requestIdOf(ctx)
    ctx.state.requestId = requestId
    ctx.res.setHeader('X-Request-Id', requestId)
    onClose(ctx, () => {
      const { method, path } = ctx
      const [status, route, ms] = [ctx.res.statusCode, routeOf(ctx), performance.now() - startedAtMs]
      durations.observe({ method, route }, ms / 1_000)
      requests.inc({ method, route, status: String(status) })
      const { code } = ctx.state
      const isAborted = !ctx.res.writableFinished
      logger.info(
        {
          requestId,
          method,
          path,
          route,
          status,
          ms: Math.round(ms),
          ...(code !== undefined && { code }),
          ...(isAborted && { aborted: true }),
        },
        'request',
      )
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
const routeOf = (ctx: Context): string => ctx['routerName'] ?? 'none'

/** Codes of the errors that a connection ends with when its client is gone. */
const DISCONNECTED =
  /^(?:HPE_.*|E(?:CONNABORTED|CONNRESET|PIPE|TIMEDOUT)|ERR_HTTP_REQUEST_TIMEOUT|ERR_STREAM_(?:DESTROYED|PREMATURE_CLOSE|UNABLE_TO_PIPE))$/

/**
 * Logs what failed after a response began: the client disconnected or sent no HTTP, or the rest could not be read. Only
 * the latter is the server's fault. It has the request id, as other failures have, and its code is added to the line of
 * the request.
 */
export function logIncompleteResponse(error: unknown, ctx: Pick<Context, 'state'>, logger: Logger): void {
  const { requestId } = ctx.state
  if (error instanceof Error && 'code' in error && DISCONNECTED.test(String(error.code))) {
    logger.debug({ err: error, requestId }, 'a client disconnected before its response was complete')
    return
  }
  // Koa reports the same error for the body and for the connection.
  if (ctx.state.code !== undefined) return
  const code = isRegistryError(error) ? error.code : 'INTERNAL'
  ctx.state.code = code
  logger.error({ err: error, requestId, code }, 'a response was cut off')
}

/** Metrics for Prometheus. */
export interface Metrics {
  readonly requests: Counter
  readonly durations: Histogram
  readonly contentType: string
  /** The text exposition format. */
  text(): Promise<string>
}

export interface MetricSources {
  readonly registry: Registry
  readonly instruments: Pick<Instruments, 'metrics'>
  readonly lanes: ReadonlyMap<LaneName, Lane>
  readonly door: Door
  readonly bodies: MemoryBudget
  readonly unread: MemoryBudget
  readonly connections: Connections
  /** See `AppOptions`. */
  readonly scrubStatus?: () => ScrubStatus | undefined
}

/** Adds the metrics of requests, of the log and of the process to those of the stores and the sealer. */
export function createMetrics(sources: MetricSources): Metrics {
  const { metrics } = sources.instruments
  collectDefaultMetrics({ register: metrics })
  for (const { name, help, label, values } of gaugesOf(sources)) {
    const gauge = new Gauge({
      name: `evidence_${name}`,
      help,
      ...(label !== undefined && { labelNames: [label] }),
      registers: [],
      collect() {
        for (const [value, number] of values()) this.set(label === undefined ? {} : { [label]: value }, number)
      },
    })
    metrics.registerMetric(gauge)
  }
  return {
    requests: new Counter({
      name: 'evidence_http_requests_total',
      help: 'Requests with a response',
      labelNames: ['method', 'route', 'status'],
      registers: [metrics],
    }),
    durations: new Histogram({
      name: 'evidence_http_request_duration_seconds',
      help: 'Time to the end of the response',
      labelNames: ['method', 'route'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [metrics],
    }),
    contentType: metrics.contentType,
    text: oncePerTurn(() => metrics.metrics()),
  }
}

/**
 * Calls `read` once for all requests of one turn of the event loop. `/metrics` has no limit, and its text takes about a
 * millisecond.
 */
function oncePerTurn<T>(read: () => T): () => T {
  let result: { readonly value: T } | undefined
  return () => {
    if (result === undefined) setImmediate(() => (result = undefined))
    result ??= { value: read() }
    return result.value
  }
}

interface GaugeRow {
  readonly name: string
  readonly help: string
  /** The name of the label, if there are several values. */
  readonly label?: string
  readonly values: () => readonly (readonly [label: string, value: number])[]
}

/** A gauge with one value. */
const one = (name: string, help: string, value: () => number): GaugeRow => ({
  name,
  help,
  values: () => [['', value()]],
})

/** A gauge with a value for each name. */
const many = <T extends string>(
  name: string,
  help: string,
  { label, names, value }: { readonly label: string; readonly names: readonly T[]; readonly value: (of: T) => number },
): GaugeRow => ({ name, help, label, values: () => names.map((each) => [each, value(each)]) })

const gaugesOf = (sources: MetricSources): readonly GaugeRow[] => [
  ...logGauges(sources),
  ...loadGauges(sources),
  ...scrubGauges(sources),
]

function logGauges({ registry }: MetricSources): readonly GaugeRow[] {
  const status = () => registry.status()
  return [
    one('log_entries', 'Entries in the log', () => status().logSize),
    one('log_sealed_entries', 'Entries in batches', () => status().sealedSize),
    one(
      'log_unsealed_entries',
      'Entries that wait for a batch, from the first event on; 0 if no event waits',
      () => status().unsealedEvents,
    ),
    one('log_stamped_entries', 'Entries that a time stamp covers', () => status().stampedSize),
    one('log_anchored_entries', 'Entries that a confirmed anchor covers', () => status().anchoredSize),
    one(
      'damaged_file_reads',
      'Reads of files since the start whose stored bytes were missing or are not the recorded ones',
      () => status().damagedReads,
    ),
    one(
      'last_batch_timestamp_seconds',
      'When the last batch was sealed; 0 before the first',
      () => (status().lastBatchAt ?? 0) / 1_000,
    ),
    one('anchor_lag_seconds', 'Age of the oldest batch without a confirmed anchor; 0 if there is none', () =>
      secondsSince(status().oldestUnanchoredAt),
    ),
    one(
      'anchor_account_conflict',
      '1 if the anchoring account has sent a transaction that is not on record, so that nothing is anchored',
      () => Number(status().hasAccountConflict),
    ),
    many('sealer_failures', 'Steps of the sealer that failed since the start', {
      label: 'step',
      names: ['seal', 'stamp', 'anchor'],
      value: (step) => status().failures[step].count,
    }),
  ]
}

/** 0 for `null`, and for a time in the future: another server's clock may be ahead. */
const secondsSince = (ms: number | null): number => (ms === null ? 0 : Math.max(0, Date.now() - ms) / 1_000)

function loadGauges({ lanes, door, bodies, unread, connections }: MetricSources): readonly GaugeRow[] {
  const byLane = (name: string, help: string, value: (lane: Lane) => number): GaugeRow => ({
    name: `requests_${name}`,
    help,
    label: 'class',
    values: () => [...lanes].map(([lane, each]) => [lane, value(each)]),
  })
  return [
    byLane('running', 'Requests that run, by class', ({ state }) => state.running),
    byLane('waiting', 'Requests that wait for their turn', ({ state }) => state.waiting),
    byLane('rejected', 'Requests since the start that got 503, because too many waited', ({ state }) => state.rejected),
    one(
      'requests_shed',
      'Requests since the start that got 503 at once, because the process was too busy',
      () => door.shed,
    ),
    one('request_body_bytes', 'Bytes of request bodies in memory', () => bodies.used),
    one(
      'request_bodies_rejected',
      'Bodies since the start that got 503, because too many bytes were in memory',
      () => bodies.rejected,
    ),
    one('unread_response_bytes', 'Bytes of large responses that their clients have not yet read', () => unread.used),
    one(
      'unread_responses_rejected',
      'Responses since the start that were replaced by 503, because too many bytes were unread',
      () => unread.rejected,
    ),
    one('connections', 'Open connections', () => connections.open),
    one(
      'connections_dropped',
      'Connections since the start that were closed at once, because there were too many',
      () => connections.dropped,
    ),
  ]
}

function scrubGauges({ scrubStatus = () => undefined }: MetricSources): readonly GaugeRow[] {
  return [
    one('scrub_read_bytes', 'Bytes that the scrub has read since the start', () => scrubStatus()?.readBytes ?? 0),
    one(
      'scrub_differences',
      'Damaged records and files that the last complete pass of the scrub or the current one found',
      () => scrubStatus()?.differences ?? 0,
    ),
    one(
      'scrub_last_complete_timestamp_seconds',
      'When the scrub had read everything; 0 before the first time',
      () => (scrubStatus()?.lastCompleteAt ?? 0) / 1_000,
    ),
    one('scrub_failures', 'How often the scrub could not read since the start', () => scrubStatus()?.failures ?? 0),
    many('scrub_checked_items', 'Log entries, records and files that the scrub has checked since the start', {
      label: 'stage',
      names: ['log', 'records', 'blobs'],
      value: (stage) => scrubStatus()?.checked[stage] ?? 0,
    }),
  ]
}
