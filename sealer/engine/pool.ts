import { availableParallelism } from 'node:os'
import type { Piscina } from 'piscina'
import { RegistryError } from '../../core/errors.ts'
import type { TreeEngine } from '../../core/ports.ts'
import { FULL_TILE_BYTES, tilesBytesFor, TILE_WIDTH } from '../../core/tree/tile.ts'
import { InlineEngine } from './inline.ts'
import { countOf, TILE_ROW_BYTES, type RowKind } from './row.ts'
import type { TileTask } from './worker.ts'

export interface PoolOptions {
  /** Default: one less than the machine has, 1 to 4. */
  readonly maxThreads?: number
  /** How long a worker without work is kept, ms. Default 10,000. */
  readonly idleTimeoutMs?: number
  /** Rows of so many hashes or fewer are hashed in this thread, which starts no worker for them. Default 2,048 (some 7 ms). */
  readonly inlineHashes?: number
  /** The worker's module. */
  readonly worker?: URL
}

/** A row is cut into so many pieces a worker, so that one that is slower takes fewer. */
const PIECES_A_THREAD = 4

/** Tasks that may wait, of all rows together. */
const MAX_QUEUE = 1024

// tsx runs the sources as they are, and its workers inherit its loader; node runs what tsc made of them.
const ownWorker = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/**
 * Hashes in worker threads, which start when a row is first large enough to be worth it and end when they are idle. A worker that
 * dies fails the row with `ENGINE_FAILED`; the next one gets a new worker.
 */
export class PoolEngine implements TreeEngine {
  readonly #maxThreads: number
  readonly #idleTimeoutMs: number
  readonly #inlineHashes: number
  readonly #worker: URL
  readonly #inline = new InlineEngine()
  #pool: Promise<Piscina> | undefined
  #closed = false

  constructor(options: PoolOptions = {}) {
    this.#maxThreads = options.maxThreads ?? Math.min(4, Math.max(1, availableParallelism() - 1))
    this.#idleTimeoutMs = options.idleTimeoutMs ?? 10_000
    this.#inlineHashes = options.inlineHashes ?? 8 * TILE_WIDTH
    this.#worker = options.worker ?? ownWorker
  }

  async tiles(row: Uint8Array, kind: RowKind, signal?: AbortSignal): Promise<Uint8Array> {
    this.#assertOpen()
    const count = countOf(row)
    if (count <= this.#inlineHashes) return this.#inline.tiles(row, kind, signal)
    signal?.throwIfAborted()
    this.#pool ??= this.#open()
    const pool = await this.#pool
    this.#assertOpen()
    const input = shared(row.length)
    input.set(row)
    const out = shared(tilesBytesFor(count))
    await this.#run(pool, this.#cut(input, kind, out), signal)
    // Own memory, because not all that takes bytes takes shared ones.
    return out.slice()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#inline.close()
    await (await this.#pool)?.destroy()
  }

  /** Loaded here, so that an idle registry does not pay for it. */
  async #open(): Promise<Piscina> {
    const { Piscina: Pool } = await import('piscina')
    return new Pool({
      filename: this.#worker.href,
      minThreads: 0,
      maxThreads: this.#maxThreads,
      idleTimeout: this.#idleTimeoutMs,
      maxQueue: MAX_QUEUE,
    })
  }

  #cut(row: Uint8Array, kind: RowKind, out: Uint8Array): readonly TileTask[] {
    const tiles = Math.ceil(row.length / TILE_ROW_BYTES)
    const each = Math.ceil(tiles / (this.#maxThreads * PIECES_A_THREAD))
    const tasks: TileTask[] = []
    for (let first = 0; first < tiles; first += each) {
      const end = first + each
      tasks.push({
        row: row.subarray(first * TILE_ROW_BYTES, end * TILE_ROW_BYTES),
        kind,
        out: out.subarray(first * FULL_TILE_BYTES, end * FULL_TILE_BYTES),
      })
    }
    return tasks
  }

  /** Where one piece fails, the others are given up: piscina starts no worker for what still waits behind a dead one. */
  async #run(pool: Piscina, tasks: readonly TileTask[], signal?: AbortSignal): Promise<void> {
    const failure = new AbortController()
    const stop = signal === undefined ? failure.signal : AbortSignal.any([signal, failure.signal])
    let failed: { readonly cause: unknown } | undefined
    const pieces = tasks.map(async (task) => {
      try {
        await pool.run(task, { signal: stop })
      } catch (cause) {
        failed ??= { cause }
        failure.abort()
      }
    })
    await Promise.all(pieces)
    if (failed === undefined) return
    signal?.throwIfAborted()
    this.#assertOpen()
    throw new RegistryError(
      'ENGINE_FAILED',
      'A worker of the sealing pool did not finish its row: hash it again',
      failed,
    )
  }

  #assertOpen(): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The tree engine is closed')
  }
}

const shared = (length: number): Uint8Array => new Uint8Array(new SharedArrayBuffer(length))
