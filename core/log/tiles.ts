import { RegistryError, corrupt } from '../errors.ts'
import type { Stored, Key, RecordStore } from '../ports/index.ts'
import { BoundedMap } from '../store/bounded-map.ts'
import { logKeys } from './keys.ts'
import { type NodeId, type NodeSource, HASH_BYTES, leafHash } from './tree/hash.ts'
import {
  buildTile,
  nodeAt,
  tileOfNode,
  widthOf,
  rowPrefix,
  splitRow,
  TILE_WIDTH,
  type TilePosition,
} from './tree/tile.ts'
import { openingOfPayload } from './payload.ts'
import { lost, readOne } from '../store/read.ts'

/** Tiles to read, by their keys. */
type WantedTiles = ReadonlyMap<Key, Pick<TilePosition, 'tileLevel' | 'tileIndex'>>

/**
 * The tiles of the tree, with a bounded cache. Those of leaves are stored once they are full; until then they are made
 * from the entries of the log, also from those that are not sealed yet. A partial tile grows, but the nodes that it
 * already holds never change. So a cached partial tile stays correct, and is read again only if a node is requested
 * that it does not hold.
 */
export class StoredTiles {
  readonly #records: RecordStore
  readonly #cache: BoundedMap<Key, Uint8Array>
  /** The tile whose key was made last. */
  #last: { readonly level: number; readonly index: number; readonly key: Key } = { level: -1, index: -1, key: '' }

  /** @param maxCachedTiles How many tiles are kept in memory at most, each at most 16,352 bytes. At least 2. */
  constructor(records: RecordStore, maxCachedTiles: number) {
    this.#records = records
    this.#cache = new BoundedMap(maxCachedTiles)
  }

  /**
   * A tile with at least `width` hashes in row 0; `undefined` if it does not exist or is narrower. The bytes are those
   * of the cache and must not be changed.
   */
  async tile(level: number, index: number, width: number): Promise<Uint8Array | undefined> {
    const key = logKeys.tile(level, index)
    const cached = this.#cache.get(key)
    if (cached !== undefined && isWide(cached, width)) return cached
    const tile = (await this.#read(new Map([[key, { tileLevel: level, tileIndex: index }]]))).get(key)
    return tile !== undefined && isWide(tile, width) ? tile : undefined
  }

  /**
   * Reads `count` full or partial tiles from index `first` on, in one read that bypasses the cache. For readers of many
   * tiles. Throws `CORRUPT` if one is missing or damaged.
   */
  async range(level: number, first: number, count: number): Promise<readonly Uint8Array[]> {
    const keys = Array.from({ length: count }, (_, i) => logKeys.tile(level, first + i))
    const entries = await this.#records.get(keys)
    const tiles = entries.map(async (entry, i) => {
      const tile = entry === undefined ? await this.#made(keys[i] ?? '', level, first + i) : tileIn(entry)
      if (tile === undefined) throw corrupt(`Tile ${keys[i]} is missing`)
      return tile
    })
    return Promise.all(tiles)
  }

  /**
   * A source of these complete nodes. Tiles that are not cached are read in one read. The source throws `CORRUPT` for a
   * node that is not stored.
   */
  async nodes(ids: readonly NodeId[]): Promise<NodeSource> {
    const tiles = new Map<Key, Uint8Array>()
    const missing = new Map<Key, TilePosition>()
    for (const id of ids) {
      const key = this.#keyOf(id)
      const tile = tiles.get(key) ?? this.#cache.get(key)
      if (tile !== undefined && nodeIn(tile, id) !== undefined) tiles.set(key, tile)
      else missing.set(key, tileOfNode(id))
    }
    if (missing.size > 0) for (const [key, tile] of await this.#read(missing)) tiles.set(key, tile)
    return (id) => {
      const key = this.#keyOf(id)
      const node = nodeIn(tiles.get(key), id)
      if (node === undefined)
        throw new RegistryError(
          'CORRUPT',
          `Tile ${key} does not hold node ${id.level}/${id.index}: it is not sealed yet, or the store lost it`,
        )
      // A copy: the caller can then neither keep a whole tile in memory nor change the cache.
      return node.slice()
    }
  }

  /**
   * The key of a node's tile. Nodes that are requested together are often in one tile, and making the key is expensive.
   */
  #keyOf(id: NodeId): Key {
    const { tileLevel, tileIndex } = tileOfNode(id)
    if (tileLevel !== this.#last.level || tileIndex !== this.#last.index)
      this.#last = { level: tileLevel, index: tileIndex, key: logKeys.tile(tileLevel, tileIndex) }
    return this.#last.key
  }

  /** Those of these tiles that exist. */
  async #read(wanted: WantedTiles): Promise<ReadonlyMap<Key, Uint8Array>> {
    const tiles = new Map<Key, Uint8Array>()
    const entries = (await this.#records.get([...wanted.keys()])).values()
    for (const [key, { tileLevel, tileIndex }] of wanted) {
      const entry = entries.next().value
      const tile = entry === undefined ? await this.#made(key, tileLevel, tileIndex) : tileIn(entry)
      if (tile === undefined) continue
      tiles.set(key, tile)
      this.#cache.set(key, tile)
    }
    return tiles
  }

  /** The tile over the entries that the log has below it now. `undefined` if it has none, or for a higher level. */
  async #made(key: Key, level: number, index: number): Promise<Uint8Array | undefined> {
    if (level > 0) return undefined
    const entries = await this.#records.readLog(index * TILE_WIDTH, TILE_WIDTH)
    if (entries.length === 0) return undefined
    // Of many callers that wait for it after a batch, the first one makes it.
    const cached = this.#cache.get(key)
    if (cached !== undefined && isWide(cached, entries.length / HASH_BYTES)) return cached
    return buildTile(splitRow(entries).map(leafHash))
  }
}

const isWide = (tile: Uint8Array, width: number): boolean => (widthOf(tile) ?? 0) >= width

function tileIn({ key, value }: Stored): Uint8Array {
  if (widthOf(value) !== undefined) return value
  throw corrupt(`Tile ${key} has ${value.length} bytes, which is not the length of a tile`)
}

function nodeIn(tile: Uint8Array | undefined, id: NodeId): Uint8Array | undefined {
  const { row, offset } = tileOfNode(id)
  return tile && nodeAt(tile, row, offset)
}

/**
 * The sealed part of the log in tiles, as C2SP tlog-tiles defines them: hashes, entries and openings. What is beyond
 * the sealed tree is `undefined`. What the store has lost of it throws `CORRUPT`, so that it never looks absent.
 */
export class SealedTiles {
  readonly #records: RecordStore
  readonly #stored: StoredTiles

  constructor(records: RecordStore, stored: StoredTiles) {
    this.#records = records
    this.#stored = stored
  }

  /** The first `width` hashes of row 0 of a tile. */
  async hashes(level: number, index: number, width: number): Promise<Uint8Array | undefined> {
    if (!(await this.#isSealed(level, index, width))) return undefined
    const tile = await this.#stored.tile(level, index, width)
    if (tile === undefined) throw lost(`Tile ${logKeys.tile(level, index)}`)
    return rowPrefix(tile, width)?.slice()
  }

  /** The first `width` entries under tile `index`, packed (32 bytes each). */
  async packedEntries(index: number, width: number): Promise<Uint8Array | undefined> {
    if (!(await this.#isSealed(0, index, width))) return undefined
    const entries = await this.#records.readLog(index * TILE_WIDTH, width)
    if (entries.length !== width * HASH_BYTES) throw lost(`An entry from position ${index * TILE_WIDTH} on`)
    return entries
  }

  /** The same as an entry bundle: before each entry its length in two bytes, big-endian. */
  async entries(index: number, width: number): Promise<Uint8Array | undefined> {
    const packed = await this.packedEntries(index, width)
    if (packed === undefined) return undefined
    const out = new Uint8Array(width * (2 + HASH_BYTES))
    for (let i = 0; i < width; i++) {
      out[i * (2 + HASH_BYTES) + 1] = HASH_BYTES
      out.set(packed.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES), i * (2 + HASH_BYTES) + 2)
    }
    return out
  }

  /** The openings of the first `width` entries under tile `index`. */
  async openings(index: number, width: number): Promise<readonly Uint8Array[] | undefined> {
    if (!(await this.#isSealed(0, index, width))) return undefined
    const payloads = await this.#records.readPayloads(index * TILE_WIDTH, width)
    if (payloads.length !== width) throw lost(`An opening from position ${index * TILE_WIDTH} on`)
    return payloads.map(openingOfPayload)
  }

  async #isSealed(level: number, index: number, width: number): Promise<boolean> {
    const head = await readOne(this.#records, logKeys.treeHead())
    return index * TILE_WIDTH + width <= Math.floor((head?.size ?? 0) / TILE_WIDTH ** level)
  }
}
