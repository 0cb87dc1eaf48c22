import { equalBytes } from '../../bytes.ts'
import { emptyRoot, HASH_BYTES, nodeHash } from './hasher.ts'
import { rangeHash, splitPoint, type LeafRange, type NodeSource } from './range.ts'

/** Merkle proofs of RFC 9162 § 2.1: built as ranges of leaves, checked from untrusted hashes. */

/** On which side of the path a proof's sibling stands. */
export type Side = 'left' | 'right'

/** A proof in a tree of 2^53 leaves has no more items than this. */
export const MAX_PROOF_ITEMS = 64

function assertSize(size: number, what: string): void {
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`${what} must be a safe integer >= 0, not ${size}`)
}

/**
 * The ranges whose hashes are the inclusion proof of a leaf, leaf to root (RFC 9162 § 2.1.3.1). Throws a RangeError
 * unless 0 <= leafIndex < treeSize.
 */
export function inclusionRanges(leafIndex: number, treeSize: number): readonly LeafRange[] {
  assertSize(leafIndex, 'A leaf index')
  assertSize(treeSize, 'A tree size')
  if (leafIndex >= treeSize) throw new RangeError(`Leaf ${leafIndex} is not in a tree of ${treeSize}`)
  const ranges: LeafRange[] = []
  let [start, end] = [0, treeSize]
  while (end - start > 1) {
    const middle = start + splitPoint(end - start)
    if (leafIndex < middle) {
      ranges.push({ start: middle, end })
      end = middle
    } else {
      ranges.push({ start, end: middle })
      start = middle
    }
  }
  return ranges.reverse()
}

/**
 * The ranges whose hashes are the consistency proof between two sizes (RFC 9162 § 2.1.4.1); none where `from` is 0 or equals
 * `to`. Throws a RangeError unless 0 <= from <= to.
 */
export function consistencyRanges(from: number, to: number): readonly LeafRange[] {
  assertSize(from, 'A tree size')
  assertSize(to, 'A tree size')
  if (from > to) throw new RangeError(`A tree of ${to} is not later than one of ${from}`)
  if (from === 0 || from === to) return []
  const ranges: LeafRange[] = []
  let [start, end] = [0, to]
  while (end !== from) {
    const middle = start + splitPoint(end - start)
    if (from <= middle) {
      ranges.push({ start: middle, end })
      end = middle
    } else {
      ranges.push({ start, end: middle })
      start = middle
    }
  }
  // Where the old tree is one complete subtree from leaf 0, its hash is the old root, which the verifier has.
  if (start > 0) ranges.push({ start, end })
  return ranges.reverse()
}

/** The inclusion proof of a leaf, leaf to root, from complete nodes. */
export const inclusionProof = (leafIndex: number, treeSize: number, source: NodeSource): readonly Uint8Array[] =>
  inclusionRanges(leafIndex, treeSize).map((range) => rangeHash(range, source))

/** The consistency proof between two sizes, from complete nodes. */
export const consistencyProof = (from: number, to: number, source: NodeSource): readonly Uint8Array[] =>
  consistencyRanges(from, to).map((range) => rangeHash(range, source))

/** The root of a tree of `size` leaves, from complete nodes. */
export const rootFromNodes = (size: number, source: NodeSource): Uint8Array =>
  size === 0 ? emptyRoot() : rangeHash({ start: 0, end: size }, source)

/** For each item of an inclusion proof, the side on which the sibling stands. Throws as `inclusionRanges`. */
export const sidesOf = (leafIndex: number, treeSize: number): readonly Side[] =>
  inclusionRanges(leafIndex, treeSize).map(({ start }) => (start > leafIndex ? 'right' : 'left'))

/** The hash that a leaf (or node) hash and siblings with their sides lead to. */
export function rootFromSides(
  hash: Uint8Array,
  items: readonly { readonly hash: Uint8Array; readonly side: Side }[],
): Uint8Array {
  let out = hash
  for (const item of items) out = item.side === 'left' ? nodeHash(item.hash, out) : nodeHash(out, item.hash)
  return out
}

/**
 * The root that an inclusion proof leads to, `undefined` where it cannot be one for this place: a wrong number of items, or
 * items that are no hashes. The proof is attacker-controlled. RFC 9162 § 2.1.3.2.
 */
export function rootFromInclusionProof(
  leaf: Uint8Array,
  leafIndex: number,
  treeSize: number,
  proof: readonly Uint8Array[],
): Uint8Array | undefined {
  if (!isPlace(leafIndex, treeSize) || !areHashes([leaf, ...proof])) return undefined
  let fn = leafIndex
  let sn = treeSize - 1
  let hash = leaf
  for (const item of proof) {
    if (sn === 0) return undefined
    if (fn % 2 === 1 || fn === sn) {
      hash = nodeHash(item, hash)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, half(sn)]
    } else hash = nodeHash(hash, item)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 ? hash : undefined
}

/** True where the proof leads from the leaf's hash at this index to the root of the tree of this size. */
export function verifyInclusion(
  leaf: Uint8Array,
  leafIndex: number,
  treeSize: number,
  proof: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  const found = rootFromInclusionProof(leaf, leafIndex, treeSize, proof)
  return found !== undefined && equalBytes(found, root)
}

/**
 * True where the proof shows that the tree of size `to` begins with the whole tree of size `from`. RFC 9162 § 2.1.4.2; equal
 * sizes take an empty proof and equal roots, and the empty tree is the beginning of every tree.
 */
export function verifyConsistency(
  from: number,
  to: number,
  proof: readonly Uint8Array[],
  fromRoot: Uint8Array,
  toRoot: Uint8Array,
): boolean {
  if (!isSize(from) || !isSize(to) || from > to || !areHashes([fromRoot, toRoot, ...proof])) return false
  if (from === to) return proof.length === 0 && equalBytes(fromRoot, toRoot)
  if (from === 0) return proof.length === 0 && equalBytes(fromRoot, emptyRoot())
  const [first, ...rest] = isPowerOfTwo(from) ? [fromRoot, ...proof] : proof
  if (first === undefined) return false
  let [fn, sn] = [from - 1, to - 1]
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)]
  let oldHash = first
  let newHash = first
  for (const item of rest) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      oldHash = nodeHash(item, oldHash)
      newHash = nodeHash(item, newHash)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, half(sn)]
    } else newHash = nodeHash(newHash, item)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && equalBytes(oldHash, fromRoot) && equalBytes(newHash, toRoot)
}

const half = (n: number): number => Math.floor(n / 2)

const isSize = (size: number): boolean => Number.isSafeInteger(size) && size >= 0

const isPlace = (leafIndex: number, treeSize: number): boolean =>
  isSize(leafIndex) && isSize(treeSize) && leafIndex < treeSize

const areHashes = (hashes: readonly Uint8Array[]): boolean =>
  hashes.length <= MAX_PROOF_ITEMS + 2 && hashes.every((hash) => hash.length === HASH_BYTES)

function isPowerOfTwo(n: number): boolean {
  let power = 1
  while (power < n) power *= 2
  return power === n
}
