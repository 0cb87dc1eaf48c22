import type { Piscina } from 'piscina'

export interface WorkerPoolOptions {
  /** The module of the workers. */
  readonly worker: URL
  /** The function of that module that runs a task. */
  readonly task: string
  /** The most worker threads. */
  readonly maxThreads: number
  /** Tasks that a worker has at the same time. The next one already waits in the worker. */
  readonly tasksPerWorker: number
  /** How long an idle worker is kept, ms. Default 10,000. */
  readonly idleTimeoutMs?: number | undefined
}

/** Runs tasks in the workers that a pool has now. */
export type RunTask<Task, Result> = (task: Task) => Promise<Result>

/**
 * The module of this folder with this name, for workers. tsx runs the TypeScript sources, and its workers inherit its
 * loader. node runs the compiled files.
 */
export const workerModule = (name: string): URL =>
  new URL(`./${name}.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/**
 * Worker threads that start with the first task, and end when they are idle. If a task fails, all tasks under way fail,
 * and `open` starts new workers.
 */
export class WorkerPool<Task, Result> {
  readonly #options: WorkerPoolOptions
  #workers: Promise<Piscina> | undefined
  readonly #ended = new WeakSet<Piscina>()
  /** Settles when the workers of all ended pools are gone. */
  #ending: Promise<unknown> = Promise.resolve()

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  /** Loads piscina only when it is needed, so that an idle registry does not pay for it. */
  async open(): Promise<RunTask<Task, Result>> {
    this.#workers ??= startWorkers(this.#options).catch((error: unknown) => {
      // The next call tries it again.
      this.#workers = undefined
      throw error
    })
    const workers = await this.#workers
    return (task) => this.#run(workers, task)
  }

  /**
   * Ends the workers, so tasks under way fail. `open` must not be called afterwards, because it would start workers
   * again.
   */
  async close(): Promise<void> {
    const workers = await this.#workers?.catch(() => undefined)
    if (workers !== undefined) this.#end(workers)
    await this.#ending
  }

  /**
   * A task that fails ends its workers, and so fails all other tasks of them: piscina starts no worker for a task that
   * waits for a dead one (on Node 22 and 24 it waited for ever).
   */
  async #run(workers: Piscina, task: Task): Promise<Result> {
    if (this.#ended.has(workers)) throw new Error('The worker pool has ended')
    try {
      const result: Result = await workers.run(task)
      return result
    } catch (error) {
      this.#end(workers)
      throw error
    }
  }

  /** Destroys the workers once. */
  #end(workers: Piscina): void {
    if (this.#ended.has(workers)) return
    this.#ended.add(workers)
    this.#workers = undefined
    this.#ending = Promise.all([this.#ending, workers.destroy()])
  }
}

async function startWorkers({
  worker,
  task,
  maxThreads,
  tasksPerWorker,
  idleTimeoutMs = 10_000,
}: WorkerPoolOptions): Promise<Piscina> {
  const { Piscina: Pool } = await import('piscina')
  const workers = new Pool({
    filename: worker.href,
    // A named export, because tsx does not follow the ways in which piscina searches for a default export.
    name: task,
    minThreads: 0,
    maxThreads,
    concurrentTasksPerWorker: tasksPerWorker,
    idleTimeout: idleTimeoutMs,
  })
  // An error of a worker without a task has no caller, and must not end the process.
  return workers.on('error', () => {})
}
