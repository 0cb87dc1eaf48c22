import { equalBytes } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { StoredTiles } from '../core/log/stored-tiles.ts'
import type { Key, TreeEngine } from '../core/ports.ts'
import { emptyRoot, HASH_BYTES } from '../core/log/tree/hasher.ts'
import { nodesOfRange, rangeHash, type NodeId } from '../core/log/tree/range.ts'
import { nodeAt, rowPrefix, TILE_HEIGHT, TILE_WIDTH, tileOfNode } from '../core/log/tree/tile.ts'

/** What a batch adds to the tree. */
export interface Integration {
  /** Every tile that is new or grew, by its key. */
  readonly tiles: ReadonlyMap<Key, Uint8Array>
  /** The root at the new size, 32 bytes. */
  readonly root: Uint8Array
}

/** The place in the log from which `growTree` wants leaf tiles: the beginning of the old tree's last tile. */
export const integrationStart = (oldSize: number): number => Math.floor(oldSize / TILE_WIDTH) * TILE_WIDTH

export interface IntegrateRequest {
  readonly oldSize: number
  /** 32 bytes. */
  readonly oldRoot: Uint8Array
  readonly newSize: number
  /** The tiles over the log's entries from `growthStart(oldSize)` to `newSize`. */
  readonly leafTiles: readonly Uint8Array[]
}

/**
 * Grows the tree from one size to a larger one, from the new entries' leaf tiles, which begin with at most 255 old ones. Reads one
 * partial tile a level, so all is O(k + log n). Those 255 are checked on the way: the old root must come out of the new tiles, else
 * `CORRUPT`.
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
    throw new RegistryError(
      'CORRUPT',
      `The log's entries before ${oldSize} are no longer those that were sealed: restore the store from a backup`,
    )
  return { tiles, root }
}

/** The row of a level from the beginning of its last old tile: what that tile holds, then the tops of the full tiles below. */
async function rowAbove(
  stored: StoredTiles,
  level: number,
  oldCount: number,
  below: readonly Uint8Array[],
): Promise<Uint8Array> {
  const before = await rowBefore(stored, level, oldCount)
  const tops = below.map((tile) => nodeAt(tile, TILE_HEIGHT, 0)).filter((top) => top !== undefined)
  const row = new Uint8Array(before.length + tops.length * HASH_BYTES)
  row.set(before)
  for (const [i, top] of tops.entries()) row.set(top, before.length + i * HASH_BYTES)
  return row
}

/** The hashes that the partial tile at the edge of a level holds already, `count` being all of that level. */
async function rowBefore(stored: StoredTiles, level: number, count: number): Promise<Uint8Array> {
  const width = count % TILE_WIDTH
  if (width === 0) return new Uint8Array()
  const tile = await stored.tile(level, Math.floor(count / TILE_WIDTH), width)
  if (tile === undefined)
    throw new RegistryError('CORRUPT', `A tile of level ${level} is gone: restore the store from a backup`)
  return rowPrefix(tile, width) as Uint8Array
}

/** The root at a size, from the tiles in hand and, for what they do not touch, the stored ones. */
async function rootFrom(tiles: ReadonlyMap<Key, Uint8Array>, stored: StoredTiles, size: number): Promise<Uint8Array> {
  if (size === 0) return emptyRoot()
  const range = { start: 0, end: size }
  const inHand = (place: NodeId): Uint8Array | undefined => {
    const { tileLevel, tileIndex, row, offset } = tileOfNode(place)
    const tile = tiles.get(logKeys.tile(tileLevel, tileIndex))
    return tile && nodeAt(tile, row, offset)
  }
  const others = await stored.nodes(nodesOfRange(range).filter((place) => inHand(place) === undefined))
  return rangeHash(range, (place) => inHand(place) ?? others(place))
}
