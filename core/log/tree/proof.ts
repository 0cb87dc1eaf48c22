import { equalBytes, toHex } from '../../bytes.ts'
import { verificationError } from '../../errors.ts'
import type { VerificationRule } from '../../rules.ts'
import { emptyRoot, HASH_BYTES, nodeHash, rangeHash, splitPoint, type LeafRange, type NodeSource } from './hash.ts'

/** Merkle proofs of RFC 9162 § 2.1: planned as ranges of leaves, verified from untrusted hashes. */

/** The side of the path on which a sibling of a proof is. */
export type Side = 'left' | 'right'

/** No proof has more items than this, in a tree of up to 2^53 leaves. */
export const MAX_PROOF_ITEMS = 64

function assertSize(size: number, what: string): void {
  if (!isSize(size)) throw new RangeError(`${what} must be a safe integer >= 0, got ${size}`)
}

/**
 * The ranges whose hashes are the inclusion proof of a leaf, from leaf to root (RFC 9162 § 2.1.3.1). Throws a
 * `RangeError` unless 0 <= leafIndex < treeSize.
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
 * The ranges whose hashes are the consistency proof between two sizes (RFC 9162 § 2.1.4.1). Empty if `from` is 0 or
 * equals `to`. Throws a `RangeError` unless 0 <= from <= to.
 */
export function consistencyRanges(from: number, to: number): readonly LeafRange[] {
  assertSize(from, 'A tree size')
  assertSize(to, 'A tree size')
  if (from > to) throw new RangeError(`A tree of ${to} leaves cannot begin with a tree of ${from}`)
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
  // If the old tree is one complete subtree from leaf 0, its hash is the old root, which the verifier already has.
  if (start > 0) ranges.push({ start, end })
  return ranges.reverse()
}

/**
 * The inclusion proof of a leaf: its sibling hashes, from leaf to root. Throws as `inclusionRanges`, and as the source.
 */
export const inclusionProof = (leafIndex: number, treeSize: number, source: NodeSource): readonly Uint8Array[] =>
  inclusionRanges(leafIndex, treeSize).map((range) => rangeHash(range, source))

/** The consistency proof between two sizes. Throws as `consistencyRanges`, and as the source. */
export const consistencyProof = (from: number, to: number, source: NodeSource): readonly Uint8Array[] =>
  consistencyRanges(from, to).map((range) => rangeHash(range, source))

/**
 * The root of the tree of `size` leaves, from its complete nodes. Throws a `RangeError` unless `size` is a safe integer
 * >= 0.
 */
export function rootFromNodes(size: number, source: NodeSource): Uint8Array {
  assertSize(size, 'A tree size')
  return size === 0 ? emptyRoot() : rangeHash({ start: 0, end: size }, source)
}

/** For each item of an inclusion proof, the side of the sibling. Throws as `inclusionRanges`. */
export const sidesOf = (leafIndex: number, treeSize: number): readonly Side[] =>
  inclusionRanges(leafIndex, treeSize).map(({ start }) => (start > leafIndex ? 'right' : 'left'))

/** The root that results from the hash of a leaf (or node) and its siblings, given with their sides. */
export function rootFromSides(
  hash: Uint8Array,
  items: readonly { readonly hash: Uint8Array; readonly side: Side }[],
): Uint8Array {
  let out = hash
  for (const item of items) out = item.side === 'left' ? nodeHash(item.hash, out) : nodeHash(out, item.hash)
  return out
}

/** An inclusion proof and the leaf that it is for. Every value may come from an attacker. */
export interface InclusionProof {
  /** `leafHash(entry)`, 32 bytes. */
  readonly leafHash: Uint8Array
  readonly leafIndex: number
  readonly treeSize: number
  /** Sibling hashes, from leaf to root. */
  readonly proof: readonly Uint8Array[]
}

/**
 * The root that an inclusion proof produces (RFC 9162 § 2.1.3.2). `undefined` if it cannot be a proof for this leaf and
 * size: a wrong number of items, or items that are not hashes.
 */
export function rootFromInclusionProof({
  leafHash,
  leafIndex,
  treeSize,
  proof,
}: InclusionProof): Uint8Array | undefined {
  if (!isLeafOf(leafIndex, treeSize) || !areHashes([leafHash, ...proof])) return undefined
  let fn = leafIndex
  let sn = treeSize - 1
  let hash = leafHash
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

/** The `cause` of the error of a proof that does not hold. */
export interface RootMismatch {
  /** The root to which the proof leads. `undefined` if its number of hashes or one of their lengths is wrong. */
  readonly computed: Uint8Array | undefined
  readonly expected: Uint8Array
}

function assertRoot(rule: VerificationRule, what: string, { computed, expected }: RootMismatch): void {
  if (computed !== undefined && equalBytes(computed, expected)) return
  const found = computed === undefined ? 'no root' : toHex(computed)
  const message = `${what} leads to ${found}, not to the root ${toHex(expected)}`
  throw verificationError(rule, message, { computed, expected } satisfies RootMismatch)
}

/**
 * Verifies that a leaf is in the tree of this size and root.
 *
 * @param claim The inclusion proof, and the root (32 bytes) from a checkpoint that you trust.
 * @throws RegistryError `VERIFICATION_FAILED` for any proof that does not hold. Its `cause` is a `RootMismatch`.
 */
export function verifyInclusion(claim: InclusionProof & { readonly root: Uint8Array }): void {
  const what = `The inclusion proof of leaf ${claim.leafIndex} in the tree of ${claim.treeSize}`
  assertRoot('inclusion.root-differs', what, { computed: rootFromInclusionProof(claim), expected: claim.root })
}

/** A consistency proof and the two trees that it is for. Every value may come from an attacker. */
export interface ConsistencyProof {
  readonly fromSize: number
  /** 32 bytes. */
  readonly fromRoot: Uint8Array
  readonly toSize: number
  /** 32 bytes. */
  readonly toRoot: Uint8Array
  readonly proof: readonly Uint8Array[]
}

/**
 * Verifies that the tree of size `toSize` begins with the whole tree of size `fromSize` (RFC 9162 § 2.1.4.2). Equal
 * sizes need equal roots and an empty proof. Every tree begins with the empty tree, with an empty proof.
 *
 * @throws RegistryError `VERIFICATION_FAILED` for any proof that does not hold. Its `cause` is a `RootMismatch`.
 */
export function verifyConsistency(claim: ConsistencyProof): void {
  const { fromSize, fromRoot, toSize, toRoot } = claim
  const what = `The consistency proof from the tree of ${fromSize} to the tree of ${toSize}`
  const rule = 'consistency.root-differs'
  const roots = rootsFromConsistencyProof(claim)
  assertRoot(rule, `${what}, for the smaller tree,`, { computed: roots?.from, expected: fromRoot })
  assertRoot(rule, what, { computed: roots?.to, expected: toRoot })
}

/** The roots of both trees that a consistency proof produces. `undefined` if it cannot be a proof for these sizes. */
function rootsFromConsistencyProof({
  fromSize,
  fromRoot,
  toSize,
  toRoot,
  proof,
}: ConsistencyProof): { readonly from: Uint8Array; readonly to: Uint8Array } | undefined {
  if (!isSize(fromSize) || !isSize(toSize) || fromSize > toSize || !areHashes([fromRoot, toRoot, ...proof]))
    return undefined
  if (fromSize === 0 || fromSize === toSize) {
    if (proof.length > 0) return undefined
    return fromSize === toSize ? { from: fromRoot, to: fromRoot } : { from: emptyRoot(), to: toRoot }
  }
  const [first, ...rest] = isPowerOfTwo(fromSize) ? [fromRoot, ...proof] : proof
  if (first === undefined) return undefined
  let [fn, sn] = [fromSize - 1, toSize - 1]
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)]
  let [from, to] = [first, first]
  for (const item of rest) {
    if (sn === 0) return undefined
    if (fn % 2 === 1 || fn === sn) {
      from = nodeHash(item, from)
      to = nodeHash(item, to)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, half(sn)]
    } else to = nodeHash(to, item)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 ? { from, to } : undefined
}

const half = (n: number): number => Math.floor(n / 2)

const isSize = (size: number): boolean => Number.isSafeInteger(size) && size >= 0

const isLeafOf = (leafIndex: number, treeSize: number): boolean =>
  isSize(leafIndex) && isSize(treeSize) && leafIndex < treeSize

const areHashes = (hashes: readonly Uint8Array[]): boolean =>
  hashes.length <= MAX_PROOF_ITEMS + 2 && hashes.every((hash) => hash.length === HASH_BYTES)

function isPowerOfTwo(n: number): boolean {
  let power = 1
  while (power < n) power *= 2
  return power === n
}
