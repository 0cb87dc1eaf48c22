import { MemoryRecords } from '../../adapters/memory/index.ts'
import { toHex } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import { LogReader } from '../../core/log/reader.ts'
import { encodeRecord } from '../../core/store/record-codec.ts'
import type { Entry, Key, RecordStore, TreeEngine, Version } from '../../core/ports.ts'
import { nodeAt, TILE_HEIGHT } from '../../core/log/tree/tile.ts'
import { InlineEngine, PoolEngine, writeBatchProofs } from '../../sealer/index.ts'
import { countOf, type Contestant, type Tree } from './tree-builder.ts'

/** The tiles of every level over packed entries, level by level, as sealing makes them: all nodes of the tree. */
export async function hashTree(engine: TreeEngine, entries: Uint8Array): Promise<readonly (readonly Uint8Array[])[]> {
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
  if (last === undefined) throw new Error('a tree has at least one tile')
  // The last hash of the highest tile is its top.
  return toHex(last.subarray(-32))
}

const BATCH = '01938000-0000-7000-8000-000000000000'

async function build(engine: TreeEngine, entries: Uint8Array): Promise<Tree> {
  const levels = await hashTree(engine, entries)
  let log: LogReader | undefined
  return {
    root: rootOf(levels),
    async prepare() {
      log = new LogReader(await stored(levels, countOf(entries)))
    },
    async proofs(taken) {
      if (log === undefined) throw new Error('prepare comes first')
      await writeBatchProofs({ log, batchId: BATCH, format: 'packed', write: ({ bytes }) => taken.takePacked(bytes) })
    },
  }
}

const HELD = 'held' as unknown as Version

/**
 * The tiles of one sealed batch, in memory; packed proofs are made of nothing else. They are answered as they are: the peers
 * too have their trees in memory and answer what they hold, and what a store takes is its own.
 */
class TilesInMemory extends MemoryRecords {
  readonly #tiles = new Map<Key, Entry>()

  hold(key: Key, value: Uint8Array): void {
    this.#tiles.set(key, { key, value, version: HELD })
  }

  override async get(wanted: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    const tiles = wanted.map((key) => this.#tiles.get(key))
    return tiles.includes(undefined) ? super.get(wanted) : tiles
  }
}

async function stored(levels: readonly (readonly Uint8Array[])[], end: number): Promise<RecordStore> {
  const records = new TilesInMemory()
  for (const [level, tiles] of levels.entries())
    for (const [i, tile] of tiles.entries()) records.hold(logKeys.tile(level, i), tile)
  const batch = { id: BATCH, start: 0, end, root: rootOf(levels), createdAt: 0, previous: null }
  await records.commit({
    writes: [
      { key: logKeys.batchById(BATCH), value: encodeRecord({ end }) },
      { key: logKeys.batch(end), value: encodeRecord(batch) },
    ],
  })
  return records
}

const over = (name: string, engine: TreeEngine): Contestant => ({
  name,
  build: (entries) => build(engine, entries),
  close: () => engine.close(),
})

export const oursInline = (): Contestant => over('ours, one thread', new InlineEngine())

export const oursPooled = (threads: number): Contestant =>
  over(`ours, ${threads} workers`, new PoolEngine({ maxThreads: threads }))
