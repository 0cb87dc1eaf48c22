import { move } from 'piscina'
import { tilesBytesFor } from '../../core/log/tree/tile.ts'
import { hashCount, TileHasher, type RowKind } from '../kernel/tiles.ts'
import type { Module } from '../kernel/kernel.ts'

/** A section of a row, in shared memory that the worker only reads. */
export interface TilesTask {
  /** The compiled kernel. Workers share its optimised code. */
  readonly module: Module
  readonly row: Uint8Array
  readonly kind: RowKind
}

let hasher: TileHasher | undefined

/** Returns the section's tiles, concatenated, in memory that is transferred to the calling thread without a copy. */
export function tiles({ module, row, kind }: TilesTask): ReturnType<typeof move> {
  hasher ??= new TileHasher(module)
  const out = new Uint8Array(tilesBytesFor(hashCount(row)))
  hasher.tiles(row, kind, out)
  return move(out)
}
