import { setImmediate as nextTurn } from 'node:timers/promises'
import { RegistryError } from '../../core/errors.ts'
import type { TreeEngine } from '../../core/ports.ts'
import { FULL_TILE_BYTES, tilesBytesFor } from '../../core/tree/tile.ts'
import { buildTiles, countOf, TILE_ROW_BYTES, type RowKind } from './row.ts'

/** Tiles between two turns of the event loop: some 7 ms of hashing, so that requests go on. */
const TILES_A_TURN = 8

/** Hashes in this thread. */
export class InlineEngine implements TreeEngine {
  #closed = false

  async tiles(row: Uint8Array, kind: RowKind, signal?: AbortSignal): Promise<Uint8Array> {
    const out = new Uint8Array(tilesBytesFor(countOf(row)))
    const rowBytes = TILES_A_TURN * TILE_ROW_BYTES
    const outBytes = TILES_A_TURN * FULL_TILE_BYTES
    for (let turn = 0; turn * rowBytes < row.length; turn++) {
      if (turn > 0) await nextTurn()
      if (this.#closed) throw new RegistryError('CLOSED', 'The tree engine is closed')
      signal?.throwIfAborted()
      const piece = row.subarray(turn * rowBytes, (turn + 1) * rowBytes)
      buildTiles(piece, kind, out.subarray(turn * outBytes, (turn + 1) * outBytes))
    }
    return out
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}
