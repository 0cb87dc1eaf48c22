import { MemoryRecords } from '../../adapters/memory/index.ts'
import { toHex } from '../../core/bytes.ts'
import { keys } from '../../core/keys.ts'
import { LogReader } from '../../core/log/reader.ts'
import { encodeRecord } from '../../core/log/record-json.ts'
import type { TreeEngine } from '../../core/ports.ts'
import { nodeAt, TILE_HEIGHT } from '../../core/tree/tile.ts'
import { batchProofs, InlineEngine, PoolEngine } from '../../sealer/index.ts'
import { countOf, HASH, type Contestant, type Tree } from './contestant.ts'

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
      log = new LogReader(await stored(levels, entries))
    },
    async proofs(taken) {
      if (log === undefined) throw new Error('prepare comes first')
      for await (const { bytes } of batchProofs({ log, engine, batchId: BATCH, format: 'packed' }))
        for (let at = 0; at < bytes.length; at += HASH) taken.take(bytes, at)
    },
  }
}

/** A store, in memory, in which these entries are one sealed batch. */
async function stored(levels: readonly (readonly Uint8Array[])[], entries: Uint8Array): Promise<MemoryRecords> {
  const records = new MemoryRecords()
  const end = countOf(entries)
  await records.commit({
    append: entries,
    writes: [
      ...levels.flatMap((tiles, level) => tiles.map((tile, i) => ({ key: keys.tile(level, i), value: tile }))),
      { key: keys.batchById(BATCH), value: encodeRecord({ end }) },
      {
        key: keys.batch(end),
        value: encodeRecord({ id: BATCH, start: 0, end, root: rootOf(levels), createdAt: 0, previous: null }),
      },
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
