import type { Middleware } from 'koa'
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry as MetricsRegistry } from 'prom-client'
import type { Registry, ScrubStatus } from '../../core/index.ts'
import { WORK_CLASSES, type Admission, type WorkState } from './admission.ts'
import { isExcess } from './admit.ts'
import { afterResponse } from './after-response.ts'
import type { Connections } from './connections.ts'
import type { Instruments } from './instruments.ts'
import { routeOf } from './request-log.ts'
import type { UnreadResponses } from './unread-responses.ts'

/**
 * Metrics for Prometheus: requests by route template, the state of the log and of the sealer, the stores, and the
 * process.
 */
export interface Metrics {
  readonly middleware: Middleware
  readonly contentType: string
  /** The text exposition format. */
  text(): Promise<string>
}

const STEPS = ['seal', 'stamp', 'anchor'] as const

export interface MetricSources {
  readonly instruments: Pick<Instruments, 'metrics'>
  readonly admission: Admission
  readonly connections: Connections
  readonly unreadResponses: UnreadResponses
  /** See `AppOptions`. */
  readonly scrubStatus?: () => ScrubStatus | undefined
}

/** Adds the metrics of requests, of the log and of the process to those of the stores and the sealer. */
export function createMetrics(registry: Registry, { instruments, scrubStatus, ...load }: MetricSources): Metrics {
  const { metrics } = instruments
  collectDefaultMetrics({ register: metrics })
  const labels = ['method', 'route', 'status'] as const
  const requests = new Counter({
    name: 'evidence_http_requests_total',
    help: 'Requests with a response',
    labelNames: labels,
    registers: [metrics],
  })
  const durations = new Histogram({
    name: 'evidence_http_request_duration_seconds',
    help: 'Time to the end of the response',
    labelNames: ['method', 'route'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [metrics],
  })
  addLogGauges(metrics, registry)
  addLoadGauges(metrics, load)
  addScrubGauges(metrics, scrubStatus ?? (() => undefined))
  return {
    contentType: metrics.contentType,
    text: oncePerTurn(() => metrics.metrics()),
    middleware(ctx, next) {
      if (isExcess(ctx)) return next()
      const startedAtMs = performance.now()
      afterResponse(ctx, () => {
        const [method, route] = [ctx.method, routeOf(ctx)]
        durations.observe({ method, route }, (performance.now() - startedAtMs) / 1_000)
        requests.inc({ method, route, status: String(ctx.res.statusCode) })
      })
      return next()
    },
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

function addGauge(metrics: MetricsRegistry, name: string, help: string, value: () => number): void {
  const gauge = new Gauge({
    name: `evidence_${name}`,
    help,
    registers: [],
    collect() {
      this.set(value())
    },
  })
  metrics.registerMetric(gauge)
}

function addLoadGauges(
  metrics: MetricsRegistry,
  { admission, connections, unreadResponses }: Pick<MetricSources, 'admission' | 'connections' | 'unreadResponses'>,
): void {
  const byClass = (name: string, help: string, value: (state: WorkState) => number): void => {
    const gauge = new Gauge({
      name: `evidence_requests_${name}`,
      help,
      labelNames: ['class'],
      registers: [],
      collect() {
        for (const workClass of WORK_CLASSES) this.set({ class: workClass }, value(admission.stateOf(workClass)))
      },
    })
    metrics.registerMetric(gauge)
  }
  byClass('running', 'Requests that run, by class', ({ running }) => running)
  byClass('waiting', 'Admitted requests that wait for their turn or their body', ({ waiting }) => waiting)
  byClass('rejected', 'Requests since the start that got 503 because of too much load', ({ rejected }) => rejected)
  addGauge(metrics, 'request_body_bytes', 'Bytes of request bodies in memory', () => admission.bodyBytes)
  addGauge(
    metrics,
    'unread_response_bytes',
    'Bytes of large responses that their clients have not yet read',
    () => unreadResponses.bytes,
  )
  addGauge(
    metrics,
    'unread_responses_rejected',
    'Responses since the start that were replaced by 503, because too many bytes were unread',
    () => unreadResponses.rejected,
  )
  addGauge(metrics, 'connections', 'Open connections', () => connections.open)
  addGauge(
    metrics,
    'connections_dropped',
    'Connections since the start that were closed at once, because there were too many',
    () => connections.dropped,
  )
}

const SCRUB_STAGES = ['log', 'records', 'blobs'] as const

function addScrubGauges(metrics: MetricsRegistry, status: () => ScrubStatus | undefined): void {
  const gauge = (name: string, help: string, value: (scrub: ScrubStatus) => number): void =>
    addGauge(metrics, `scrub_${name}`, help, () => {
      const scrub = status()
      return scrub === undefined ? 0 : value(scrub)
    })
  gauge('read_bytes', 'Bytes that the scrub has read since the start', ({ readBytes }) => readBytes)
  gauge(
    'differences',
    'Damaged records and files that the last complete pass of the scrub or the current one found',
    ({ differences }) => differences,
  )
  gauge(
    'last_complete_timestamp_seconds',
    'When the scrub had read everything; 0 before the first time',
    ({ lastCompleteAt }) => (lastCompleteAt ?? 0) / 1_000,
  )
  gauge('failures', 'How often the scrub could not read since the start', ({ failures }) => failures)
  const checked = new Gauge({
    name: 'evidence_scrub_checked_items',
    help: 'Log entries, records and files that the scrub has checked since the start',
    labelNames: ['stage'],
    registers: [],
    collect() {
      for (const stage of SCRUB_STAGES) this.set({ stage }, status()?.checked[stage] ?? 0)
    },
  })
  metrics.registerMetric(checked)
}

function addLogGauges(metrics: MetricsRegistry, registry: Registry): void {
  const gauge = (name: string, help: string, value: () => number): void => addGauge(metrics, name, help, value)
  gauge('log_entries', 'Entries in the log', () => registry.status().logSize)
  gauge('log_sealed_entries', 'Entries in batches', () => registry.status().sealedSize)
  gauge(
    'log_unsealed_entries',
    'Entries that wait for a batch, from the first event on; 0 if no event waits',
    () => registry.status().unsealedEvents,
  )
  gauge('log_stamped_entries', 'Entries that a time stamp covers', () => registry.status().stampedSize)
  gauge('log_anchored_entries', 'Entries that a confirmed anchor covers', () => registry.status().anchoredSize)
  gauge(
    'damaged_file_reads',
    'Reads of files since the start whose stored bytes were missing or are not the recorded ones',
    () => registry.status().damagedReads,
  )
  gauge(
    'last_batch_timestamp_seconds',
    'When the last batch was sealed; 0 before the first',
    () => (registry.status().lastBatchAt ?? 0) / 1_000,
  )
  gauge('anchor_lag_seconds', 'Age of the oldest batch without a confirmed anchor; 0 if there is none', () =>
    secondsSince(registry.status().oldestUnanchoredAt),
  )
  gauge(
    'anchor_account_conflict',
    '1 if the anchoring account has sent a transaction that is not on record, so that nothing is anchored',
    () => Number(registry.status().hasAccountConflict),
  )
  const failures = new Gauge({
    name: 'evidence_sealer_failures',
    help: 'Steps of the sealer that failed since the start',
    labelNames: ['step'],
    registers: [],
    collect() {
      for (const step of STEPS) this.set({ step }, registry.status().failures[step].count)
    },
  })
  metrics.registerMetric(failures)
}

/** 0 for `null`, and for a time in the future: another server's clock may be ahead. */
const secondsSince = (ms: number | null): number => (ms === null ? 0 : Math.max(0, Date.now() - ms) / 1_000)
