import {
  LeafNode,
  ProofType,
  Tree as PersistentTree,
  createProof,
  subtreeFillToContents,
} from '@chainsafe/persistent-merkle-tree'
import fixedMerkleTree from 'fixed-merkle-tree'
import { MerkleTree } from 'merkletreejs'
import { createHash, hash as oneShot } from 'node:crypto'
import { libraryInline, libraryPooled } from '../workload/library-tree.ts'
import { countEntries, HASH_BYTES, splitEntries, type TreeBuilder } from '../workload/tree-builder.ts'

/**
 * Merkle trees from npm, each used as its documentation shows. Packages that accept a hash function get node:crypto
 * with the prefixes of RFC 6962. With those, at powers of two, all but one (`difference`) build the same tree as this
 * library, so the roots are compared.
 */

const LEAF = Buffer.of(0)
const NODE = Buffer.of(1)
const sha256 = (...parts: readonly Uint8Array[]): Buffer => oneShot('sha256', Buffer.concat(parts), 'buffer')
const hashLeaves = (entries: Uint8Array): Buffer[] => splitEntries(entries).map((entry) => sha256(LEAF, entry))
const hexBytes = (hex: string): Buffer => Buffer.from(hex.startsWith('0x') ? hex.slice(2) : hex, 'hex')

/**
 * The tree in packed rows with one function that hashes 33 or 65 bytes: the program that a developer would write
 * first.
 */
function byHand(name: string, digest: (bytes: Uint8Array) => Uint8Array): TreeBuilder {
  return {
    name,
    async build(entries) {
      const [leafInput, nodeInput] = [new Uint8Array(33), new Uint8Array(65).fill(1, 0, 1)]
      let row = new Uint8Array(entries.length)
      for (let at = 0; at < row.length; at += HASH_BYTES) {
        leafInput.set(entries.subarray(at, at + HASH_BYTES), 1)
        row.set(digest(leafInput), at)
      }
      const rows = [row]
      while (row.length > HASH_BYTES) {
        const above = new Uint8Array(row.length / 2)
        for (let at = 0; at < above.length; at += HASH_BYTES) {
          nodeInput.set(row.subarray(at * 2, (at + HASH_BYTES) * 2), 1)
          above.set(digest(nodeInput), at)
        }
        rows.push(above)
        row = above
      }
      return {
        root: Buffer.from(row).toString('hex'),
        async makeProofs(reader) {
          const proof = new Uint8Array((rows.length - 1) * HASH_BYTES)
          for (let i = 0; i < countEntries(entries); i++) {
            for (const [level, nodes] of rows.slice(0, -1).entries()) {
              const at = ((i >> level) ^ 1) * HASH_BYTES
              proof.set(nodes.subarray(at, at + HASH_BYTES), level * HASH_BYTES)
            }
            reader.readPacked(proof)
          }
        },
      }
    },
  }
}

export const createHashByHand = (): TreeBuilder =>
  byHand('createHash, written by hand', (bytes) => createHash('sha256').update(bytes).digest())

const oneShotHashByHand = (): TreeBuilder =>
  byHand('crypto.hash, written by hand', (bytes) => oneShot('sha256', bytes, 'buffer'))

export const merkletreejs = (): TreeBuilder => ({
  name: 'merkletreejs',
  async build(entries) {
    const leaves = hashLeaves(entries)
    const tree = new MerkleTree(leaves, (pair: Buffer) => sha256(NODE, pair))
    return {
      root: tree.getRoot().toString('hex'),
      async makeProofs(reader) {
        for (const [i, leaf] of leaves.entries()) for (const { data } of tree.getProof(leaf, i)) reader.readHash(data)
      },
    }
  },
})

const fixedMerkleTreePackage = (): TreeBuilder => ({
  name: 'fixed-merkle-tree',
  async build(entries) {
    const leaves = hashLeaves(entries).map((leaf) => leaf.toString('hex'))
    const hashFunction = (left: string | number, right: string | number): string =>
      sha256(NODE, hexBytes(String(left)), hexBytes(String(right))).toString('hex')
    const options = { hashFunction, zeroElement: '00'.repeat(HASH_BYTES) }
    const tree = new fixedMerkleTree.MerkleTree(Math.log2(leaves.length), leaves, options)
    return {
      root: String(tree.root),
      async makeProofs(reader) {
        for (let i = 0; i < leaves.length; i++)
          for (const hash of tree.path(i).pathElements) reader.readHex(String(hash))
      },
    }
  },
})

const persistentMerkleTree = (): TreeBuilder => ({
  name: '@chainsafe/persistent-merkle-tree',
  difference: 'nodes of 64 bytes without a prefix, hashed in native code',
  async build(entries) {
    const depth = Math.log2(countEntries(entries))
    const nodes = splitEntries(entries).map((entry) => LeafNode.fromRoot(entry))
    const tree = new PersistentTree(subtreeFillToContents(nodes, depth))
    const root = Buffer.from(tree.root).toString('hex')
    return {
      root,
      async makeProofs(reader) {
        const first = 1n << BigInt(depth)
        for (let i = 0; i < countEntries(entries); i++) {
          const proof = createProof(tree.rootNode, { type: ProofType.single, gindex: first + BigInt(i) })
          if (proof.type === ProofType.single) for (const hash of proof.witnesses) reader.readHash(hash)
        }
      },
    }
  },
})

/** All trees that `sealing` compares, in the order of its table. */
export const TREE_BUILDERS: Readonly<Record<string, () => TreeBuilder>> = {
  libraryInline,
  libraryPooled: () => libraryPooled(4),
  createHashByHand,
  oneShotHashByHand,
  merkletreejs,
  persistentMerkleTree,
  fixedMerkleTree: fixedMerkleTreePackage,
}
