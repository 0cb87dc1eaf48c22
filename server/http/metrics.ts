import { collectDefaultMetrics, Counter, Gauge } from 'prom-client'
import type { Registry } from '../../core/index.ts'
import type { LoadShedder } from './load-shedding.ts'
import type { Instruments } from './instruments.ts'
import type { Health, HealthSources } from './health.ts'
import type { Connections } from './listen.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { AdmissionQueue } from './admission-queue.ts'
import type { QueueName } from './load-limits.ts'
import { RequestMetrics } from './request-metrics.ts'
import { VERSION } from '../version.ts'

/** Metrics for Prometheus. */
export interface Metrics {
  readonly requests: RequestMetrics
  readonly contentType: string
  /** The text exposition format. */
  text(): Promise<string>
}

/** What the gauges read at each request of `/metrics`. */
export interface MetricSources extends MetricOptions, Pick<HealthSources, 'scrubStatus'> {
  readonly registry: Registry
  readonly instruments: Pick<Instruments, 'metrics'>
  readonly queues: ReadonlyMap<QueueName, AdmissionQueue>
  readonly shedder: LoadShedder
  readonly bodies: MemoryBudget
  readonly unread: MemoryBudget
  readonly connections: Connections
  readonly health: Pick<Health, 'problem'>
}

export interface MetricOptions {
  /** For `/metrics`, besides those of the service. */
  readonly moreMetrics?: readonly MetricRow[]
}

/** Adds the metrics of requests, of the log and of the process to those of the stores and the sealer. */
export function createMetrics(sources: MetricSources): Metrics {
  const { metrics } = sources.instruments
  collectDefaultMetrics({ register: metrics })
  for (const row of rowsOf(sources)) metrics.registerMetric(metricOf(row))
  return {
    requests: new RequestMetrics(metrics),
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

/** The value of each label. */
export type MetricValues = readonly (readonly [label: string, value: number])[]

/** A number that is read when the metrics are. The name of a counter ends with `_total`, as Prometheus expects. */
export interface MetricRow {
  readonly name: string
  readonly help: string
  /** The name of the label, if there are several values. */
  readonly label?: string
  readonly values: () => MetricValues | Promise<MetricValues>
}

function metricOf({ name, help, label, values }: MetricRow): Counter | Gauge {
  const of = (value: string): Record<string, string> => (label === undefined ? {} : { [label]: value })
  async function collect(this: Counter | Gauge): Promise<void> {
    const all = await values()
    this.reset()
    for (const [value, number] of all) this.inc(of(value), number)
  }
  const labelNames = label === undefined ? [] : [label]
  const options = { name: `evidence_${name}`, help, labelNames, registers: [], collect }
  return name.endsWith('_total') ? new Counter(options) : new Gauge(options)
}

/** One value. */
export const one = (name: string, help: string, value: () => number | Promise<number>): MetricRow => ({
  name,
  help,
  values: async () => [['', await value()]],
})

/** A value for each name. */
export const many = (name: string, help: string, label: string, values: MetricRow['values']): MetricRow => ({
  name,
  help,
  label,
  values,
})

const rowsOf = (sources: MetricSources): readonly MetricRow[] => [
  many('build_info', 'Always 1; the label is the version that runs', 'version', () => [[VERSION, 1]]),
  ...logGauges(sources),
  ...loadGauges(sources),
  ...scrubGauges(sources),
  one('ready', '1 if /readyz is 200, else 0', () => Number(sources.health.problem() === undefined)),
  ...(sources.moreMetrics ?? []),
]

/** The log, its batches, stamps and anchors. */
function logGauges({ registry }: MetricSources): readonly MetricRow[] {
  const status = () => registry.status()
  return [
    one('log_entries', 'Entries in the log', () => status().logSize),
    one('log_sealed_entries', 'Entries in batches', () => status().sealedSize),
    one('log_unsealed_entries', 'Entries that wait for a batch; 0 if only tokens wait', () => status().unsealedEvents),
    one('log_stamped_entries', 'Entries that a time stamp covers', () => status().stampedSize),
    one('log_anchored_entries', 'Entries that a confirmed anchor covers', () => status().anchoredSize),
    one('damaged_file_reads_total', 'Reads of files with missing or wrong bytes', () => status().damagedReads),
    one(
      'last_batch_timestamp_seconds',
      'When the last batch was sealed; 0 before the first',
      () => (status().lastBatchAt ?? 0) / 1_000,
    ),
    one('anchor_lag_seconds', 'Age of the oldest batch without anchor; 0 if none', () =>
      secondsSince(status().oldestUnanchoredAt),
    ),
    one('anchor_account_conflict', '1 if others use the anchoring account', () => Number(status().hasAccountConflict)),
    many('witness_cosigned_timestamp_seconds', 'When the witness cosigned last; 0 before', 'witness', () =>
      status().witnesses.map(({ name, cosignedAt }) => [name, (cosignedAt ?? 0) / 1_000]),
    ),
    many('witness_alarm', '1 if the witness saw another history or a larger tree', 'witness', () =>
      status().witnesses.map(({ name, alarm }) => [name, Number(alarm !== null)]),
    ),
    many('sealer_failures_total', 'Steps and workers of the sealer that failed since the start', 'step', () =>
      Object.entries(status().failures).map(([step, { count }]) => [step, count]),
    ),
    many('sealer_overdue', '1 if none was made for three intervals although entries wait for one', 'step', () =>
      (['stamp', 'anchor'] as const).map((step) => [
        step,
        Number(status().currentFailures.includes(`${step.toUpperCase()}_OVERDUE`)),
      ]),
    ),
  ]
}

/** 0 for `null`, and for a time in the future: another server's clock may be ahead. */
const secondsSince = (ms: number | null): number => (ms === null ? 0 : Math.max(0, Date.now() - ms) / 1_000)

/** What the limits of the service do. */
function loadGauges({ queues, shedder, bodies, unread, connections }: MetricSources): readonly MetricRow[] {
  const byQueue = (name: string, help: string, value: (queue: AdmissionQueue) => number): MetricRow =>
    many(`requests_${name}`, help, 'class', () => Array.from(queues, ([queue, each]) => [queue, value(each)]))
  return [
    byQueue('running', 'Requests that run, by class', ({ state }) => state.running),
    byQueue('waiting', 'Requests that wait for their turn', ({ state }) => state.waiting),
    byQueue('rejected_total', 'Requests that got 503: too many waited', ({ state }) => state.rejected),
    byQueue('ended_total', 'Requests of slow clients that ended for another sender', ({ state }) => state.ended),
    one('requests_shed_total', 'Requests that got 503: the process was too busy', () => shedder.shed),
    one('request_body_bytes', 'Bytes of request bodies in memory', () => bodies.used),
    one('request_bodies_rejected_total', 'Bodies that got 503: too many bytes in memory', () => bodies.rejected),
    one('unread_response_bytes', 'Bytes of large responses that their clients have not yet read', () => unread.used),
    one('unread_responses_rejected_total', 'Responses that became 503: too many bytes unread', () => unread.rejected),
    one('connections', 'Open connections', () => connections.open),
    one('connections_dropped_total', 'Connections closed at once: too many', () => connections.dropped),
  ]
}

/** What the scrub has read and found. All are 0 without one. */
function scrubGauges({ scrubStatus = () => undefined }: MetricSources): readonly MetricRow[] {
  return [
    one('scrub_read_bytes_total', 'Bytes that the scrub has read since the start', () => scrubStatus()?.readBytes ?? 0),
    one(
      'scrub_differences',
      'Damaged records and files that the last pass found',
      () => scrubStatus()?.differences ?? 0,
    ),
    one(
      'scrub_last_complete_timestamp_seconds',
      'When the scrub had read everything; 0 before the first time',
      () => (scrubStatus()?.lastCompleteAt ?? 0) / 1_000,
    ),
    one('scrub_failures_total', 'How often the scrub could not read', () => scrubStatus()?.failures ?? 0),
    many('scrub_checked_items_total', 'Log entries, records and files that the scrub has checked', 'stage', () =>
      (['log', 'records', 'blobs'] as const).map((stage) => [stage, scrubStatus()?.checked[stage] ?? 0]),
    ),
  ]
}
