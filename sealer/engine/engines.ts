import { availableParallelism } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RegistryError } from '../../core/errors.ts'
import { splitTiles, TILE_WIDTH, tilesBytesFor } from '../../core/log/tree/tile.ts'
import type { EngineFailures, TreeEngine } from '../../core/ports/index.ts'
import { compileKernel } from '../kernel/kernel.ts'
import { hashCount, TILE_ROW_BYTES, TileHasher, type RowKind } from '../kernel/tiles.ts'
import { integer } from '../settings.ts'
import { BufferPool } from './buffer-pool.ts'
import { WorkerPool, type RunTask } from './worker-pool.ts'
import type { TilesTask } from './worker.ts'

/**
 * Bytes of a row that are hashed in one turn of the event loop: 32 tiles, about 2 ms, so that requests are not delayed.
 */
const TURN_BYTES = 32 * TILE_ROW_BYTES

/**
 * A `TreeEngine` that hashes in the calling thread, in turns of about 2 ms.
 *
 * @example
 * const sealer = createSealer({ engine: new InlineEngine() })
 */
export class InlineEngine implements TreeEngine {
  #hasher: TileHasher | undefined
  #closed = false

  async tiles(row: Uint8Array, kind: RowKind): Promise<readonly Uint8Array[]> {
    hashCount(row)
    const hasher = (this.#hasher ??= new TileHasher(await compileKernel()))
    const tiles: Uint8Array[] = []
    for (let from = 0; from < row.length; from += TURN_BYTES) {
      if (from > 0) await nextTurn()
      if (this.#closed) throw engineClosed()
      const part = row.subarray(from, from + TURN_BYTES)
      const out = new Uint8Array(tilesBytesFor(hashCount(part)))
      hasher.tiles(part, kind, out)
      tiles.push(...splitTiles(out, hashCount(part)))
    }
    return tiles
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}

const engineClosed = (): RegistryError => new RegistryError('CLOSED', 'The tree engine is closed')

/** Options of `PoolEngine`. */
export interface PoolOptions {
  /** The most worker threads. Default: one less than the machine's cores, from 1 to 4. */
  readonly maxThreads?: number
  /** How long an idle worker is kept, ms. Default 10,000. */
  readonly idleTimeoutMs?: number
  /**
   * Rows of at most this many hashes are hashed in the calling thread. Default 4,096 (about 1 ms): from about that size
   * on, running workers are faster (bench/README.md).
   */
  readonly inlineHashes?: number
  /** The module of the workers. Default: the engine's own. */
  readonly worker?: URL
}

/** Tiles in one task of a worker: 2 ms of work, 0.75 MiB in and out. 16 and 64 are about as fast. */
const MAX_SECTION_TILES = 32
/**
 * Sections of a short row for each worker. With one, the row waits for the slowest worker. More than two cost more than
 * they save.
 */
const SECTIONS_PER_WORKER = 2
/**
 * One buffer is hashed while the next one already waits in the worker, so that it need not wait for this thread. Saves
 * 10 % on cores that other processes use too.
 */
const BUFFERS_PER_WORKER = 2

/**
 * A `TreeEngine` that hashes in worker threads. They start with the first row that is large enough, and end when they
 * are idle. If a worker fails, all calls under way throw `ENGINE_FAILED`, and the next call starts new workers.
 *
 * @example
 * const sealer = createSealer({ engine: new PoolEngine({ maxThreads: 2 }) })
 */
export class PoolEngine implements TreeEngine {
  readonly #maxThreads: number
  readonly #inlineHashes: number
  readonly #inline = new InlineEngine()
  readonly #buffers: BufferPool
  readonly #pool: WorkerPool<TilesTask, Uint8Array>
  #closed = false

  /** Throws `CONFIG_ERROR` if `maxThreads` is not an integer from 1. */
  constructor(options: PoolOptions = {}) {
    const defaultThreads = Math.min(4, Math.max(1, availableParallelism() - 1))
    this.#maxThreads = integer('maxThreads', options.maxThreads ?? defaultThreads, 1)
    this.#inlineHashes = options.inlineHashes ?? 16 * TILE_WIDTH
    this.#buffers = new BufferPool(BUFFERS_PER_WORKER * this.#maxThreads, MAX_SECTION_TILES * TILE_ROW_BYTES)
    this.#pool = new WorkerPool({
      task: 'tiles',
      tasksPerWorker: BUFFERS_PER_WORKER,
      maxThreads: this.#maxThreads,
      idleTimeoutMs: options.idleTimeoutMs,
      // A literal, so that tools that trace files find the module.
      worker: () => options.worker ?? new URL('./worker.js', import.meta.url),
    })
  }

  get failures(): EngineFailures {
    return this.#pool.failures
  }

  async tiles(row: Uint8Array, kind: RowKind): Promise<readonly Uint8Array[]> {
    this.#assertOpen()
    if (hashCount(row) <= this.#inlineHashes) return this.#inline.tiles(row, kind)
    try {
      const [run, module] = await Promise.all([this.#pool.open(), compileKernel()])
      this.#assertOpen()
      return await this.#hashRow(run, { module, row, kind })
    } catch (cause) {
      this.#assertOpen()
      if (cause instanceof RegistryError) throw cause
      const message = 'A worker of the sealing pool did not finish its task: do it again'
      throw new RegistryError('ENGINE_FAILED', message, { cause })
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#inline.close()
    await this.#pool.close()
  }

  /**
   * Hands the row to the workers in sections. The input goes through shared buffers, a bounded number for all rows
   * together. A worker transfers the tiles in its own memory. So no memory that a worker may still write to is reused,
   * and no part of a row is read after the row failed.
   */
  async #hashRow(
    run: RunTask<TilesTask, Uint8Array>,
    { module, row, kind }: TilesTask,
  ): Promise<readonly Uint8Array[]> {
    const sections: Promise<readonly Uint8Array[]>[] = []
    let isFailed = false
    const bytes = sectionBytes(row.length, this.#maxThreads)
    for (let from = 0; from < row.length; from += bytes) {
      const buffer = await this.#buffers.acquire()
      if (isFailed || this.#closed) {
        this.#buffers.release(buffer)
        break
      }
      const task: TilesTask = { module, row: filled(buffer, row.subarray(from, from + bytes)), kind }
      const tiles = run(task)
        .then((joined) => splitTiles(joined, hashCount(task.row)))
        .finally(() => this.#buffers.release(buffer))
      tiles.catch(() => (isFailed = true))
      sections.push(tiles)
    }
    const tiles = await Promise.all(sections)
    this.#assertOpen()
    return tiles.flat()
  }

  #assertOpen(): void {
    if (this.#closed) throw engineClosed()
  }
}

/** Sections are whole tiles, so that the tiles of the sections are those of the row. */
function sectionBytes(rowBytes: number, workers: number): number {
  const tiles = Math.ceil(rowBytes / TILE_ROW_BYTES / workers / SECTIONS_PER_WORKER)
  return Math.min(tiles, MAX_SECTION_TILES) * TILE_ROW_BYTES
}

/** Copies the bytes into the buffer, and returns the part that holds them. */
function filled(buffer: Uint8Array, bytes: Uint8Array): Uint8Array {
  buffer.set(bytes)
  return buffer.subarray(0, bytes.length)
}
