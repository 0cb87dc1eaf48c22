import { setImmediate as nextTurn } from 'node:timers/promises'
import { RegistryError } from '../../core/errors.ts'
import type { TreeEngine } from '../../core/ports/index.ts'
import { splitTiles, tilesBytesFor } from '../../core/log/tree/tile.ts'
import { compileKernel } from '../kernel/kernel.ts'
import { hashCount, TILE_ROW_BYTES, TileHasher, type RowKind } from '../kernel/tiles.ts'

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

  async tiles(row: Uint8Array, kind: RowKind, signal?: AbortSignal): Promise<readonly Uint8Array[]> {
    hashCount(row)
    const hasher = (this.#hasher ??= new TileHasher(await compileKernel()))
    this.#assertActive(signal)
    const tiles: Uint8Array[] = []
    for (let from = 0; from < row.length; from += TURN_BYTES) {
      if (from > 0) await this.#nextTurn(signal)
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

  async #nextTurn(signal: AbortSignal | undefined): Promise<void> {
    await nextTurn()
    this.#assertActive(signal)
  }

  #assertActive(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The tree engine is closed')
    signal?.throwIfAborted()
  }
}
