import { HASH_BYTES } from '../../core/log/tree/hash.ts'
import { FULL_TILE_BYTES, TILE_WIDTH, tileBytesFor } from '../../core/log/tree/tile.ts'
import { openKernel, type Kernel, type Module } from './kernel.ts'
import { WORKSPACE_AT } from './layout.ts'

/** What a row holds: log entries, which are hashed to leaves first, or nodes. */
export type RowKind = 'entries' | 'nodes'

/** Bytes of the row under one full tile. */
export const TILE_ROW_BYTES = TILE_WIDTH * HASH_BYTES

const ROW_AT = WORKSPACE_AT
const TILE_AT = ROW_AT + TILE_ROW_BYTES

/** The number of hashes in a packed row. Throws a RangeError if its length is not a multiple of 32. */
export function hashCount(row: Uint8Array): number {
  if (row.length % HASH_BYTES !== 0)
    throw new RangeError(`A row must consist of ${HASH_BYTES}-byte hashes, got ${row.length} bytes`)
  return row.length / HASH_BYTES
}

/** Builds tiles from and to any memory, shared or not. Works in its own memory, which stays in the CPU's cache. */
export class TileHasher {
  readonly #kernel: Kernel
  readonly #bytes: Uint8Array

  constructor(module: Module) {
    const { kernel, bytes } = openKernel(module, TILE_ROW_BYTES + FULL_TILE_BYTES)
    this.#kernel = kernel
    this.#bytes = bytes
  }

  /** Writes the tiles over a row to `out` (at least `tilesBytesFor` bytes), in the layout of core/log/tree/tile.ts. */
  tiles(row: Uint8Array, kind: RowKind, out: Uint8Array): void {
    for (let from = 0, at = 0; from < row.length; from += TILE_ROW_BYTES, at += FULL_TILE_BYTES)
      this.#tile(row.subarray(from, from + TILE_ROW_BYTES), kind, out, at)
  }

  #tile(row: Uint8Array, kind: RowKind, out: Uint8Array, at: number): void {
    const width = row.length / HASH_BYTES
    this.#bytes.set(row, kind === 'entries' ? ROW_AT : TILE_AT)
    if (kind === 'entries') this.#kernel.hashLeaves(ROW_AT, TILE_AT, width)
    this.#hashUpperRows(width)
    out.set(this.#bytes.subarray(TILE_AT, TILE_AT + tileBytesFor(width)), at)
  }

  /** Hashes each row from the one below, bottom-up, while that is in the cache. */
  #hashUpperRows(width: number): void {
    let row = TILE_AT
    for (let rowWidth = width; rowWidth > 1; rowWidth >>= 1) {
      const above = row + rowWidth * HASH_BYTES
      this.#kernel.hashNodes(row, above, rowWidth >> 1)
      row = above
    }
  }
}
