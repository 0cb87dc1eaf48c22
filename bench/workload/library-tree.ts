import { MemoryRecords } from '../../adapters/memory/index.ts'
import { toHex } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import { LogReader } from '../../core/log/reader.ts'
import { versionOf } from '../../core/store/commit-plan.ts'
import { encodeRecord } from '../../core/store/codec.ts'
import type { Stored, Key, RecordStore, TreeEngine } from '../../core/ports/index.ts'
import { nodeAt, TILE_HEIGHT } from '../../core/log/tree/tile.ts'
import { InlineEngine, PoolEngine, writeBatchProofs, type WriteBatchProofsRequest } from '../../sealer/index.ts'
import { countEntries, type BuiltTree, type TreeBuilder } from './tree-builder.ts'

/** Builds the tiles of every level from packed entries, as sealing does. Together they hold all nodes of the tree. */
export async function buildTiles(engine: TreeEngine, entries: Uint8Array): Promise<readonly (readonly Uint8Array[])[]> {
  const levels: (readonly Uint8Array[])[] = []
  let row = entries
  for (let kind: 'entries' | 'nodes' = 'entries'; row.length > 0; kind = 'nodes') {
    const tiles = await engine.tiles(row, kind)
    levels.push(tiles)
    const tops = tiles.map((tile) => nodeAt(tile, TILE_HEIGHT, 0)).filter((top) => top !== undefined)
    row = Buffer.concat(tops)
  }
  return levels
}

function rootOf(levels: readonly (readonly Uint8Array[])[]): string {
  const last = levels.at(-1)?.[0]
  if (last === undefined) throw new Error('a tree must have at least one tile')
  // The last hash of the highest tile is the root.
  return toHex(last.subarray(-32))
}

const BATCH = '01938000-0000-7000-8000-000000000000'

async function build(engine: TreeEngine, entries: Uint8Array): Promise<BuiltTree> {
  const levels = await buildTiles(engine, entries)
  let log: WriteBatchProofsRequest['log'] | undefined
  return {
    root: rootOf(levels),
    async prepareProofs() {
      const reader = new LogReader(await storeTiles(levels, countEntries(entries)))
      log = { batchById: (id) => reader.batchById(id), proofBlocks: (range) => reader.tree.proofBlocks(range) }
    },
    async makeProofs(reader) {
      if (log === undefined) throw new Error('prepareProofs must be called first')
      await writeBatchProofs({ log, batchId: BATCH, write: ({ bytes }) => reader.readPacked(bytes) })
    },
  }
}

const ANY_VERSION = versionOf(1)

/**
 * The tiles of one sealed batch in memory, which is all that packed proofs are made from. Tiles are returned without a
 * copy: the other packages also read from trees in memory, and the cost of a store is not measured here.
 */
class TilesInMemory extends MemoryRecords {
  readonly #tiles = new Map<Key, Stored>()

  putTile(key: Key, value: Uint8Array): void {
    this.#tiles.set(key, { key, value, version: ANY_VERSION })
  }

  override async get(requested: readonly Key[]): Promise<readonly (Stored | undefined)[]> {
    const tiles = requested.map((key) => this.#tiles.get(key))
    return tiles.includes(undefined) ? super.get(requested) : tiles
  }
}

async function storeTiles(levels: readonly (readonly Uint8Array[])[], end: number): Promise<RecordStore> {
  const records = new TilesInMemory()
  for (const [level, tiles] of levels.entries())
    for (const [i, tile] of tiles.entries()) records.putTile(logKeys.tile(level, i), tile)
  const batch = { id: BATCH, start: 0, end, root: rootOf(levels), createdAt: 0, previous: null }
  await records.commit({
    writes: [
      { key: logKeys.batchById(BATCH), value: encodeRecord({ end }) },
      { key: logKeys.batch(end), value: encodeRecord(batch) },
    ],
  })
  return records
}

const builderOf = (name: string, engine: TreeEngine): TreeBuilder => ({
  name,
  build: (entries) => build(engine, entries),
  close: () => engine.close(),
})

/** This library's engine in the calling thread. */
export const libraryInline = (): TreeBuilder => builderOf('this library, 1 thread', new InlineEngine())

/** This library's engine with worker threads; by default as many as it uses for sealing. */
export const libraryPooled = (threads?: number): TreeBuilder =>
  threads === undefined
    ? builderOf('this library, default workers', new PoolEngine())
    : builderOf(`this library, ${threads} workers`, new PoolEngine({ maxThreads: threads }))
