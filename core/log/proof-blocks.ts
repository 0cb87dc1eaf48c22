import { RegistryError } from '../errors.ts'
import type { ProofBlock, RecordStore } from '../ports.ts'
import { HASH_BYTES } from '../tree/hasher.ts'
import { proofSpans, type ProofSpan } from '../tree/proof-span.ts'
import { nodesOfRange, rangeHash, type LeafRange } from '../tree/range.ts'
import { TILE_WIDTH } from '../tree/tile.ts'
import type { StoredTiles } from './stored-tiles.ts'

export interface ProofRange {
  /** Leaves `from` to `to` (exclusive), of the tree of `treeSize`. */
  readonly from: number
  readonly to: number
  readonly treeSize: number
}

/** Tiles that are read together: 256 KiB. */
const TILES_A_READ = 16

/** Everything that the range's inclusion proofs are made of. Throws `CORRUPT` where a tile or an entry is missing. */
export async function* readProofBlocks(
  records: RecordStore,
  stored: StoredTiles,
  { from, to, treeSize }: ProofRange,
): AsyncGenerator<ProofBlock, void, undefined> {
  const upper = new UpperItems(stored)
  for (let first = from; first < to;) {
    const firstTile = Math.floor(first / TILE_WIDTH)
    const end = Math.min(to, (firstTile + TILES_A_READ) * TILE_WIDTH)
    const [tiles, entries] = await Promise.all([
      stored.range(0, firstTile, Math.ceil(end / TILE_WIDTH) - firstTile),
      records.readLog(first, end - first),
    ])
    if (entries.length !== (end - first) * HASH_BYTES)
      throw new RegistryError('CORRUPT', `The log ends before ${end}: restore the store from a backup`)
    for (const span of proofSpans(first, end, treeSize))
      yield {
        first: span.first,
        end: span.end,
        entries: entries.subarray((span.first - first) * HASH_BYTES, (span.end - first) * HASH_BYTES),
        tile: tiles[Math.floor(span.first / TILE_WIDTH) - firstTile] as Uint8Array,
        levels: span.levels,
        above: await upper.of(span),
      }
    first = end
  }
}

/** The hashes above a span, packed; those that the last span also had are not made again. */
class UpperItems {
  readonly #stored: StoredTiles
  #known: ReadonlyMap<string, Uint8Array> = new Map()

  constructor(stored: StoredTiles) {
    this.#stored = stored
  }

  async of({ above }: ProofSpan): Promise<Uint8Array> {
    const unknown = above.filter((range) => !this.#known.has(placeOf(range)))
    const source = await this.#stored.nodes(unknown.flatMap(nodesOfRange))
    const packed = new Uint8Array(above.length * HASH_BYTES)
    const hashes = new Map<string, Uint8Array>()
    for (const [i, range] of above.entries()) {
      const hash = this.#known.get(placeOf(range)) ?? rangeHash(range, source)
      hashes.set(placeOf(range), hash)
      packed.set(hash, i * HASH_BYTES)
    }
    this.#known = hashes
    return packed
  }
}

const placeOf = ({ start, end }: LeafRange): string => `${start}-${end}`
