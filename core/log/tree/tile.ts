import { concatBytes } from '../../bytes.ts'
import { HASH_BYTES, nodeHash, type NodeId } from './hash.ts'

/**
 * Tiles: how the nodes of the tree are stored. Tile (L, N) covers the 256 nodes of tree level 8·L from index 256·N,
 * like a tile of height 8 in C2SP tlog-tiles. Its bytes are:
 *
 * - row 0: `w` hashes, 1 <= w <= 256,
 * - row r, up to 8: the complete nodes above, floor(w / 2^r) hashes. Row 8 is one hash and exists only in a full tile.
 *
 * `w` follows from the number of bytes. A tile at the right edge of the tree is partial. That of leaves would change
 * with every batch, so it is not stored: readers make it from the entries of the log. The others are stored under the
 * same key and overwritten as they grow. A full tile never changes, and a node in a tile never changes either.
 *
 * The inner rows double the size (64 bytes for each leaf) and make a proof nine times cheaper than hashing row 0 each
 * time.
 *
 * With a width of 4 instead of 256, and so a height of 2, the tree of 7 leaves (drawn in `range.ts`) is in three tiles.
 * The top of a full tile is again a node of row 0 of the tile above.
 *
 *     tile (1, 0)           k              row 0: k, at tree level 2
 *
 *                         ┌ k ─────────┐ ┌ · ─────────┐
 *     tile (0, 0)  row 2  │     k      │ │            │  tile (0, 1) is partial: w = 3
 *                  row 1  │  g     h   │ │  i         │  bytes of tile (0, 0): a b c d g h k
 *                  row 0  │ a b   c d  │ │ e f   j    │  bytes of tile (0, 1): e f j i
 *                         └────────────┘ └────────────┘
 */

/** Nodes in row 0 of a full tile. */
export const TILE_WIDTH = 256
/** Rows above row 0. Also the number of tree levels from one tile level to the next. */
export const TILE_HEIGHT = 8

/** Where a node is stored. */
export interface TilePosition {
  readonly tileLevel: number
  readonly tileIndex: number
  readonly row: number
  /** Index of the node in its row. */
  readonly offset: number
}

/** How many hashes row `row` has, in a tile with `width` hashes in row 0. */
const rowWidth = (width: number, row: number): number => width >> row

/** How many hashes are before row `row`. */
function rowStart(width: number, row: number): number {
  let start = 0
  for (let r = 0; r < row; r++) start += rowWidth(width, r)
  return start
}

/** Bytes of a tile with `width` hashes in row 0. Requires 0 <= width <= 256. */
export const tileBytesFor = (width: number): number => rowStart(width, TILE_HEIGHT + 1) * HASH_BYTES

/** Bytes of a full tile. */
export const FULL_TILE_BYTES = tileBytesFor(TILE_WIDTH)

const widthByBytes = new Map(Array.from({ length: TILE_WIDTH + 1 }, (_, width) => [tileBytesFor(width), width]))

/** How many hashes row 0 of a tile has; `undefined` if no tile has this many bytes. */
export function widthOf(tile: Uint8Array): number | undefined {
  const width = widthByBytes.get(tile.length)
  return width === 0 ? undefined : width
}

/** The tile and position of a node. The top node of a tile is found in row 0 of the tile above. */
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

/** A node of a tile, as a view of its bytes; `undefined` if the tile does not hold it (yet). */
export function nodeAt(tile: Uint8Array, row: number, offset: number): Uint8Array | undefined {
  const width = widthOf(tile)
  if (width === undefined || offset >= rowWidth(width, row)) return undefined
  const at = (rowStart(width, row) + offset) * HASH_BYTES
  return tile.subarray(at, at + HASH_BYTES)
}

/** The first `width` hashes of row 0, which is what C2SP tlog-tiles serves; `undefined` if the tile is narrower. */
export function rowPrefix(tile: Uint8Array, width: number): Uint8Array | undefined {
  const stored = widthOf(tile)
  return stored === undefined || width > stored ? undefined : tile.subarray(0, width * HASH_BYTES)
}

/** Splits packed hashes or entries, as views. */
export function splitRow(packed: Uint8Array): readonly Uint8Array[] {
  const row: Uint8Array[] = []
  for (let at = 0; at < packed.length; at += HASH_BYTES) row.push(packed.subarray(at, at + HASH_BYTES))
  return row
}

/** Builds the tile whose row 0 is these hashes. Throws a `RangeError` unless there are 1 to 256. */
export function buildTile(row: readonly Uint8Array[]): Uint8Array {
  if (row.length < 1 || row.length > TILE_WIDTH)
    throw new RangeError(`A tile has 1 to ${TILE_WIDTH} hashes in row 0, got ${row.length}`)
  const rows: (readonly Uint8Array[])[] = []
  for (let current = row; current.length > 0; current = rowAbove(current)) rows.push(current)
  return concatBytes(...rows.flat())
}

function rowAbove(row: readonly Uint8Array[]): readonly Uint8Array[] {
  const above: Uint8Array[] = []
  for (let i = 1; i < row.length; i += 2) {
    const [left, right] = [row[i - 1], row[i]]
    if (left !== undefined && right !== undefined) above.push(nodeHash(left, right))
  }
  return above
}

/** Bytes of the tiles over a row of `count` hashes, joined: all full except the last. */
export const tilesBytesFor = (count: number): number =>
  Math.floor(count / TILE_WIDTH) * FULL_TILE_BYTES + tileBytesFor(count % TILE_WIDTH)

/**
 * Splits joined tiles over a row of `count` hashes, as views. Throws a `RangeError` if the number of bytes is wrong.
 */
export function splitTiles(tiles: Uint8Array, count: number): readonly Uint8Array[] {
  if (tiles.length !== tilesBytesFor(count))
    throw new RangeError(`The tiles of ${count} hashes have ${tilesBytesFor(count)} bytes, got ${tiles.length}`)
  const out: Uint8Array[] = []
  for (let at = 0; at < tiles.length; at += FULL_TILE_BYTES) out.push(tiles.subarray(at, at + FULL_TILE_BYTES))
  return out
}

/** How many levels of tiles a tree of `size` leaves has. */
export function tileLevelsOf(size: number): number {
  let levels = 0
  for (let count = size; count > 0; count = Math.floor(count / TILE_WIDTH)) levels++
  return levels
}
