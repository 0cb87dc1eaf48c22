import { availableParallelism } from 'node:os'
import type { Piscina } from 'piscina'
import { RegistryError } from '../../core/errors.ts'
import type { TreeEngine } from '../../core/ports.ts'
import { splitTiles, TILE_WIDTH } from '../../core/log/tree/tile.ts'
import { untilAborted } from '../aborted.ts'
import { compileKernel } from '../kernel/kernel.ts'
import { TILE_ROW_BYTES, type RowKind } from '../kernel/tiles.ts'
import { InlineEngine } from './inline.ts'
import { hashCount } from './row.ts'
import { BufferPool } from './buffer-pool.ts'
import type { TilesTask } from './worker.ts'

export interface PoolOptions {
  /** Default: one less than the machine has, 1 to 4. */
  readonly maxThreads?: number
  /** How long a worker without work is kept, ms. Default 10,000. */
  readonly idleTimeoutMs?: number
  /** Rows of so many hashes or fewer are hashed in this thread, which starts no worker for them. Default 4,096 (some 1 ms), about where workers that already run begin to win (bench/README.md). */
  readonly inlineHashes?: number
  /** Rows that may be under way or wait for a worker: beyond them `UNAVAILABLE`. Default 64. */
  readonly maxRows?: number
  /** The worker's module. */
  readonly worker?: URL
}

/** Tiles that a worker is given at once: 2 ms of work, 0.75 MiB in and out. 16 and 64 are about as fast. */
const MAX_SECTION_TILES = 32
/** Of a short row, each worker gets so many sections: with one the slowest start is waited for, more cost more than they save. */
const SECTIONS_PER_WORKER = 2
/** One that is hashed and one that waits in the worker, which so need not wait for this thread: on cores that others use too it saves 10 %. */
const BUFFERS_PER_WORKER = 2

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
  readonly #maxRows: number
  readonly #worker: URL
  readonly #inline = new InlineEngine()
  readonly #buffers: BufferPool
  #rows = 0
  #pool: Promise<Piscina> | undefined
  readonly #ended = new WeakSet<Piscina>()
  /** Until the workers of pools that were given up are gone. */
  #ending: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(options: PoolOptions = {}) {
    this.#maxThreads = options.maxThreads ?? Math.min(4, Math.max(1, availableParallelism() - 1))
    this.#idleTimeoutMs = options.idleTimeoutMs ?? 10_000
    this.#inlineHashes = options.inlineHashes ?? 16 * TILE_WIDTH
    this.#maxRows = options.maxRows ?? 64
    this.#worker = options.worker ?? ownWorker
    this.#buffers = new BufferPool(BUFFERS_PER_WORKER * this.#maxThreads, MAX_SECTION_TILES * TILE_ROW_BYTES)
  }

  async tiles(row: Uint8Array, kind: RowKind, signal?: AbortSignal): Promise<readonly Uint8Array[]> {
    this.#assertOpen()
    if (hashCount(row) <= this.#inlineHashes) return this.#inline.tiles(row, kind, signal)
    signal?.throwIfAborted()
    const hashed = this.#counting(async () => {
      const [pool, module] = await Promise.all([this.#open(), compileKernel()])
      this.#assertOpen()
      signal?.throwIfAborted()
      return this.#hashRow(pool, { module, row, kind }, signal)
    })
    return this.#withErrors(hashed, signal)
  }

  async close(): Promise<void> {
    this.#closed = true
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
        concurrentTasksPerWorker: BUFFERS_PER_WORKER,
        idleTimeout: this.#idleTimeoutMs,
      })
      // A worker that fails without a task concerns nobody, and must not end the process.
      return pool.on('error', () => {})
    })
    return this.#pool
  }

  /**
   * The row goes to the workers in sections, through slots of shared memory, a bounded number for all rows together. Tiles come back
   * in memory of the worker's own that it hands over. So nothing that a worker may still write to is ever used again, and nothing of a
   * row is read after it failed or was given up.
   */
  async #hashRow(
    pool: Piscina,
    { module, row, kind }: TilesTask,
    signal: AbortSignal | undefined,
  ): Promise<readonly Uint8Array[]> {
    const sections: Promise<readonly Uint8Array[]>[] = []
    let isFailed = false
    const bytes = sectionBytes(row.length, this.#maxThreads)
    for (let from = 0; from < row.length; from += bytes) {
      const slot = await this.#buffers.acquire()
      if (isFailed || this.#closed || signal?.aborted === true) {
        this.#buffers.release(slot)
        break
      }
      const task: TilesTask = { module, row: filled(slot, row.subarray(from, from + bytes)), kind }
      const tiles = this.#run(pool, task)
        .then((joined) => splitTiles(joined, hashCount(task.row)))
        .finally(() => this.#buffers.release(slot))
      tiles.catch(() => (isFailed = true))
      sections.push(tiles)
    }
    const tiles = await Promise.all(sections)
    this.#assertOpen()
    signal?.throwIfAborted()
    return tiles.flat()
  }

  /**
   * A task that fails takes its pool along, and so fails all others of it: piscina starts no worker for what waits behind a dead one
   * (on Node 22 and 24 it waited for ever). The next call gets a new pool.
   */
  async #run(pool: Piscina, task: TilesTask): Promise<Uint8Array> {
    if (this.#ended.has(pool)) throw new Error('The workers were given up')
    try {
      return (await pool.run(task)) as Uint8Array
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

  /** Keeps count of the rows that are under way. */
  async #counting<T>(work: () => Promise<T>): Promise<T> {
    if (this.#rows >= this.#maxRows)
      throw new RegistryError('UNAVAILABLE', 'Too much waits for the sealing pool: try again later')
    this.#rows++
    try {
      return await work()
    } finally {
      this.#rows--
    }
  }

  async #withErrors<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
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

/** Whole tiles, so that the sections' tiles are the row's. */
function sectionBytes(rowBytes: number, workers: number): number {
  const tiles = Math.ceil(rowBytes / TILE_ROW_BYTES / workers / SECTIONS_PER_WORKER)
  return Math.min(tiles, MAX_SECTION_TILES) * TILE_ROW_BYTES
}

/** What of the slot now holds these bytes. */
function filled(slot: Uint8Array, bytes: Uint8Array): Uint8Array {
  slot.set(bytes)
  return slot.subarray(0, bytes.length)
}
