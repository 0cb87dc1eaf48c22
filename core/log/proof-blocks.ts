import { RegistryError } from '../errors.ts'
import type { RecordStore } from '../ports.ts'
import { HASH_BYTES } from './tree/hasher.ts'
import { proofSpans, type ProofSpan } from './tree/proof-span.ts'
import { nodesOfRange, rangeHash, type LeafRange } from './tree/range.ts'
import { TILE_WIDTH } from './tree/tile.ts'
import type { StoredTiles } from './stored-tiles.ts'

/** Leaves of one tile whose inclusion proofs have one length and one upper part. */
export interface ProofBlock {
  /** Their places in the log: `first` to `end` (exclusive). */
  readonly first: number
  readonly end: number
  /** Their entries, packed (32 bytes each); left out where they were not asked for. */
  readonly entries?: Uint8Array
  /** The stored tile (core/log/tree/tile.ts) that holds the lower part: their siblings in its rows 0 to `levels` - 1. */
  readonly tile: Uint8Array
  readonly levels: number
  /** The upper part, the same for all of them: packed hashes, bottom to top. */
  readonly above: Uint8Array
}

export interface ProofRange {
  /** Leaves `from` to `to` (exclusive), of the tree of `treeSize`. */
  readonly from: number
  readonly to: number
  readonly treeSize: number
  /** The leaves' entries are wanted too. */
  readonly withEntries: boolean
}

/** Tiles that are read together: 256 KiB. */
const TILES_A_READ = 16

/**
 * Everything that the range's inclusion proofs are made of, some blocks at a time; the next ones are read meanwhile. Throws `CORRUPT`
 * where a tile or an entry is missing. Once it has ended, it reads no more.
 */
export async function* readProofBlocks(
  records: RecordStore,
  stored: StoredTiles,
  range: ProofRange,
): AsyncGenerator<readonly ProofBlock[], void, undefined> {
  const reader = new BlockReader(records, stored, range)
  let next = reader.read(range.from)
  try {
    for (let blocks: readonly ProofBlock[]; (blocks = await next).length > 0;) {
      next = reader.read((blocks.at(-1) as ProofBlock).end)
      // It is awaited in its turn.
      next.catch(() => {})
      yield blocks
    }
  } finally {
    await next.catch(() => {})
  }
}

class BlockReader {
  readonly #records: RecordStore
  readonly #stored: StoredTiles
  readonly #range: ProofRange
  readonly #upper: UpperItems

  constructor(records: RecordStore, stored: StoredTiles, range: ProofRange) {
    this.#records = records
    this.#stored = stored
    this.#range = range
    this.#upper = new UpperItems(stored)
  }

  /** The blocks from one leaf to the end of those tiles; none at the end of the range. One read at a time. */
  async read(first: number): Promise<readonly ProofBlock[]> {
    const { to, treeSize, withEntries } = this.#range
    if (first >= to) return []
    const firstTile = Math.floor(first / TILE_WIDTH)
    const end = Math.min(to, (firstTile + TILES_A_READ) * TILE_WIDTH)
    const [tiles, entries] = await Promise.all([
      this.#stored.range(0, firstTile, Math.ceil(end / TILE_WIDTH) - firstTile),
      withEntries ? this.#entries(first, end) : undefined,
    ])
    const spans = [...proofSpans(first, end, treeSize)]
    const above = await this.#upper.of(spans)
    return spans.map((span, i) => ({
      first: span.first,
      end: span.end,
      ...(entries && { entries: entries.subarray((span.first - first) * HASH_BYTES, (span.end - first) * HASH_BYTES) }),
      tile: tiles[Math.floor(span.first / TILE_WIDTH) - firstTile] as Uint8Array,
      levels: span.levels,
      above: above[i] as Uint8Array,
    }))
  }

  async #entries(first: number, end: number): Promise<Uint8Array> {
    const entries = await this.#records.readLog(first, end - first)
    if (entries.length !== (end - first) * HASH_BYTES)
      throw new RegistryError('CORRUPT', `The log ends before ${end}: restore the store from a backup`)
    return entries
  }
}

/** The hashes above each span, packed; those that the span before it also had are not made again. */
class UpperItems {
  readonly #stored: StoredTiles
  #ranges: readonly LeafRange[] = []
  #packed = new Uint8Array()

  constructor(stored: StoredTiles) {
    this.#stored = stored
  }

  async of(spans: readonly ProofSpan[]): Promise<readonly Uint8Array[]> {
    const unknown = spans.map(({ above }, i) => above.slice(0, newItems(above, spans[i - 1]?.above ?? this.#ranges)))
    const source = await this.#stored.nodes(unknown.flat().flatMap(nodesOfRange))
    this.#ranges = spans.at(-1)?.above ?? []
    return unknown.map((lower, i) => {
      const shared = (spans[i] as ProofSpan).above.length - lower.length
      const packed = new Uint8Array((lower.length + shared) * HASH_BYTES)
      for (const [item, range] of lower.entries()) packed.set(rangeHash(range, source), item * HASH_BYTES)
      packed.set(this.#packed.subarray(this.#packed.length - shared * HASH_BYTES), lower.length * HASH_BYTES)
      return (this.#packed = packed)
    })
  }
}

/** How many of these items, from the bottom, are not those of a leaf before it: further up, where both paths meet, all are the same. */
function newItems(above: readonly LeafRange[], before: readonly LeafRange[]): number {
  let items = above.length
  let other = before.length
  while (items > 0 && other > 0 && isSame(above[items - 1], before[other - 1])) {
    items--
    other--
  }
  return items
}

const isSame = (a: LeafRange | undefined, b: LeafRange | undefined): boolean =>
  a?.start === b?.start && a?.end === b?.end
