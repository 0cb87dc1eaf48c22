import { leafHash, nodeHash, type NodeId } from '../../core/log/tree/hash.ts'
import { consistencyProof, inclusionProof, rootFromNodes } from '../../core/log/tree/proof.ts'

/**
 * An append-only Merkle tree (RFC 9162 § 2.1) that keeps every node in memory: 64 bytes of hashes for each leaf. It has
 * the root and makes the proofs of every size that it ever had.
 */
export class MerkleTree {
  /** Complete nodes by level, from the leaves up. */
  readonly #levels: Uint8Array[][] = [[]]

  /** Leaves added so far. */
  get size(): number {
    return this.#levels[0]?.length ?? 0
  }

  /** Hashes an entry of any length and appends it. Returns the index of its leaf. */
  add(entry: Uint8Array): number {
    return this.addLeafHash(leafHash(entry))
  }

  /** Appends a leaf that is already hashed, 32 bytes. Returns its index. The tree keeps the array: do not change it. */
  addLeafHash(hash: Uint8Array): number {
    let node = hash
    for (let level = 0; ; level++) {
      const row = (this.#levels[level] ??= [])
      const left = row.length % 2 === 1 ? row.at(-1) : undefined
      row.push(node)
      if (left === undefined) return this.size - 1
      node = nodeHash(left, node)
    }
  }

  /** The hash of a complete node, 32 bytes. Throws a `RangeError` for a node that the tree does not have yet. */
  node({ level, index }: NodeId): Uint8Array {
    const node = this.#levels[level]?.[index]
    if (node === undefined) throw new RangeError(`A tree of ${this.size} leaves has no complete node ${level}/${index}`)
    return node
  }

  /** The root of the first `size` leaves, by default of all. Throws a `RangeError` if there are fewer leaves. */
  root(size = this.size): Uint8Array {
    return rootFromNodes(size, (id) => this.node(id))
  }

  /**
   * The inclusion proof of a leaf in the tree of the first `treeSize` leaves, by default of all: its sibling hashes,
   * from the leaf to the root. Throws a `RangeError` unless 0 <= leafIndex < treeSize <= size.
   */
  inclusionProof(leafIndex: number, treeSize = this.size): readonly Uint8Array[] {
    return inclusionProof(leafIndex, treeSize, (id) => this.node(id))
  }

  /**
   * The proof that the tree of the first `to` leaves, by default of all, begins with the tree of the first `from`
   * leaves. Throws a `RangeError` unless 0 <= from <= to <= size.
   */
  consistencyProof(from: number, to = this.size): readonly Uint8Array[] {
    return consistencyProof(from, to, (id) => this.node(id))
  }
}
