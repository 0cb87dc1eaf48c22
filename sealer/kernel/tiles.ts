import { HASH_BYTES } from '../../core/log/tree/hasher.ts'
import { FULL_TILE_BYTES, TILE_WIDTH, tileBytesFor } from '../../core/log/tree/tile.ts'
import { openKernel, type Kernel } from './kernel.ts'
import { WORKSPACE_AT } from './layout.ts'
import type { Module } from './webassembly.ts'

/** What the hashes of a row are made of: log entries, or nodes as they are. */
export type RowKind = 'entries' | 'nodes'

/** Bytes of a row that one full tile covers. */
export const TILE_ROW_BYTES = TILE_WIDTH * HASH_BYTES

const ROW_AT = WORKSPACE_AT
const TILE_AT = ROW_AT + TILE_ROW_BYTES

/** Makes tiles from and to any memory, shared or not, through a room of its own that stays in cache. */
export class TileHasher {
  readonly #kernel: Kernel
  readonly #bytes: Uint8Array

  constructor(module: Module) {
    const { kernel, bytes } = openKernel(module, TILE_ROW_BYTES + FULL_TILE_BYTES)
    this.#kernel = kernel
    this.#bytes = bytes
  }

  /** Writes the tiles over a row into `out`, which has at least their bytes, in the layout of core/log/tree/tile.ts. */
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

  /** Bottom-up, each row right after the one below while that is in cache. */
  #hashUpperRows(width: number): void {
    let row = TILE_AT
    for (let rowWidth = width; rowWidth > 1; rowWidth >>= 1) {
      const above = row + rowWidth * HASH_BYTES
      this.#kernel.hashNodes(row, above, rowWidth >> 1)
      row = above
    }
  }
}
