import { HASH_BYTES } from '../../core/tree/hasher.ts'
import { FULL_TILE_BYTES, TILE_WIDTH, tileBytesFor } from '../../core/tree/tile.ts'
import { hashLeaves, hashNodes } from './kernel.ts'

/** What the hashes of a row are made of: log entries, or nodes as they are. */
export type RowKind = 'entries' | 'nodes'

/** Bytes of a row that one full tile covers. */
export const TILE_ROW_BYTES = TILE_WIDTH * HASH_BYTES

/** Hashes in a packed row. Throws a RangeError where it is not made of 32-byte pieces. */
export function countOf(row: Uint8Array): number {
  if (row.length % HASH_BYTES !== 0)
    throw new RangeError(`A row is made of ${HASH_BYTES}-byte hashes, not of ${row.length} bytes`)
  return row.length / HASH_BYTES
}

/** Writes the tiles over a row into `out`, which has exactly their bytes, in the layout of core/tree/tile.ts. */
export function buildTiles(row: Uint8Array, kind: RowKind, out: Uint8Array): void {
  for (let from = 0, at = 0; from < row.length; from += TILE_ROW_BYTES, at += FULL_TILE_BYTES) {
    const piece = row.subarray(from, from + TILE_ROW_BYTES)
    buildTile(piece, kind, out.subarray(at, at + tileBytesFor(countOf(piece))))
  }
}

/** Bottom-up, each row right after the one below while that is in cache. */
function buildTile(row: Uint8Array, kind: RowKind, tile: Uint8Array): void {
  if (kind === 'entries') hashLeaves(row, tile.subarray(0, row.length))
  else tile.set(row)
  let start = 0
  for (let width = countOf(row); width > 1; width >>= 1) {
    const end = start + width * HASH_BYTES
    hashNodes(tile.subarray(start, end), tile.subarray(end, end + (width >> 1) * HASH_BYTES))
    start = end
  }
}
