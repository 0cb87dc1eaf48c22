import { setImmediate as nextTurn } from 'node:timers/promises'
import { concatBytes } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import type { ProofBlock, ProofFormat, TreeEngine } from '../../core/ports.ts'
import { splitTiles, tilesBytesFor } from '../../core/tree/tile.ts'
import { compileKernel } from '../kernel/kernel.ts'
import { TILE_ROW_BYTES, TileHasher, type RowKind } from '../kernel/tiles.ts'
import { ProofWriter } from './proof-writer.ts'
import { countOf } from './row.ts'

/** Of a row between two turns of the event loop, 32 tiles: some 2 ms of hashing, so that requests go on. */
const TURN_BYTES = 32 * TILE_ROW_BYTES
/** Blocks between two turns: some 3 ms of writing lines. */
const BLOCKS_A_TURN = 8

/** Works in this thread. */
export class InlineEngine implements TreeEngine {
  #hasher: TileHasher | undefined
  #writer: ProofWriter | undefined
  #closed = false

  async tiles(row: Uint8Array, kind: RowKind, signal?: AbortSignal): Promise<readonly Uint8Array[]> {
    countOf(row)
    const hasher = (this.#hasher ??= new TileHasher(await compileKernel()))
    this.#assertWanted(signal)
    const tiles: Uint8Array[] = []
    for (let from = 0; from < row.length; from += TURN_BYTES) {
      if (from > 0) await this.#nextTurn(signal)
      const part = row.subarray(from, from + TURN_BYTES)
      const out = new Uint8Array(tilesBytesFor(countOf(part)))
      hasher.tiles(part, kind, out)
      tiles.push(...splitTiles(out, countOf(part)))
    }
    return tiles
  }

  async proofs(blocks: readonly ProofBlock[], format: ProofFormat, signal?: AbortSignal): Promise<Uint8Array> {
    const writer = (this.#writer ??= new ProofWriter(await compileKernel()))
    this.#assertWanted(signal)
    const parts: Uint8Array[] = []
    for (let from = 0; from < blocks.length; from += BLOCKS_A_TURN) {
      if (from > 0) await this.#nextTurn(signal)
      parts.push(writer.write(blocks.slice(from, from + BLOCKS_A_TURN), format))
    }
    const [only] = parts
    return parts.length === 1 && only !== undefined ? only : concatBytes(...parts)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  async #nextTurn(signal: AbortSignal | undefined): Promise<void> {
    await nextTurn()
    this.#assertWanted(signal)
  }

  #assertWanted(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The tree engine is closed')
    signal?.throwIfAborted()
  }
}
