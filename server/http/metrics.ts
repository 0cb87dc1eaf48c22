import type { Middleware } from 'koa'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry as MetricsRegistry } from 'prom-client'
import type { Registry } from '../../core/index.ts'
import { routeOf } from './request-log.ts'

/**
 * Metrics for Prometheus: requests by route template, the state of the log and of the sealer, and the process. Uses a
 * registry of its own.
 */
export interface Metrics {
  readonly middleware: Middleware
  readonly contentType: string
  /** The text exposition format. */
  text(): Promise<string>
}

const STEPS = ['seal', 'stamp', 'anchor'] as const

export function createMetrics(registry: Registry): Metrics {
  const metrics = new MetricsRegistry()
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
  return {
    contentType: metrics.contentType,
    text: () => metrics.metrics(),
    async middleware(ctx, next) {
      const stop = durations.startTimer()
      ctx.res.once('close', () => {
        const [method, route] = [ctx.method, routeOf(ctx)]
        stop({ method, route })
        requests.inc({ method, route, status: String(ctx.res.statusCode) })
      })
      await next()
    },
  }
}

function addLogGauges(metrics: MetricsRegistry, registry: Registry): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    const made = new Gauge({
      name: `evidence_${name}`,
      help,
      registers: [],
      collect() {
        this.set(value())
      },
    })
    metrics.registerMetric(made)
  }
  gauge('log_entries', 'Entries in the log', () => registry.status().logSize)
  gauge('log_sealed_entries', 'Entries in batches', () => registry.status().sealedSize)
  gauge(
    'log_unsealed_entries',
    'Entries that are not in a batch yet',
    () => registry.status().logSize - registry.status().sealedSize,
  )
  gauge('log_stamped_entries', 'Entries that a time stamp covers', () => registry.status().stampedSize)
  gauge('log_anchored_entries', 'Entries that a confirmed anchor covers', () => registry.status().anchoredSize)
  gauge(
    'last_batch_timestamp_seconds',
    'When the last batch was closed; 0 before the first',
    () => (registry.status().lastBatchAt ?? 0) / 1_000,
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
