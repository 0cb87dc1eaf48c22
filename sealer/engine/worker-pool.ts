import type { Piscina } from 'piscina'
import type { EngineFailures } from '../../core/ports/index.ts'

export interface WorkerPoolOptions {
  /** The module of the workers. Called when they start: a program that was bundled to CommonJS has no addresses. */
  readonly worker: () => URL
  /** The function of that module that runs a task. */
  readonly task: string
  /** The most worker threads. */
  readonly maxThreads: number
  /** Tasks that a worker has at the same time. The next one already waits in the worker. */
  readonly tasksPerWorker: number
  /** How long an idle worker is kept, ms. Default 10,000. */
  readonly idleTimeoutMs?: number | undefined
  /** How long tasks wait for a first worker before they fail, ms. Default 60,000. */
  readonly startTimeoutMs?: number
}

/** Runs tasks in the workers that a pool has now. */
export type RunTask<Task, Result> = (task: Task) => Promise<Result>

/**
 * Worker threads that start with the first task, and end when they are idle. If a task fails, all tasks under way fail,
 * and `open` starts new workers.
 */
export class WorkerPool<Task, Result> {
  readonly #options: WorkerPoolOptions
  #workers: Promise<Piscina> | undefined
  /** Why they ended. */
  readonly #ended = new WeakMap<Piscina, unknown>()
  /** Settles when the workers of all ended pools are gone. */
  #ending: Promise<unknown> = Promise.resolve()
  #failures: EngineFailures = { count: 0, isFailing: false }

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  get failures(): EngineFailures {
    return this.#failures
  }

  /** Loads piscina only when it is needed, so that an idle registry does not pay for it. */
  async open(): Promise<RunTask<Task, Result>> {
    this.#workers ??= startWorkers(this.#options, (workers, error) => this.#fail(workers, error)).catch(
      (error: unknown) => {
        // The next call tries it again.
        this.#workers = undefined
        this.#countFailure()
        throw error
      },
    )
    const workers = await this.#workers
    return (task) => this.#run(workers, task)
  }

  /**
   * Ends the workers, so tasks under way fail. `open` must not be called afterwards, because it would start workers
   * again.
   */
  async close(): Promise<void> {
    const workers = await this.#workers?.catch(() => undefined)
    if (workers !== undefined) this.#end(workers, new Error('The worker pool was closed'))
    await this.#ending
  }

  /**
   * A task that fails ends its workers, and so fails all other tasks of them: piscina starts no worker for a task that
   * waits for a dead one (on Node 22 and 24 it waited for ever).
   */
  async #run(workers: Piscina, task: Task): Promise<Result> {
    if (this.#ended.has(workers)) throw this.#ended.get(workers)
    try {
      const result: Result = await workers.run(task)
      this.#failures = { ...this.#failures, isFailing: false }
      return result
    } catch (error) {
      this.#fail(workers, error)
      throw this.#ended.get(workers)
    }
  }

  #countFailure(): void {
    this.#failures = { count: this.#failures.count + 1, isFailing: true }
  }

  #fail(workers: Piscina, error: unknown): void {
    if (this.#ended.has(workers)) return
    this.#countFailure()
    this.#end(workers, error)
  }

  /** Destroys the workers once. */
  #end(workers: Piscina, reason: unknown): void {
    if (this.#ended.has(workers)) return
    this.#ended.set(workers, reason)
    this.#workers = undefined
    this.#ending = Promise.all([this.#ending, workers.destroy()])
  }
}

/** `undefined` in a program that was bundled to CommonJS. */
const ownUrl: string | undefined = import.meta.url

/** tsx runs the TypeScript sources, and its workers inherit its loader. node runs the compiled files. */
function fileOf(worker: () => URL): string {
  if (ownUrl === undefined) throw new Error('A CommonJS bundle has no workers: mark evidence-registry as external')
  const { href } = worker()
  return ownUrl.endsWith('.ts') ? href.replace(/\.js$/, '.ts') : href
}

async function startWorkers(
  { worker, task, maxThreads, tasksPerWorker, idleTimeoutMs = 10_000, startTimeoutMs = 60_000 }: WorkerPoolOptions,
  onFailure: (workers: Piscina, error: unknown) => void,
): Promise<Piscina> {
  const filename = fileOf(worker)
  const { Piscina: Pool, FixedQueue } = await import('piscina')
  const taskQueue = new FixedQueue()
  const workers = new Pool({
    taskQueue,
    filename,
    // A named export, because tsx does not follow the ways in which piscina searches for a default export.
    name: task,
    minThreads: 0,
    maxThreads,
    concurrentTasksPerWorker: tasksPerWorker,
    idleTimeout: idleTimeoutMs,
  })
  // If a thread cannot start (EAGAIN), `run` throws and leaves its task in the queue. No caller has its promise, whose
  // rejection would end the process.
  let newest: Parameters<typeof taskQueue.push>[0] | undefined
  const [run, push] = [workers.run.bind(workers), taskQueue.push.bind(taskQueue)]
  taskQueue.push = (queued) => push((newest = queued))
  // A worker whose module never finishes to load says nothing.
  const ready = new Set<unknown>()
  let starting: NodeJS.Timeout | undefined
  const stopWaiting = (): void => {
    clearTimeout(starting)
    starting = undefined
  }
  workers.on('workerCreate', (created) => {
    ready.add(created)
    stopWaiting()
  })
  workers.on('workerDestroy', (destroyed) => {
    ready.delete(destroyed)
    stopWaiting()
  })
  workers.run = (...call) => {
    if (ready.size === 0)
      starting ??= setTimeout(() => onFailure(workers, new Error('No worker was ready in time')), startTimeoutMs)
    try {
      return run(...call)
    } catch (error) {
      stopWaiting()
      if (newest !== undefined) taskQueue.remove(newest)
      throw error
    }
  }
  // For tasks that wait for a worker, piscina does nothing if it cannot load its module, or ends while it starts.
  workers.on('workerDestroy', () =>
    setImmediate(() => workers.queueSize > 0 && onFailure(workers, new Error('A worker ended before it was ready'))),
  )
  // Also an error of a worker without a task, which must not end the process.
  return workers.on('error', (error) => onFailure(workers, error))
}
