import {
  LeafNode,
  ProofType,
  Tree as PersistentTree,
  createProof,
  subtreeFillToContents,
} from '@chainsafe/persistent-merkle-tree'
import { SimpleMerkleTree } from '@openzeppelin/merkle-tree'
import fixedMerkleTree from 'fixed-merkle-tree'
import MerkleGenerator from 'merkle-tree-stream/generator.js'
import { MerkleTree } from 'merkletreejs'
import { createHash, hash as oneShot } from 'node:crypto'
import { countOf, eachEntry, HASH, type Contestant } from '../workload/tree-builder.ts'

/**
 * What npm has, each as its documentation shows it, hashing with node:crypto where it takes a hash function. Given a hash with
 * the prefixes of RFC 6962 all but two (`otherwise`) build the same tree as we, at powers of two, so their roots are compared.
 */

const LEAF = Buffer.of(0)
const NODE = Buffer.of(1)
const sha256 = (...parts: readonly Uint8Array[]): Buffer => oneShot('sha256', Buffer.concat(parts), 'buffer')
const leaves = (entries: Uint8Array): Buffer[] => eachEntry(entries).map((entry) => sha256(LEAF, entry))
const hexBytes = (hex: string): Buffer => Buffer.from(hex.startsWith('0x') ? hex.slice(2) : hex, 'hex')

/** The packed tree by hand, with whatever hashes 65 bytes: what one would write first. */
function byHand(name: string, digest: (bytes: Uint8Array) => Uint8Array): Contestant {
  return {
    name,
    async build(entries) {
      const [leafInput, nodeInput] = [new Uint8Array(33), new Uint8Array(65).fill(1, 0, 1)]
      let row = new Uint8Array(entries.length)
      for (let at = 0; at < row.length; at += HASH) {
        leafInput.set(entries.subarray(at, at + HASH), 1)
        row.set(digest(leafInput), at)
      }
      const rows = [row]
      while (row.length > HASH) {
        const above = new Uint8Array(row.length / 2)
        for (let at = 0; at < above.length; at += HASH) {
          nodeInput.set(row.subarray(at * 2, (at + HASH) * 2), 1)
          above.set(digest(nodeInput), at)
        }
        rows.push(above)
        row = above
      }
      return {
        root: Buffer.from(row).toString('hex'),
        async proofs(taken) {
          const proof = new Uint8Array((rows.length - 1) * HASH)
          for (let i = 0; i < countOf(entries); i++) {
            for (let level = 0; level < rows.length - 1; level++) {
              const at = ((i >> level) ^ 1) * HASH
              proof.set((rows[level] as Uint8Array).subarray(at, at + HASH), level * HASH)
            }
            taken.takePacked(proof)
          }
        },
      }
    },
  }
}

export const withCreateHash = (): Contestant =>
  byHand('createHash, by hand', (bytes) => createHash('sha256').update(bytes).digest())

export const withOneShot = (): Contestant =>
  byHand('crypto.hash, by hand', (bytes) => oneShot('sha256', bytes, 'buffer'))

export const merkletreejs = (): Contestant => ({
  name: 'merkletreejs',
  async build(entries) {
    const given = leaves(entries)
    const tree = new MerkleTree(given, (pair: Buffer) => sha256(NODE, pair))
    return {
      root: tree.getRoot().toString('hex'),
      async proofs(taken) {
        for (const [i, leaf] of given.entries()) for (const { data } of tree.getProof(leaf, i)) taken.take(data)
      },
    }
  },
})

export const openZeppelin = (): Contestant => ({
  name: '@openzeppelin/merkle-tree',
  otherwise: 'it sorts each pair, and checks each proof that it gives',
  async build(entries) {
    const nodeHash = (a: unknown, b: unknown): string => {
      const [left, right] = [hexBytes(String(a)), hexBytes(String(b))].sort((one, other) =>
        Buffer.compare(one, other),
      ) as [Buffer, Buffer]
      return `0x${sha256(NODE, left, right).toString('hex')}`
    }
    const values = leaves(entries).map((leaf) => `0x${leaf.toString('hex')}`)
    const tree = SimpleMerkleTree.of(values, { sortLeaves: false, nodeHash })
    return {
      root: tree.root.slice(2),
      async proofs(taken) {
        for (let i = 0; i < values.length; i++) for (const hash of tree.getProof(i)) taken.takeText(hash, 2)
      },
    }
  },
})

export const fixed = (): Contestant => ({
  name: 'fixed-merkle-tree',
  async build(entries) {
    const given = leaves(entries).map((leaf) => leaf.toString('hex'))
    const hashFunction = (left: string | number, right: string | number): string =>
      sha256(NODE, hexBytes(String(left)), hexBytes(String(right))).toString('hex')
    const options = { hashFunction, zeroElement: '00'.repeat(HASH) }
    const tree = new fixedMerkleTree.MerkleTree(Math.log2(given.length), given, options)
    return {
      root: String(tree.root),
      async proofs(taken) {
        for (let i = 0; i < given.length; i++)
          for (const hash of tree.path(i).pathElements) taken.takeText(String(hash))
      },
    }
  },
})

export const persistent = (): Contestant => ({
  name: '@chainsafe/persistent-merkle-tree',
  otherwise: 'nodes of 64 bytes without a prefix, hashed in native code',
  async build(entries) {
    const depth = Math.log2(countOf(entries))
    const nodes = eachEntry(entries).map((entry) => LeafNode.fromRoot(entry))
    const tree = new PersistentTree(subtreeFillToContents(nodes, depth))
    const root = Buffer.from(tree.root).toString('hex')
    return {
      root,
      async proofs(taken) {
        const first = 1n << BigInt(depth)
        for (let i = 0; i < countOf(entries); i++) {
          const proof = createProof(tree.rootNode, { type: ProofType.single, gindex: first + BigInt(i) })
          if (proof.type === ProofType.single) for (const hash of proof.witnesses) taken.take(hash)
        }
      },
    }
  },
})

export const merkleTreeStream = (): Contestant => ({
  name: "merkle-tree-stream (hypercore's)",
  async build(entries) {
    const generator = new MerkleGenerator({
      leaf: ({ data }) => sha256(LEAF, data ?? LEAF),
      parent: (left, right) => sha256(NODE, left.hash, right.hash),
    })
    // By flat-tree index, as hypercore keeps them.
    const hashes: Uint8Array[] = []
    let root: Uint8Array = new Uint8Array()
    for (const entry of eachEntry(entries))
      for (const node of generator.next(entry)) {
        hashes[node.index] = node.hash
        root = node.hash
      }
    const depth = Math.log2(countOf(entries))
    return {
      root: Buffer.from(root).toString('hex'),
      async proofs(taken) {
        for (let i = 0; i < countOf(entries); i++) {
          const proof: Uint8Array[] = []
          for (let level = 0; level < depth; level++) {
            const sibling = (i >> level) ^ 1
            proof.push(hashes[sibling * 2 ** (level + 1) + 2 ** level - 1] as Uint8Array)
          }
          for (const hash of proof) taken.take(hash)
        }
      },
    }
  },
})
