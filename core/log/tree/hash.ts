import { sha256 } from '../../bytes.ts'

/**
 * The hashes of RFC 9162 § 2.1.1 (the same as RFC 6962 § 2.1). Leaves and inner nodes are hashed under different first
 * bytes, so that a node cannot be presented as a leaf, or a leaf as a node.
 */

/** Bytes of every hash. */
export const HASH_BYTES = 32

// Reused, because allocating is slower than hashing. Nothing here is asynchronous, so two calls never share a buffer.
const leafInput = new Uint8Array(1 + HASH_BYTES)
const nodeInput = new Uint8Array(1 + 2 * HASH_BYTES).fill(0x01, 0, 1)

/** The hash of a leaf: SHA-256(00 ‖ entry), 32 bytes. The entry may have any length. */
export function leafHash(entry: Uint8Array): Uint8Array {
  const input = entry.length === HASH_BYTES ? leafInput : new Uint8Array(1 + entry.length)
  input.set(entry, 1)
  return sha256(input)
}

/** The hash of an inner node: SHA-256(01 ‖ left ‖ right), 32 bytes. Throws a `RangeError` unless both have 32 bytes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES)
    throw new RangeError(`A node has two hashes of ${HASH_BYTES} bytes`)
  nodeInput.set(left, 1)
  nodeInput.set(right, 1 + HASH_BYTES)
  return sha256(nodeInput)
}

/** The root of the tree without leaves: SHA-256 of no bytes. */
export const emptyRoot = (): Uint8Array => sha256(new Uint8Array())

/**
 * Every hash in a root or a proof is the hash of a range of leaves, and every such range consists of complete subtrees
 * that get smaller from left to right. So a reader first plans the ranges, then learns which nodes it needs, fetches
 * them together and combines them. Sizes are safe integers beyond 32 bits, so there are no bit operators here.
 *
 * The tree of 7 leaves, with the letters of RFC 9162 § 2.1.5. Nodes in brackets are not complete: a larger tree has
 * other hashes there, so they are never stored.
 *
 *     level 3             (root)
 *                       /        \
 *     level 2         k           (l)
 *                   /   \        /  \
 *     level 1     g      h      i     \
 *                / \    / \    / \     \
 *     level 0   a   b  c   d  e   f     j
 *     leaf      0   1  2   3  4   5     6
 *
 *     hash                             | ranges of leaves        | nodes to fetch
 *     the root                         | 0–7                     | k, i, j
 *     inclusion proof of leaf 2        | 3–4, 0–2, 4–7           | d, g, i, j:  d, g, l = H(i, j)
 *     consistency proof from 3 to 7    | 2–3, 3–4, 0–2, 4–7      | c, d, g, i, j:  c, d, g, l
 *     consistency proof from 4 to 7    | 4–7                     | i, j:  l. The old root is k.
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
