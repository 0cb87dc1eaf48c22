import { randomUUID } from 'node:crypto'
import type { Context } from 'koa'
import type { Logger } from '../../core/index.ts'
import { errorBody, failureOf, OVERLOADED, type ErrorShape } from '../contract/errors.ts'
import { drainAfterResponse } from './error-response.ts'
import { SECURITY_HEADERS } from './headers.ts'

/** Requests in progress, with those that still send their body. More are shed at once. */
const MAX_IN_FLIGHT = 4_096

/** The first requests after a pause of the event loop, which are admitted however long they take. */
const LEAST_REQUESTS = 100
/** While the event loop is busy without a pause, requests are admitted for this long, then shed for as long. */
const SLICE_MS = 100

/**
 * Measures how long the event loop has been busy with requests without a pause. Under a flood it may not pause for
 * seconds: libuv reads up to 49,152 events in a row, and reads that need no I/O never wait in a queue of ours. So that
 * time is divided into slices: requests are admitted in the first slice, shed in the second, and so on.
 */
class BusyLoop {
  readonly #nowMs: () => number
  #sinceMs: number | undefined
  #requests = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Requests without a key are admitted only in the first half of a slice. */
  admits(hasKey: boolean): boolean {
    if (this.#sinceMs === undefined) {
      this.#sinceMs = this.#nowMs()
      this.#requests = 0
      // Runs when the loop has read everything that the system had received.
      setImmediate(() => (this.#sinceMs = undefined))
    }
    this.#requests++
    if (this.#requests <= LEAST_REQUESTS) return true
    return (this.#nowMs() - this.#sinceMs) % (2 * SLICE_MS) <= (hasKey ? SLICE_MS : SLICE_MS / 2)
  }
}

/** Time between warnings about requests that were shed or rejected. */
const WARNING_INTERVAL_MS = 10_000

/** Which requests may be shed, and how. */
export interface LoadShedderOptions {
  /** Whether requests for a target may be shed. Others are for operators and browsers. */
  readonly isLimited: (target: string) => boolean
  readonly logger: Logger
  readonly errorShapeOf: (target: string) => ErrorShape
  /** ms since any fixed time; never goes back. Default: `performance.now`. */
  readonly nowMs?: () => number
}

/**
 * Sheds requests that cannot be served in time. It comes before everything else, and writes constant bytes: an
 * overloaded server must shed at little cost, so these requests are neither logged nor measured one by one.
 */
export class LoadShedder {
  readonly #options: LoadShedderOptions
  readonly #loop: BusyLoop
  #inFlight = 0
  #shed = 0
  #nextWarningAtMs = 0

  constructor(options: LoadShedderOptions) {
    this.#options = options
    this.#loop = new BusyLoop(options.nowMs ?? (() => performance.now()))
  }

  /** Requests that were shed since the start. */
  get shed(): number {
    return this.#shed
  }

  /** Counts a request until `leave`; if it cannot be served in time, sheds it and returns `false`. */
  enter(ctx: Context): boolean {
    const { isLimited, errorShapeOf } = this.#options
    if (isLimited(ctx.req.url ?? '') && !this.#admits(ctx)) {
      this.#shed++
      this.warn({ shed: this.#shed })
      ctx.respond = false
      drainAfterResponse(ctx)
      ctx.res.writeHead(503, { ...SHED_HEADERS, 'X-Request-Id': randomUUID() }).end(SHED_BODIES[errorShapeOf(ctx.url)])
      return false
    }
    this.#inFlight++
    return true
  }

  /** Call it once for each request that entered, when its response is made. */
  leave(): void {
    this.#inFlight--
  }

  #admits({ req }: Context): boolean {
    return this.#inFlight < MAX_IN_FLIGHT && this.#loop.admits(req.headers['x-api-key'] !== undefined)
  }

  /** Logs from time to time that requests are rejected. */
  warn(fields: object): void {
    if (performance.now() < this.#nextWarningAtMs) return
    this.#nextWarningAtMs = performance.now() + WARNING_INTERVAL_MS
    this.#options.logger.warn(fields, 'too many requests are in progress; some are rejected with 503')
  }
}

const shedBody = (shape: ErrorShape): Buffer => Buffer.from(JSON.stringify(errorBody(failureOf(OVERLOADED), shape)))
const SHED_BODIES = { operation: shedBody('operation'), verification: shedBody('verification') }
const SHED_HEADERS = {
  ...SECURITY_HEADERS,
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'Retry-After': '1',
}
