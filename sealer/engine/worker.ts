import { move } from 'piscina'
import { tilesBytesFor } from '../../core/log/tree/tile.ts'
import { TileHasher, type RowKind } from '../kernel/tiles.ts'
import type { Module } from '../kernel/webassembly.ts'
import { hashCount } from './row.ts'

/** A section of a row, in shared memory that is only read. */
export interface TilesTask {
  /** The compiled kernel: a worker shares the code that was already optimised. */
  readonly module: Module
  readonly row: Uint8Array
  readonly kind: RowKind
}

let hasher: TileHasher | undefined

/** Answers the section's tiles, joined, in memory that goes to who asked without being copied. */
export function tiles({ module, row, kind }: TilesTask): Uint8Array {
  hasher ??= new TileHasher(module)
  const out = new Uint8Array(tilesBytesFor(hashCount(row)))
  hasher.tiles(row, kind, out)
  return move(out) as Uint8Array
}
