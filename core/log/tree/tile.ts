import { HASH_BYTES } from './hasher.ts'
import type { NodeId } from './range.ts'

/**
 * Tiles: how the tree's nodes are stored. Tile (L, N) covers the 256 nodes of tree level 8·L from number 256·N, the tiles
 * of C2SP tlog-tiles with a height of 8. Its bytes are row 0, `w` hashes (1 <= w <= 256), then the complete nodes of each
 * row above, floor(w / 2^r) hashes in row r, up to row 8, which is one hash and only in a full tile. `w` follows from
 * the length. A tile at the right edge is partial: it is stored under the same key and overwritten as it grows; a full one
 * never changes. So a node that is there has its last value.
 *
 * The inner rows cost as many bytes again (64 B an event) and make a proof nine times cheaper than hashing row 0 each time.
 */

/** Nodes in row 0 of a full tile. */
export const TILE_WIDTH = 256
/** Rows above row 0; the tree levels from one tile level to the next. */
export const TILE_HEIGHT = 8

/** Where a node is stored. */
export interface TilePosition {
  readonly tileLevel: number
  readonly tileIndex: number
  readonly row: number
  readonly offset: number
}

/** Hashes in row `row` of a tile with `width` hashes in row 0. */
const rowWidth = (width: number, row: number): number => width >> row

/** Hashes before row `row`. */
function rowStart(width: number, row: number): number {
  let start = 0
  for (let r = 0; r < row; r++) start += rowWidth(width, r)
  return start
}

/** Bytes of a stored tile with `width` hashes in row 0. Requires 0 <= width <= 256. */
export const tileBytesFor = (width: number): number => rowStart(width, TILE_HEIGHT + 1) * HASH_BYTES

export const FULL_TILE_BYTES = tileBytesFor(TILE_WIDTH)

const widthByBytes = new Map(Array.from({ length: TILE_WIDTH + 1 }, (_, width) => [tileBytesFor(width), width]))

/** The width of a stored tile; `undefined` where bytes of this length are none. */
export function widthOf(tile: Uint8Array): number | undefined {
  const width = widthByBytes.get(tile.length)
  return width === 0 ? undefined : width
}

/** The tile and place that hold a node. A node that is the top of one tile is taken from row 0 of the tile above. */
export function tileOfNode({ level, index }: NodeId): TilePosition {
  const row = level % TILE_HEIGHT
  const width = rowWidth(TILE_WIDTH, row)
  return {
    tileLevel: Math.floor(level / TILE_HEIGHT),
    tileIndex: Math.floor(index / width),
    row,
    offset: index % width,
  }
}

/** A node of a stored tile, a view of its bytes; `undefined` where the tile does not hold it (yet). */
export function nodeAt(tile: Uint8Array, row: number, offset: number): Uint8Array | undefined {
  const width = widthOf(tile)
  if (width === undefined || offset >= rowWidth(width, row)) return undefined
  const at = (rowStart(width, row) + offset) * HASH_BYTES
  return tile.subarray(at, at + HASH_BYTES)
}

/** The first `width` hashes of row 0, as C2SP serves a tile; `undefined` where the tile is narrower. */
export function rowPrefix(tile: Uint8Array, width: number): Uint8Array | undefined {
  const stored = widthOf(tile)
  return stored === undefined || width > stored ? undefined : tile.subarray(0, width * HASH_BYTES)
}

/** Bytes of the tiles over a row of `count` hashes, one after the other: all full but the last. */
export const tilesBytesFor = (count: number): number =>
  Math.floor(count / TILE_WIDTH) * FULL_TILE_BYTES + tileBytesFor(count % TILE_WIDTH)

/** Cuts joined tiles over a row of `count` hashes apart, as views. */
export function splitTiles(tiles: Uint8Array, count: number): readonly Uint8Array[] {
  const out: Uint8Array[] = []
  for (let at = 0; at < tiles.length; at += FULL_TILE_BYTES) out.push(tiles.subarray(at, at + FULL_TILE_BYTES))
  if (tiles.length !== tilesBytesFor(count))
    throw new RangeError(`${tiles.length} bytes are not the tiles of ${count} hashes`)
  return out
}

/** Tile levels that a tree of `size` leaves has. */
export function tileLevelsOf(size: number): number {
  let levels = 0
  for (let count = size; count > 0; count = Math.floor(count / TILE_WIDTH)) levels++
  return levels
}
