import { Counter, Histogram, type Registry } from 'prom-client'

/** What a request is counted by. */
export interface CountedRequest {
  readonly method: string
  /** The path of the route, with names of parameters. */
  readonly route: string
  readonly status: number
}

/** Upper bounds of the durations, seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** The requests of one method and route. */
interface Cell {
  readonly labels: Readonly<Record<'method' | 'route', string>>
  readonly byStatus: Map<number, number>
  /** Requests in each bucket alone; the last is that of longer ones. */
  readonly buckets: number[]
  seconds: number
}

/**
 * Counts the requests in cells that are read when the metrics are: prom-client would hash the labels of each request
 * twice.
 */
export class RequestMetrics {
  readonly #cells = new Map<string, Map<string, Cell>>()

  constructor(metrics: Registry) {
    const cells = this.#cells
    const requests = new Counter({
      name: 'evidence_http_requests_total',
      help: 'Requests with a response',
      labelNames: ['method', 'route', 'status'],
      registers: [],
      collect() {
        this.reset()
        for (const { labels, byStatus } of cellsOf(cells))
          for (const [status, count] of byStatus) this.inc({ ...labels, status: String(status) }, count)
      },
    })
    metrics.registerMetric(requests)
    metrics.registerMetric(new Durations(() => cellsOf(cells)))
  }

  /** `seconds`: time to the end of the response. */
  note({ method, route, status }: CountedRequest, seconds: number): void {
    const cell = this.#cells.get(route)?.get(method) ?? this.#add(method, route)
    cell.byStatus.set(status, (cell.byStatus.get(status) ?? 0) + 1)
    let bucket = 0
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] ?? 0)) bucket++
    cell.buckets[bucket] = (cell.buckets[bucket] ?? 0) + 1
    cell.seconds += seconds
  }

  #add(method: string, route: string): Cell {
    const byMethod = this.#cells.get(route) ?? new Map<string, Cell>()
    this.#cells.set(route, byMethod)
    const cell = { labels: { method, route }, byStatus: new Map(), buckets: [...BUCKETS.map(() => 0), 0], seconds: 0 }
    byMethod.set(method, cell)
    return cell
  }
}

const cellsOf = (cells: ReadonlyMap<string, ReadonlyMap<string, Cell>>): readonly Cell[] =>
  Array.from(cells.values(), (byMethod) => [...byMethod.values()]).flat()

/** A histogram whose values are in cells. */
class Durations extends Histogram {
  readonly #cells: () => readonly Cell[]

  constructor(cells: () => readonly Cell[]) {
    super({ ...DURATIONS, labelNames: ['method', 'route'], registers: [] })
    this.#cells = cells
  }

  /** What prom-client reads. Its declarations lack it. */
  async getForPromString(): Promise<object> {
    const { name, help } = DURATIONS
    return { name, help, type: 'histogram', aggregator: 'sum', values: this.#cells().flatMap(valuesOf) }
  }
}

const DURATIONS = { name: 'evidence_http_request_duration_seconds', help: 'Time to the end of the response' }

/** The values that prom-client writes: each bucket with all below it. */
function valuesOf({ labels, buckets, seconds }: Cell): readonly object[] {
  let count = 0
  const inBuckets = buckets.map((requests, bucket) => ({
    metricName: `${DURATIONS.name}_bucket`,
    labels: { le: BUCKETS[bucket] ?? '+Inf', ...labels },
    value: (count += requests),
  }))
  return [
    ...inBuckets,
    { metricName: `${DURATIONS.name}_sum`, labels, value: seconds },
    { metricName: `${DURATIONS.name}_count`, labels, value: count },
  ]
}
