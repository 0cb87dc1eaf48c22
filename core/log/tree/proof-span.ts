import { inclusionRanges } from './proof.ts'
import type { LeafRange } from './range.ts'
import { TILE_HEIGHT, TILE_WIDTH } from './tile.ts'

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
