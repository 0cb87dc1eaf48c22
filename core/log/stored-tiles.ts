import { RegistryError } from '../errors.ts'
import { logKeys } from './keys.ts'
import type { Entry, Key, RecordStore } from '../ports.ts'
import type { NodeId, NodeSource } from './tree/range.ts'
import { nodeAt, tileOfNode, widthOf } from './tree/tile.ts'

/**
 * The tree's tiles as they are stored, with a bounded cache of those used last. A partial tile grows, but the nodes that it holds
 * are complete and never change, so a cached one is good for all that it holds and read again for more.
 */
export class StoredTiles {
  readonly #records: RecordStore
  readonly #maxCached: number
  /** In the order of last use. */
  readonly #cache = new Map<Key, Uint8Array>()
  /** The tile whose key was made last. */
  #last: { readonly level: number; readonly index: number; readonly key: Key } = { level: -1, index: -1, key: '' }

  constructor(records: RecordStore, maxCached: number) {
    this.#records = records
    this.#maxCached = maxCached
  }

  /** A tile with at least `width` hashes in row 0, not to be changed; `undefined` where there is none. */
  async tile(level: number, index: number, width: number): Promise<Uint8Array | undefined> {
    const key = logKeys.tile(level, index)
    const tile = await this.#get([{ key, isEnough: (cached) => (widthOf(cached) ?? 0) >= width }])
    const found = tile.get(key)
    return found !== undefined && (widthOf(found) ?? 0) >= width ? found : undefined
  }

  /** Full or partial tiles from `first` on, one read and past the cache: for readers of many. Throws `CORRUPT` where one is missing. */
  async range(level: number, first: number, count: number): Promise<readonly Uint8Array[]> {
    const wanted = Array.from({ length: count }, (_, i) => logKeys.tile(level, first + i))
    const entries = await this.#records.get(wanted)
    return entries.map((entry, i) => {
      if (entry === undefined)
        throw new RegistryError('CORRUPT', `Tile ${wanted[i]} is gone: restore the store from a backup`)
      assertTile(entry)
      return entry.value
    })
  }

  /**
   * These complete nodes, from one read of the tiles that are not cached. The source throws `CORRUPT` for a node that is not stored.
   */
  async nodes(places: readonly NodeId[]): Promise<NodeSource> {
    const wanted = new Map<Key, NodeId[]>()
    for (const place of places) {
      const key = this.#keyOf(place)
      const others = wanted.get(key)
      if (others === undefined) wanted.set(key, [place])
      else others.push(place)
    }
    const tiles = await this.#get(
      Array.from(wanted, ([key, inTile]) => ({
        key,
        isEnough: (tile) => inTile.every((place) => nodeIn(tile, place) !== undefined),
      })),
    )
    return (place) => {
      const key = this.#keyOf(place)
      const node = nodeIn(tiles.get(key), place)
      if (node === undefined)
        throw new RegistryError(
          'CORRUPT',
          `Tile ${key} does not hold node ${place.level}/${place.index}: it is not sealed yet, or the store lost it`,
        )
      // A copy: what is handed out neither keeps a whole tile alive nor reaches the cache.
      return node.slice()
    }
  }

  /** The key of a node's tile. Of nodes asked for together many are in one tile, and making its key costs more than all else. */
  #keyOf(place: NodeId): Key {
    const { tileLevel, tileIndex } = tileOfNode(place)
    if (tileLevel !== this.#last.level || tileIndex !== this.#last.index)
      this.#last = { level: tileLevel, index: tileIndex, key: logKeys.tile(tileLevel, tileIndex) }
    return this.#last.key
  }

  async #get(
    wanted: readonly { readonly key: Key; readonly isEnough: (tile: Uint8Array) => boolean }[],
  ): Promise<ReadonlyMap<Key, Uint8Array>> {
    const tiles = new Map<Key, Uint8Array>()
    const missing: Key[] = []
    for (const { key, isEnough } of wanted) {
      const cached = this.#cache.get(key)
      if (cached !== undefined && isEnough(cached)) {
        tiles.set(key, cached)
        this.#keep(key, cached)
      } else missing.push(key)
    }
    if (missing.length === 0) return tiles
    for (const entry of await this.#records.get(missing)) {
      if (entry === undefined) continue
      assertTile(entry)
      tiles.set(entry.key, entry.value)
      this.#keep(entry.key, entry.value)
    }
    return tiles
  }

  #keep(key: Key, tile: Uint8Array): void {
    this.#cache.delete(key)
    this.#cache.set(key, tile)
    if (this.#cache.size > this.#maxCached) {
      const [oldest] = this.#cache.keys()
      if (oldest !== undefined) this.#cache.delete(oldest)
    }
  }
}

function assertTile({ key, value }: Entry): void {
  if (widthOf(value) === undefined)
    throw new RegistryError('CORRUPT', `Tile ${key} has a length that no tile has: restore the store from a backup`)
}

function nodeIn(tile: Uint8Array | undefined, place: NodeId): Uint8Array | undefined {
  const { row, offset } = tileOfNode(place)
  return tile && nodeAt(tile, row, offset)
}
