import { lost } from '../store/read.ts'
import type { StoredTiles } from './tiles.ts'
import { HASH_BYTES, nodesOfRange, rangeHash, type LeafRange } from './tree/hash.ts'
import { TILE_WIDTH, TILE_HEIGHT } from './tree/tile.ts'
import { inclusionRanges } from './tree/proof.ts'

/** Consecutive leaves of one tile whose inclusion proofs have the same length and the same upper part. */
export interface ProofBlock {
  /** Their positions in the log: `first` to `end` (exclusive). */
  readonly first: number
  readonly end: number
  /**
   * The stored tile (core/log/tree/tile.ts) with the lower part of each proof: the siblings in its rows 0 to `levels` -
   * 1.
   */
  readonly tile: Uint8Array
  readonly levels: number
  /** The upper part, which is the same for all of them: packed hashes, from bottom to top. */
  readonly above: Uint8Array
}

export interface ProofRange {
  /** Leaves `from` to `to` (exclusive) of the tree of `treeSize`. */
  readonly from: number
  readonly to: number
  readonly treeSize: number
}

/** Tiles that are read together: 256 KiB. */
const TILES_PER_READ = 16

/**
 * Yields everything that the inclusion proofs of a range consist of, several blocks at a time, and reads the next
 * blocks meanwhile. After the generator has ended, nothing is read any more. Throws `CORRUPT` if a tile is missing.
 */
export async function* readProofBlocks(
  stored: StoredTiles,
  range: ProofRange,
): AsyncGenerator<readonly ProofBlock[], void, undefined> {
  const reader = new BlockReader(stored, range)
  let next = reader.read(range.from)
  try {
    for (;;) {
      const blocks = await next
      const last = blocks.at(-1)
      if (last === undefined) return
      next = reader.read(last.end)
      // Handled later, when `next` is awaited. Without this, an error would count as unhandled until then.
      next.catch(() => {})
      yield blocks
    }
  } finally {
    await next.catch(() => {})
  }
}

class BlockReader {
  readonly #stored: StoredTiles
  readonly #range: ProofRange
  readonly #upper: UpperHashes

  constructor(stored: StoredTiles, range: ProofRange) {
    this.#stored = stored
    this.#range = range
    this.#upper = new UpperHashes(stored)
  }

  /**
   * The blocks from leaf `first` to the end of the tiles that are read together; none at the end of the range. Must not
   * be called again before it has finished.
   */
  async read(first: number): Promise<readonly ProofBlock[]> {
    const { to, treeSize } = this.#range
    if (first >= to) return []
    const firstTile = Math.floor(first / TILE_WIDTH)
    const end = Math.min(to, (firstTile + TILES_PER_READ) * TILE_WIDTH)
    const tiles = await this.#stored.range(0, firstTile, Math.ceil(end / TILE_WIDTH) - firstTile)
    const above = await this.#upper.of([...proofSpans(first, end, treeSize)])
    return above.map(({ span, hashes }) => {
      const tile = tiles[Math.floor(span.first / TILE_WIDTH) - firstTile]
      if (tile === undefined) throw lost(`A tile at leaf ${span.first}`)
      return { first: span.first, end: span.end, tile, levels: span.levels, above: hashes }
    })
  }
}

/** Computes the packed hashes above each span. Hashes that are the same as for the previous span are copied from it. */
class UpperHashes {
  readonly #stored: StoredTiles
  #ranges: readonly LeafRange[] = []
  #packed = new Uint8Array()

  constructor(stored: StoredTiles) {
    this.#stored = stored
  }

  async of(spans: readonly ProofSpan[]): Promise<readonly { readonly span: ProofSpan; readonly hashes: Uint8Array }[]> {
    const changed = spans.map(({ above }, i) =>
      above.slice(0, countChanged(above, spans[i - 1]?.above ?? this.#ranges)),
    )
    const source = await this.#stored.nodes(changed.flat().flatMap(nodesOfRange))
    this.#ranges = spans.at(-1)?.above ?? []
    return spans.map((span, i) => {
      const { above } = span
      const lower = changed[i] ?? []
      const sharedBytes = (above.length - lower.length) * HASH_BYTES
      const packed = new Uint8Array(above.length * HASH_BYTES)
      for (const [item, range] of lower.entries()) packed.set(rangeHash(range, source), item * HASH_BYTES)
      packed.set(this.#packed.subarray(this.#packed.length - sharedBytes), lower.length * HASH_BYTES)
      this.#packed = packed
      return { span, hashes: packed }
    })
  }
}

/**
 * How many items from the bottom differ from the previous span. Where the paths have met, all items above are the same.
 */
function countChanged(above: readonly LeafRange[], previous: readonly LeafRange[]): number {
  let items = above.length
  let other = previous.length
  while (items > 0 && other > 0 && isSame(above[items - 1], previous[other - 1])) {
    items--
    other--
  }
  return items
}

const isSame = (a: LeafRange | undefined, b: LeafRange | undefined): boolean =>
  a?.start === b?.start && a?.end === b?.end

/**
 * Inclusion proofs in bulk (RFC 9162 § 2.1.3.1). The proofs of the leaves of one tile differ only in their lowest
 * siblings, which are all in that tile. The siblings above are the same for all of them, so they are computed once for
 * each tile.
 */

/** Consecutive leaves whose proofs have the same length and the same upper part. */
export interface ProofSpan {
  readonly first: number
  /** Exclusive. */
  readonly end: number
  /** How many siblings, from the leaf up, are in the leaf's tile. */
  readonly levels: number
  /** The ranges of the other siblings, from bottom to top. */
  readonly above: readonly LeafRange[]
}

/**
 * The spans of leaves `from` to `to` (exclusive), in order. A span is a full tile, or a complete subtree of the last,
 * partial tile, cut to the requested leaves. Requires 0 <= from <= to <= treeSize.
 */
export function* proofSpans(from: number, to: number, treeSize: number): Generator<ProofSpan> {
  for (let first = from; first < to;) {
    const { levels, end: subtreeEnd } = subtreeOf(first, treeSize)
    const end = Math.min(to, subtreeEnd)
    yield { first, end, levels, above: inclusionRanges(first, treeSize).slice(levels) }
    first = end
  }
}

/**
 * The largest complete subtree within one tile that contains a leaf. Sizes exceed 32 bits, widths within a tile do not.
 */
function subtreeOf(leaf: number, treeSize: number): { readonly levels: number; readonly end: number } {
  const tileStart = leaf - (leaf % TILE_WIDTH)
  let start = tileStart
  let left = Math.min(TILE_WIDTH, treeSize - tileStart)
  for (let levels = TILE_HEIGHT; ; levels--) {
    const width = 1 << levels
    if (left < width) continue
    if (leaf < start + width) return { levels, end: start + width }
    start += width
    left -= width
  }
}
