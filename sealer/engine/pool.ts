import { availableParallelism } from 'node:os'
import type { Piscina } from 'piscina'
import { RegistryError } from '../../core/errors.ts'
import type { ProofBlock, ProofFormat, TreeEngine } from '../../core/ports.ts'
import { TILE_WIDTH, tilesBytesFor } from '../../core/tree/tile.ts'
import { untilAborted } from '../aborted.ts'
import { compileKernel } from '../kernel/kernel.ts'
import { assertHeld } from '../kernel/proofs.ts'
import type { RowKind } from '../kernel/tiles.ts'
import { InlineEngine } from './inline.ts'
import { Rooms, type Room } from './room.ts'
import { countOf } from './row.ts'
import type { ProofsTask, TilesTask } from './worker.ts'

export interface PoolOptions {
  /** Default: one less than the machine has, 1 to 4. */
  readonly maxThreads?: number
  /** How long a worker without work is kept, ms. Default 10,000. */
  readonly idleTimeoutMs?: number
  /** Rows of so many hashes or fewer are hashed in this thread, which starts no worker for them. Default 4,096 (some 1 ms). */
  readonly inlineHashes?: number
  /** Tasks that may wait for a worker, `maxThreads` for a row and one for a call of `proofs`: beyond them `UNAVAILABLE`. Default 256. */
  readonly maxQueue?: number
  /** The worker's module. */
  readonly worker?: URL
}

/** A place in a row beyond its end, however long it is. */
const STOPPED = 2 ** 30

// tsx runs the sources as they are, and its workers inherit its loader; node runs what tsc made of them.
const ownWorker = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/**
 * Works in worker threads, which start when there is enough to do to be worth it and end when they are idle. A worker that
 * dies fails what is under way with `ENGINE_FAILED`; the next call gets new workers.
 */
export class PoolEngine implements TreeEngine {
  readonly #maxThreads: number
  readonly #idleTimeoutMs: number
  readonly #inlineHashes: number
  readonly #maxTasks: number
  readonly #worker: URL
  readonly #inline = new InlineEngine()
  readonly #rooms = new Rooms()
  /** Rows under way. */
  readonly #rows = new Set<Room>()
  #tasks = 0
  #pool: Promise<Piscina> | undefined
  readonly #ended = new WeakSet<Piscina>()
  /** Until the workers of pools that were given up are gone. */
  #ending: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(options: PoolOptions = {}) {
    this.#maxThreads = options.maxThreads ?? Math.min(4, Math.max(1, availableParallelism() - 1))
    this.#idleTimeoutMs = options.idleTimeoutMs ?? 10_000
    this.#inlineHashes = options.inlineHashes ?? 16 * TILE_WIDTH
    this.#maxTasks = this.#maxThreads + (options.maxQueue ?? 256)
    this.#worker = options.worker ?? ownWorker
  }

  async tiles(row: Uint8Array, kind: RowKind, signal?: AbortSignal): Promise<Uint8Array> {
    this.#assertOpen()
    const count = countOf(row)
    if (count <= this.#inlineHashes) return this.#inline.tiles(row, kind, signal)
    signal?.throwIfAborted()
    const tiles = Math.ceil(count / TILE_WIDTH)
    const threads = Math.min(this.#maxThreads, tiles)
    const hashed = this.#counted(threads, async () => {
      const [pool, module] = await Promise.all([this.#open(), compileKernel()])
      this.#assertOpen()
      signal?.throwIfAborted()
      return this.#hashRow(pool, { module, row, kind, tiles, threads }, signal)
    })
    return this.#answered(hashed, signal)
  }

  async proofs(blocks: readonly ProofBlock[], format: ProofFormat, signal?: AbortSignal): Promise<Uint8Array> {
    this.#assertOpen()
    signal?.throwIfAborted()
    for (const block of blocks) assertHeld(block)
    const written = this.#counted(1, async () => {
      const [pool, module] = await Promise.all([this.#open(), compileKernel()])
      this.#assertOpen()
      signal?.throwIfAborted()
      const task: ProofsTask = { module, blocks, format }
      return (await this.#run(pool, task, 'proofs')) as Uint8Array
    })
    return this.#answered(written, signal)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { next } of this.#rows) stop(next)
    await this.#inline.close()
    const pool = await this.#pool
    if (pool !== undefined) this.#end(pool)
    await this.#ending
  }

  /** Loaded here, so that an idle registry does not pay for it. */
  #open(): Promise<Piscina> {
    this.#pool ??= import('piscina').then(({ Piscina: Pool }) => {
      const pool = new Pool({
        filename: this.#worker.href,
        // Loaded when a worker starts. (The default export, which there is none of, would be searched for in ways that tsx does not follow.)
        name: 'tiles',
        minThreads: 0,
        maxThreads: this.#maxThreads,
        idleTimeout: this.#idleTimeoutMs,
      })
      // A worker that fails without a task concerns nobody, and must not end the process.
      return pool.on('error', () => {})
    })
    return this.#pool
  }

  /**
   * Every worker is given the row, and they divide it among themselves. A worker that is busy with something else comes late, or to
   * nothing. Its memory is used again once no worker has it any more: when all tasks have ended, which they do at once when the
   * row is stopped.
   */
  async #hashRow(
    pool: Piscina,
    {
      module,
      row,
      kind,
      tiles,
      threads,
    }: Pick<TilesTask, 'module' | 'row' | 'kind'> & { tiles: number; threads: number },
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    const room = this.#rooms.take(tiles)
    Atomics.store(room.next, 0, 0)
    room.row.set(row)
    const outBytes = tilesBytesFor(row.length / 32)
    const task: TilesTask = {
      module,
      row: room.row.subarray(0, row.length),
      kind,
      out: room.out.subarray(0, outBytes),
      next: room.next,
    }
    const onAbort = (): void => {
      stop(room.next)
    }
    this.#rows.add(room)
    signal?.addEventListener('abort', onAbort, { once: true })
    const results = await Promise.allSettled(Array.from({ length: threads }, () => this.#run(pool, task, 'tiles')))
    signal?.removeEventListener('abort', onAbort)
    this.#rows.delete(room)
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    if (isStopped(room.next)) throw new Error('The row was stopped')
    // Own memory: what comes next overwrites this. The copy costs 0.1 ms of the 4.9 of 65,536 leaves.
    const out = task.out.slice()
    this.#rooms.giveBack(room)
    return out
  }

  /**
   * A task that fails takes its pool along, and so fails all others of it: piscina starts no worker for what waits behind a dead one
   * (on Node 22 and 24 it waited for ever). The next call gets a new pool.
   */
  async #run(pool: Piscina, task: TilesTask | ProofsTask, name: 'tiles' | 'proofs'): Promise<unknown> {
    if (this.#ended.has(pool)) throw new Error('The workers were given up')
    try {
      return await pool.run(task, { name })
    } catch (error) {
      this.#end(pool)
      throw error
    }
  }

  /** Once a pool: after it, `run` would start workers again. */
  #end(pool: Piscina): void {
    if (this.#ended.has(pool)) return
    this.#ended.add(pool)
    this.#pool = undefined
    this.#ending = Promise.all([this.#ending, pool.destroy()])
  }

  /** Keeps count of the tasks that run and wait. */
  async #counted<T>(tasks: number, work: () => Promise<T>): Promise<T> {
    if (this.#tasks + tasks > this.#maxTasks)
      throw new RegistryError('UNAVAILABLE', 'Too much waits for the sealing pool: try again later')
    this.#tasks += tasks
    try {
      return await work()
    } finally {
      this.#tasks -= tasks
    }
  }

  async #answered<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await (signal === undefined ? work : untilAborted(work, signal))
    } catch (cause) {
      signal?.throwIfAborted()
      this.#assertOpen()
      if (cause instanceof RegistryError) throw cause
      throw new RegistryError('ENGINE_FAILED', 'A worker of the sealing pool did not finish its task: do it again', {
        cause,
      })
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The tree engine is closed')
  }
}

/** Workers end with the tiles that they have taken. */
const stop = (next: Int32Array): number => Atomics.store(next, 0, STOPPED)

const isStopped = (next: Int32Array): boolean => Atomics.load(next, 0) >= STOPPED
