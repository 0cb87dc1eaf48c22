import { nodeHash } from './hasher.ts'

/**
 * Every hash in a root or a proof is the hash of a range of leaves, and every such range consists of complete subtrees
 * that get smaller from left to right. So a reader first plans the ranges, then learns which nodes it needs, fetches
 * them together and combines them. Sizes are safe integers beyond 32 bits, so there are no bit operators here.
 */

/** The node over leaves `index · 2^level` to `(index + 1) · 2^level` (exclusive). Level 0 is the leaves. */
export interface NodeId {
  readonly level: number
  readonly index: number
}

/** Leaves `start` to `end` (exclusive). `start` is a multiple of the largest power of two in `end - start`. */
export interface LeafRange {
  readonly start: number
  readonly end: number
}

/** Returns the hash of a complete node, 32 bytes. Throws if it does not have the node. */
export type NodeSource = (id: NodeId) => Uint8Array

/** The largest power of two smaller than `n`: where RFC 9162 splits a tree of n leaves. Requires n >= 2. */
export function splitPoint(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** The complete subtrees of a range, from left to right: one for each bit that is set in its length. */
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

/** The hash of a range: its nodes, combined from the right. Throws a `RangeError` for an empty range. */
export function rangeHash(range: LeafRange, source: NodeSource): Uint8Array {
  let hash: Uint8Array | undefined
  for (const id of nodesOfRange(range).toReversed()) hash = hash === undefined ? source(id) : nodeHash(source(id), hash)
  if (hash === undefined) throw new RangeError('An empty range has no hash')
  return hash
}
