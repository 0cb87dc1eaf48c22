import { RegistryError } from '../../core/errors.ts'
import type { EngineFailures, EventEngine } from '../../core/ports/index.ts'
import { WorkerPool } from './worker-pool.ts'

/** Options of `EventPool`. */
export interface EventPoolOptions {
  /** The most worker threads. Default 1: to make events takes less time than to commit them (bench/README.md). */
  readonly maxThreads?: number
  /** How long an idle worker is kept, ms. Default 10,000. */
  readonly idleTimeoutMs?: number
  /** The module of the workers. Default: the engine's own. */
  readonly worker?: URL
}

/** The evidences of one call are made while those of the next one already wait in the worker. */
const CALLS_PER_WORKER = 2

/**
 * An `EventEngine` with worker threads. They start with the first call, and end when they are idle. If a worker fails,
 * all calls under way throw `ENGINE_FAILED`, and the next call starts new workers.
 *
 * @example
 * const registry = await openRegistry({ ...options, eventEngine: new EventPool() })
 */
export class EventPool implements EventEngine {
  readonly #pool: WorkerPool<string, Uint8Array>
  readonly #calls = new Set<Promise<unknown>>()
  #closed = false

  constructor({ maxThreads = 1, idleTimeoutMs, worker }: EventPoolOptions = {}) {
    this.#pool = new WorkerPool({
      task: 'evidences',
      tasksPerWorker: CALLS_PER_WORKER,
      maxThreads,
      idleTimeoutMs,
      // A literal, so that tools that trace files find the module.
      worker: () => worker ?? new URL('./event-worker.js', import.meta.url),
    })
  }

  get failures(): EngineFailures {
    return this.#pool.failures
  }

  async makeEvidences(request: string): Promise<Uint8Array> {
    if (this.#closed) throw new RegistryError('CLOSED', 'The event engine is closed')
    const call = this.#pool.open().then((run) => run(request))
    this.#calls.add(call)
    try {
      return await call
    } catch (cause) {
      throw new RegistryError(
        'ENGINE_FAILED',
        'A worker of the event engine did not finish its evidences: do it again',
        { cause },
      )
    } finally {
      this.#calls.delete(call)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#calls)
    await this.#pool.close()
  }
}
