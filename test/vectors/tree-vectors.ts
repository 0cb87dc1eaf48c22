import { toHex } from '../../core/bytes.ts'
import { emptyRoot, leafHash, nodeHash, type NodeSource } from '../../core/log/tree/hash.ts'
import {
  consistencyProof,
  inclusionProof,
  rootFromInclusionProof,
  rootFromNodes,
  type ConsistencyProof,
  type InclusionProof,
} from '../../core/log/tree/proof.ts'
import { nodeTable, sampleEntries } from '../support/node-table.ts'
import { present } from '../support/present.ts'
import type { Vectors } from './vector.ts'

/** The tree that `core/log/tree/hash.ts` draws: its proofs are named there. */
const SIZE = 7
const entries = sampleEntries(SIZE)
const tree = nodeTable(entries)
const rootOf = (size: number): Uint8Array => rootFromNodes(size, tree)
const hashAt = (level: number, index: number): Uint8Array => tree({ level, index })

/** A tree whose entries are all the same, so that its size is not limited by memory. */
const equalLevels = [leafHash(present(entries[0]))]
for (let level = 0; level < 50; level++)
  equalLevels.push(nodeHash(present(equalLevels[level]), present(equalLevels[level])))
const equalTree: NodeSource = ({ level }) => present(equalLevels[level])
/** More leaves than 32 bits can count. */
const LARGE = 2 ** 40 + 5

const flipped = (hash: Uint8Array): Uint8Array => hash.with(31, present(hash[31]) ^ 1)

type Inclusion = Omit<InclusionProof, 'leafHash'> & { readonly entry: Uint8Array; readonly root: Uint8Array }

function inclusionVector(description: string, claim: Inclusion, valid: boolean): object {
  const { entry, leafIndex, treeSize, proof, root } = claim
  const computed = rootFromInclusionProof({ leafHash: leafHash(entry), leafIndex, treeSize, proof })
  return {
    description,
    entry: toHex(entry),
    leafIndex,
    treeSize,
    proof: proof.map(toHex),
    root: toHex(root),
    expected: { valid, computedRoot: computed ? toHex(computed) : null },
  }
}

/** Inclusion proofs. `expected.computedRoot` is `null` if the proof has the wrong length or no hashes. */
export function inclusionVectors(): Vectors {
  const whole = (leafIndex: number, treeSize = SIZE): Inclusion => ({
    entry: present(entries[leafIndex]),
    leafIndex,
    treeSize,
    proof: inclusionProof(leafIndex, treeSize, tree),
    root: rootOf(treeSize),
  })
  const claim = whole(2)
  const { proof } = claim
  const large = {
    entry: present(entries[0]),
    leafIndex: 2 ** 40 + 3,
    treeSize: LARGE,
    proof: inclusionProof(2 ** 40 + 3, LARGE, equalTree),
    root: rootFromNodes(LARGE, equalTree),
  }
  const valid = (description: string, each: Inclusion): object => inclusionVector(description, each, true)
  const broken = (description: string, change: Partial<Inclusion>, base = claim): object =>
    inclusionVector(description, { ...base, ...change }, false)
  return {
    'leaf-2-of-7': valid('The proof of leaf 2 in a tree of 7: a leaf, a complete node and one that is not', claim),
    'last-leaf-of-7': valid('The last leaf has no sibling on two levels, so its proof is shorter', whole(6)),
    'only-leaf': valid('In a tree of one leaf the proof is empty, and the root is the hash of the leaf', whole(0, 1)),
    'beyond-32-bits': valid('A tree of 2^40 + 5 leaves with the same entry', large),
    'truncated-proof': broken('The last hash is missing', { proof: proof.slice(0, 2) }),
    'missing-sibling': broken('The first hash is missing', { proof: proof.slice(1) }),
    'additional-hash': broken('The root follows as one more hash', { proof: [...proof, claim.root] }),
    'empty-proof': broken('There is no hash', { proof: [] }),
    'swapped-hashes': broken('The first two hashes are swapped', {
      proof: [hashAt(1, 0), hashAt(0, 3), ...proof.slice(2)],
    }),
    'flipped-bit': broken('One bit of the second hash is another one', { proof: proof.with(1, flipped(hashAt(1, 0))) }),
    'short-hash': broken('The second hash has 31 bytes', { proof: proof.with(1, hashAt(1, 0).subarray(0, 31)) }),
    'wrong-index': broken('The proof is that of leaf 2', { leafIndex: 3 }),
    'index-beyond-the-tree': broken('The tree of 7 leaves has no leaf 7', { leafIndex: 7 }),
    'wrong-tree-size': broken('The proof is that of the tree of 7', { treeSize: 4 }),
    'wrong-entry': broken('The entry is that of leaf 3', { entry: present(entries[3]) }),
    'wrong-root': broken('The root is that of the tree of 6', { root: rootOf(6) }),
    'inner-node-as-entry': broken('A node has another prefix than a leaf, so the pair (c, d) is not an entry', {
      entry: Uint8Array.from([...hashAt(0, 2), ...hashAt(0, 3)]),
      leafIndex: 1,
      treeSize: 4,
      proof: proof.slice(1),
    }),
    'index-truncated-to-32-bits': broken('The index lacks its bits above 32', { leafIndex: 3 }, large),
  }
}

function consistencyVector(description: string, claim: ConsistencyProof, valid: boolean): object {
  const { fromSize, fromRoot, toSize, toRoot, proof } = claim
  return {
    description,
    fromSize,
    fromRoot: toHex(fromRoot),
    toSize,
    toRoot: toHex(toRoot),
    proof: proof.map(toHex),
    expected: { valid },
  }
}

/** Consistency proofs. */
export function consistencyVectors(): Vectors {
  const between = (fromSize: number, toSize: number, source = tree): ConsistencyProof => ({
    fromSize,
    fromRoot: rootFromNodes(fromSize, source),
    toSize,
    toRoot: rootFromNodes(toSize, source),
    proof: consistencyProof(fromSize, toSize, source),
  })
  const claim = between(3, 7)
  const { proof } = claim
  const other = nodeTable(entries.with(1, present(entries[6])))
  const valid = (description: string, each: ConsistencyProof): object => consistencyVector(description, each, true)
  const broken = (description: string, change: Partial<ConsistencyProof>, base = claim): object =>
    consistencyVector(description, { ...base, ...change }, false)
  return {
    'from-3-to-7': valid('The old tree has two complete subtrees', claim),
    'from-4-to-7': valid('The old tree is one complete subtree: its root is not in the proof', between(4, 7)),
    'from-6-to-7': valid('One leaf is added', between(6, 7)),
    'from-1-to-7': valid('The old tree is one leaf', between(1, 7)),
    'same-tree': valid('Equal sizes need equal roots and an empty proof', between(7, 7)),
    'from-empty-tree': valid('Every tree begins with the empty tree, with an empty proof', between(0, 7)),
    'beyond-32-bits': valid(
      'From 2^33 + 1 to 2^40 + 5 leaves with the same entry',
      between(2 ** 33 + 1, LARGE, equalTree),
    ),
    'truncated-proof': broken('The last hash is missing', { proof: proof.slice(0, -1) }),
    'missing-first-hash': broken('The first hash is missing', { proof: proof.slice(1) }),
    'additional-hash': broken('The newer root follows as one more hash', { proof: [...proof, claim.toRoot] }),
    'swapped-hashes': broken('The last two hashes are swapped', {
      proof: [...proof.slice(0, 2), ...proof.slice(2).reverse()],
    }),
    'flipped-bit': broken('One bit of the third hash is another one', { proof: proof.with(2, flipped(hashAt(1, 0))) }),
    'short-hash': broken('The first hash has 31 bytes', { proof: proof.with(0, hashAt(0, 2).subarray(0, 31)) }),
    'wrong-old-root': broken('The old root is that of the tree of 2', { fromRoot: rootOf(2) }),
    'wrong-new-root': broken('The newer root is that of the tree of 6', { toRoot: rootOf(6) }),
    'wrong-old-size': broken('The proof is that from 3 to 7', { fromSize: 2 }),
    'wrong-new-size': broken('The proof is that from 3 to 7', { toSize: 4 }),
    'swapped-trees': broken('A tree of 3 leaves cannot begin with one of 7', {
      fromSize: 7,
      fromRoot: claim.toRoot,
      toSize: 3,
      toRoot: claim.fromRoot,
    }),
    'rewritten-entry': broken('The newer tree has another entry 1, and its own proof', {
      ...between(3, 7, other),
      fromRoot: claim.fromRoot,
    }),
    'old-root-in-proof': broken(
      'The root of a complete old tree must not be in the proof',
      { proof: [rootOf(4), ...between(4, 7).proof] },
      between(4, 7),
    ),
    'same-size-other-root': broken('Equal sizes with two roots', { fromRoot: rootOf(6) }, between(7, 7)),
    'same-tree-with-proof': broken('Equal sizes with a hash', { proof: [hashAt(0, 2)] }, between(7, 7)),
    'from-empty-tree-with-root': broken('The empty tree has another root', { fromRoot: rootOf(1) }, between(0, 7)),
    'from-empty-tree-with-proof': broken('The empty tree with a hash', { proof: [emptyRoot()] }, between(0, 7)),
  }
}
