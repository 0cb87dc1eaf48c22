import { move } from 'piscina'
import type { ProofBlock, ProofFormat } from '../../core/ports.ts'
import { FULL_TILE_BYTES } from '../../core/tree/tile.ts'
import { TILE_ROW_BYTES, TileHasher, type RowKind } from '../kernel/tiles.ts'
import type { Module } from '../kernel/webassembly.ts'
import { ProofWriter } from './proof-writer.ts'

/** A row for all workers together, in and out through shared memory. Each takes the next tiles until there are none left. */
export interface TilesTask {
  /** The compiled kernel: a worker shares the code that was already optimised. */
  readonly module: Module
  readonly row: Uint8Array
  readonly kind: RowKind
  readonly out: Uint8Array
  /** [0]: the next tile that nobody has taken, shared. */
  readonly next: Int32Array
}

export interface ProofsTask {
  readonly module: Module
  readonly blocks: readonly ProofBlock[]
  readonly format: ProofFormat
}

/** Tiles that are taken together, 2^10 leaves: some 0.2 ms of work, so that workers end together and a row can be stopped. */
const TAKEN_TILES = 4

let hasher: TileHasher | undefined
let writer: ProofWriter | undefined

/** Hashes into `out`. */
export function tiles({ module, row, kind, out, next }: TilesTask): void {
  hasher ??= new TileHasher(module)
  for (let tile: number; (tile = Atomics.add(next, 0, TAKEN_TILES)) * TILE_ROW_BYTES < row.length;)
    hasher.tiles(
      row.subarray(tile * TILE_ROW_BYTES, (tile + TAKEN_TILES) * TILE_ROW_BYTES),
      kind,
      out.subarray(tile * FULL_TILE_BYTES),
    )
}

/** Answers the bytes without copying them. */
export function proofs({ module, blocks, format }: ProofsTask): Uint8Array {
  writer ??= new ProofWriter(module)
  return move(writer.write(blocks, format)) as Uint8Array
}
