import { equalBytes } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { StoredTiles } from '../core/log/tiles.ts'
import { emptyRoot, HASH_BYTES } from '../core/log/tree/hasher.ts'
import { nodesOfRange, rangeHash, type NodeId } from '../core/log/tree/range.ts'
import { nodeAt, rowPrefix, TILE_HEIGHT, TILE_WIDTH, tileOfNode } from '../core/log/tree/tile.ts'
import type { Key, TreeEngine } from '../core/ports/index.ts'

/** What a batch adds to the tree. */
export interface Integration {
  /** Every tile that is new or grew, by its key. */
  readonly tiles: ReadonlyMap<Key, Uint8Array>
  /** The root at the new size, 32 bytes. */
  readonly root: Uint8Array
}

/** The log index where the leaf tiles of `integrate` start: the start of the last tile of the old tree. */
export const integrationStart = (oldSize: number): number => Math.floor(oldSize / TILE_WIDTH) * TILE_WIDTH

/** The input of `integrate`. */
interface IntegrateRequest {
  readonly oldSize: number
  /** 32 bytes. */
  readonly oldRoot: Uint8Array
  readonly newSize: number
  /** The tiles over the log's entries from `integrationStart(oldSize)` to `newSize`. */
  readonly leafTiles: readonly Uint8Array[]
}

/**
 * Integrates new entries into the tree, from their leaf tiles, which start with at most 255 old entries. Reads one
 * partial tile per level, so k entries in a tree of n cost O(k + log n). The new tiles must also produce the old root,
 * which proves that the old entries in them are unchanged: else throws `CORRUPT`.
 */
export async function integrate(
  request: IntegrateRequest,
  stored: StoredTiles,
  engine: TreeEngine,
): Promise<Integration> {
  const { oldSize, newSize } = request
  const tiles = new Map<Key, Uint8Array>()
  let built = request.leafTiles
  let [oldCount, newCount] = [oldSize, newSize]
  for (let level = 0; newCount > oldCount; level++) {
    const first = Math.floor(oldCount / TILE_WIDTH)
    for (const [i, tile] of built.entries()) tiles.set(logKeys.tile(level, first + i), tile)
    ;[oldCount, newCount] = [first, Math.floor(newCount / TILE_WIDTH)]
    if (newCount > oldCount) built = await engine.tiles(await rowAbove(stored, level + 1, oldCount, built), 'nodes')
  }
  const root = await rootFrom(tiles, stored, newSize)
  if (!equalBytes(await rootFrom(tiles, stored, oldSize), request.oldRoot))
    throw corruptError(`The log's entries before ${oldSize} are not the sealed ones`)
  return { tiles, root }
}

const corruptError = (what: string): RegistryError =>
  new RegistryError('CORRUPT', `${what}: restore the store from a backup`)

/**
 * The row of a level from the start of its last old tile: the hashes in that tile, then the tops of the full tiles
 * below.
 */
async function rowAbove(
  stored: StoredTiles,
  level: number,
  oldCount: number,
  tilesBelow: readonly Uint8Array[],
): Promise<Uint8Array> {
  const before = await rowBefore(stored, level, oldCount)
  const tops = tilesBelow.map((tile) => nodeAt(tile, TILE_HEIGHT, 0)).filter((top) => top !== undefined)
  const row = new Uint8Array(before.length + tops.length * HASH_BYTES)
  row.set(before)
  for (const [i, top] of tops.entries()) row.set(top, before.length + i * HASH_BYTES)
  return row
}

/** The hashes in the partial tile at the right edge of a level that has `count` hashes. */
async function rowBefore(stored: StoredTiles, level: number, count: number): Promise<Uint8Array> {
  const width = count % TILE_WIDTH
  if (width === 0) return new Uint8Array()
  const tile = await stored.tile(level, Math.floor(count / TILE_WIDTH), width)
  const row = tile && rowPrefix(tile, width)
  if (row === undefined) throw corruptError(`A tile of level ${level} is missing or too short`)
  return row
}

/** The root at a size, from the new tiles and, for nodes outside them, the stored tiles. */
async function rootFrom(tiles: ReadonlyMap<Key, Uint8Array>, stored: StoredTiles, size: number): Promise<Uint8Array> {
  if (size === 0) return emptyRoot()
  const range = { start: 0, end: size }
  const newNode = (node: NodeId): Uint8Array | undefined => {
    const { tileLevel, tileIndex, row, offset } = tileOfNode(node)
    const tile = tiles.get(logKeys.tile(tileLevel, tileIndex))
    return tile && nodeAt(tile, row, offset)
  }
  const storedNode = await stored.nodes(nodesOfRange(range).filter((node) => newNode(node) === undefined))
  return rangeHash(range, (node) => newNode(node) ?? storedNode(node))
}
