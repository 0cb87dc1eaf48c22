import { nodeHash } from './hasher.ts'

/**
 * Every hash that a root or a proof is made of is the hash of a range of leaves, and every such range is a row of complete
 * subtrees, ever smaller from left to right. So a reader plans the ranges, learns which nodes it needs, fetches
 * them at once and folds them. Sizes are safe integers, beyond 32 bits: no bit operators here.
 */

/** The node over leaves `index · 2^level` to `(index + 1) · 2^level`; level 0 is the leaves. */
export interface NodeId {
  readonly level: number
  readonly index: number
}

/** Leaves `start` to `end` (exclusive). `start` is a multiple of the largest power of two in `end - start`. */
export interface LeafRange {
  readonly start: number
  readonly end: number
}

/** The hash of a complete node, 32 bytes. */
export type NodeSource = (place: NodeId) => Uint8Array

/** The largest power of two smaller than `n`: where RFC 9162 splits a tree of n leaves. Requires n >= 2. */
export function splitPoint(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** The complete subtrees that a range is made of, from left to right: one for each bit of its length. */
export function nodesOfRange({ start, end }: LeafRange): readonly NodeId[] {
  const nodes: NodeId[] = []
  let at = start
  for (let left = end - start; left > 0;) {
    let level = 0
    let width = 1
    while (width * 2 <= left) {
      width *= 2
      level++
    }
    nodes.push({ level, index: at / width })
    at += width
    left -= width
  }
  return nodes
}

/** The hash of a range that is not empty: its nodes, folded from the right. */
export function rangeHash(range: LeafRange, source: NodeSource): Uint8Array {
  const nodes = nodesOfRange(range)
  let hash: Uint8Array | undefined
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = source(nodes[i] as NodeId)
    hash = hash === undefined ? node : nodeHash(node, hash)
  }
  if (hash === undefined) throw new RangeError('An empty range has no hash')
  return hash
}
