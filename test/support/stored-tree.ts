import { MemoryRecords } from '../../adapters/memory/index.ts'
import { concatBytes, toHex } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import type { TreeHeadRecord } from '../../core/log/records.ts'
import { rootFromNodes } from '../../core/log/tree/proof.ts'
import type { NodeSource } from '../../core/log/tree/hash.ts'
import { FULL_TILE_BYTES, nodeAt, TILE_HEIGHT, TILE_WIDTH } from '../../core/log/tree/tile.ts'
import type { Key, Write } from '../../core/ports/index.ts'
import { encodeRecord } from '../../core/store/codec.ts'
import { nodeTable, sampleEntries } from './node-table.ts'
import { plainTiles } from './plain-tiles.ts'
import { appendsOf } from '../contract/record-store-pair.ts'

/** A log in memory with all its stored tiles and its head, made without the sealer. */
export interface StoredTree {
  readonly records: CountingRecords
  readonly entries: readonly Uint8Array[]
  /** The complete nodes, from the slow reference. */
  readonly nodes: NodeSource
  readonly root: Uint8Array
}

/** Records in memory that remember which keys were read. */
export class CountingRecords extends MemoryRecords {
  /** The keys of each `get`. */
  readonly gets: (readonly Key[])[] = []

  override get(keys: readonly Key[]): ReturnType<MemoryRecords['get']> {
    this.gets.push(keys)
    return super.get(keys)
  }
}

export async function storeTree(size: number): Promise<StoredTree> {
  const entries = sampleEntries(size)
  const nodes = nodeTable(entries)
  const root = rootFromNodes(size, nodes)
  const records = new CountingRecords()
  const head: TreeHeadRecord = { size, root: toHex(root), batchId: 'batch', time: 1 }
  await records.commit({
    writes: [...tileWrites(entries), { key: logKeys.treeHead(), value: encodeRecord(head) }],
    append: entries.flatMap(appendsOf),
  })
  return { records, entries, nodes, root }
}

function tileWrites(entries: readonly Uint8Array[]): readonly Write[] {
  const writes: Write[] = []
  let row = entries
  for (let level = 0; row.length > 0; level++) {
    const tiles: Uint8Array[] = []
    for (let first = 0; first < row.length; first += TILE_WIDTH)
      tiles.push(plainTiles(concatBytes(...row.slice(first, first + TILE_WIDTH)), level === 0 ? 'entries' : 'nodes'))
    for (const [index, value] of tiles.entries())
      if (level > 0 || value.length === FULL_TILE_BYTES) writes.push({ key: logKeys.tile(level, index), value })
    row = tiles
      .slice(0, Math.floor(row.length / TILE_WIDTH))
      .map((tile) => nodeAt(tile, TILE_HEIGHT, 0))
      .filter((top) => top !== undefined)
  }
  return writes
}
