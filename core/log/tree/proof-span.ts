import { inclusionRanges } from './proof.ts'
import type { LeafRange } from './range.ts'
import { TILE_HEIGHT, TILE_WIDTH } from './tile.ts'

/**
 * Inclusion proofs in bulk (RFC 9162 § 2.1.3.1). The leaves of one tile differ in their lowest siblings only, which all are in that
 * tile; what is above is the same for all of them, so it is found once a tile.
 */

/** Leaves whose proofs have one length and one upper part: a full tile's, or a complete subtree's in the last, partial one. */
export interface ProofSpan {
  readonly first: number
  /** Exclusive. */
  readonly end: number
  /** Siblings that the tile holds. */
  readonly levels: number
  /** What the items above are the hashes of, bottom to top. */
  readonly above: readonly LeafRange[]
}

/** The spans of leaves `from` to `to` (exclusive), in order, each within one tile. Requires 0 <= from <= to <= treeSize. */
export function* proofSpans(from: number, to: number, treeSize: number): Generator<ProofSpan> {
  for (let first = from; first < to;) {
    const { levels, end: subtreeEnd } = subtreeOf(first, treeSize)
    const end = Math.min(to, subtreeEnd)
    yield { first, end, levels, above: inclusionRanges(first, treeSize).slice(levels) }
    first = end
  }
}

/** The largest complete subtree that holds a leaf and lies in one tile. Sizes go beyond 32 bits; widths in a tile do not. */
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
