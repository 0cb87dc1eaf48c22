import { toHex } from '../core/bytes.ts'
import { corrupt, isRegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { TreeHeadRecord } from '../core/log/records.ts'
import { StoredTiles } from '../core/log/tiles.ts'
import { emptyRoot, HASH_BYTES, nodesOfRange, rangeHash, type NodeId } from '../core/log/tree/hash.ts'
import { nodeAt, rowPrefix, TILE_HEIGHT, TILE_WIDTH, tileOfNode } from '../core/log/tree/tile.ts'
import type { Key, SealerHost, TreeEngine } from '../core/ports/index.ts'
import { InlineEngine } from './engine/engines.ts'

/** What a batch adds to the tree. */
export interface Integration {
  /** Every stored tile that is new or grew, by its key. */
  readonly tiles: ReadonlyMap<Key, Uint8Array>
  /** The root at the new size, 32 bytes. */
  readonly root: Uint8Array
}

/** Leaf tiles that are hashed before their batch starts. */
interface PrecomputedTiles {
  readonly oldSize: number
  readonly newSize: number
  readonly tiles: Promise<readonly Uint8Array[]>
}

/** Integrating reads the tiles of the tree's right edge each time, two per level. */
const CACHED_TILES = 16

/** Hashes new entries of the log into the tree. Stores nothing. */
export class Integrator {
  readonly #host: Pick<SealerHost, 'records' | 'logger'>
  readonly #engine: TreeEngine
  readonly #inline = new InlineEngine()
  readonly #stored: StoredTiles
  /** The leaf tiles of a backlog's next batch. */
  #precomputed: PrecomputedTiles | undefined

  constructor(host: Pick<SealerHost, 'records' | 'logger'>, engine: TreeEngine) {
    this.#host = host
    this.#engine = engine
    this.#stored = new StoredTiles(host.records, CACHED_TILES)
  }

  /**
   * Integrates the entries from the head's size to `newSize`. Reads one partial tile per level, that of the leaves as
   * entries, so k entries in a tree of n cost O(k + log n). If a worker fails, hashes again in this thread: a machine
   * that cannot run workers still seals.
   *
   * @throws RegistryError `CORRUPT` if the new tiles do not also produce the head's root. So the old entries in them
   *   are proven to be unchanged.
   */
  async integrate(head: Pick<TreeHeadRecord, 'size' | 'root'>, newSize: number): Promise<Integration> {
    const { oldSize, newSize: size, tiles } = this.#precomputed ?? {}
    this.#precomputed = undefined
    const precomputed = oldSize === head.size && size === newSize ? tiles : undefined
    try {
      return await this.#grow(head, newSize, this.#engine, precomputed)
    } catch (error) {
      if (!isRegistryError(error, 'ENGINE_FAILED')) throw error
      this.#host.logger.warn({ err: error }, 'the sealing pool failed: this batch is hashed without it')
      return this.#grow(head, newSize, this.#inline)
    }
  }

  /**
   * Hashes the leaf tiles of a backlog's next batch while this batch is committed and signed. The entries of the log
   * never change, so the tiles stay correct. They are used if the next batch has this range.
   */
  precompute(oldSize: number, newSize: number): void {
    const tiles = this.#leafTiles(oldSize, newSize, this.#engine)
    // The error is thrown where the tiles are used.
    tiles.catch(() => {})
    this.#precomputed = { oldSize, newSize, tiles }
  }

  /** Waits for the precomputed tiles, so that nothing reads the store afterwards. */
  async close(): Promise<void> {
    await this.#precomputed?.tiles.catch(() => {})
    this.#precomputed = undefined
  }

  /** The tiles over the log's entries from the start of the old tree's last tile, which has at most 255 of them. */
  async #leafTiles(oldSize: number, newSize: number, engine: TreeEngine): Promise<readonly Uint8Array[]> {
    const start = Math.floor(oldSize / TILE_WIDTH) * TILE_WIDTH
    return engine.tiles(await this.#host.records.readLog(start, newSize - start), 'entries')
  }

  /** Builds the new tiles level by level, each from the tops of the tiles below. */
  async #grow(
    head: Pick<TreeHeadRecord, 'size' | 'root'>,
    newSize: number,
    engine: TreeEngine,
    leafTiles = this.#leafTiles(head.size, newSize, engine),
  ): Promise<Integration> {
    const tiles = new Map<Key, Uint8Array>()
    let built = await leafTiles
    let [oldCount, newCount] = [head.size, newSize]
    for (let level = 0; newCount > oldCount; level++) {
      const first = Math.floor(oldCount / TILE_WIDTH)
      for (const [i, tile] of built.entries()) tiles.set(logKeys.tile(level, first + i), tile)
      ;[oldCount, newCount] = [first, Math.floor(newCount / TILE_WIDTH)]
      if (newCount > oldCount) built = await engine.tiles(await this.#rowAbove(level + 1, oldCount, built), 'nodes')
    }
    const root = await this.#rootFrom(tiles, newSize)
    if (toHex(await this.#rootFrom(tiles, head.size)) !== head.root)
      throw corrupt(`The log's entries before ${head.size} are not the sealed ones`)
    // Stored in each batch, the partial tile of leaves would be most of what sealing writes.
    if (newSize % TILE_WIDTH > 0) tiles.delete(logKeys.tile(0, Math.floor(newSize / TILE_WIDTH)))
    return { tiles, root }
  }

  /**
   * The row of a level from the start of its last old tile: the hashes in that tile, then the tops of the full tiles
   * below.
   */
  async #rowAbove(level: number, oldCount: number, tilesBelow: readonly Uint8Array[]): Promise<Uint8Array> {
    const before = await this.#rowBefore(level, oldCount)
    const tops = tilesBelow.map((tile) => nodeAt(tile, TILE_HEIGHT, 0)).filter((top) => top !== undefined)
    const row = new Uint8Array(before.length + tops.length * HASH_BYTES)
    row.set(before)
    for (const [i, top] of tops.entries()) row.set(top, before.length + i * HASH_BYTES)
    return row
  }

  /** The hashes in the partial tile at the right edge of a level that has `count` hashes. */
  async #rowBefore(level: number, count: number): Promise<Uint8Array> {
    const width = count % TILE_WIDTH
    if (width === 0) return new Uint8Array()
    const tile = await this.#stored.tile(level, Math.floor(count / TILE_WIDTH), width)
    const row = tile && rowPrefix(tile, width)
    if (row === undefined) throw corrupt(`A tile of level ${level} is missing or too short`)
    return row
  }

  /** The root at a size, from the new tiles and, for nodes outside them, the stored tiles. */
  async #rootFrom(tiles: ReadonlyMap<Key, Uint8Array>, size: number): Promise<Uint8Array> {
    if (size === 0) return emptyRoot()
    const range = { start: 0, end: size }
    const newNode = (node: NodeId): Uint8Array | undefined => {
      const { tileLevel, tileIndex, row, offset } = tileOfNode(node)
      const tile = tiles.get(logKeys.tile(tileLevel, tileIndex))
      return tile && nodeAt(tile, row, offset)
    }
    const storedNode = await this.#stored.nodes(nodesOfRange(range).filter((node) => newNode(node) === undefined))
    return rangeHash(range, (node) => newNode(node) ?? storedNode(node))
  }
}
