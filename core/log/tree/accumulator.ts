import { emptyRoot, nodeHash } from './hasher.ts'

/**
 * A tree that grows leaf by leaf and knows its root, holding only the complete subtrees at its right edge (at most one a level): for
 * reading a whole log in bounded memory.
 */
export class TreeAccumulator {
  /** Complete subtrees from left to right, ever smaller: one for each bit of the size. */
  readonly #subtrees: Uint8Array[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds one leaf hash, 32 bytes. */
  add(leaf: Uint8Array): void {
    let hash = leaf
    // As in adding 1 to a binary number: every full subtree of the same size joins the new one. Sizes go beyond 32 bits.
    for (let left = this.#size; left % 2 === 1; left = (left - 1) / 2)
      hash = nodeHash(this.#subtrees.pop() as Uint8Array, hash)
    this.#subtrees.push(hash)
    this.#size += 1
  }

  /** The root of the tree so far (RFC 9162 § 2.1.1), 32 bytes. */
  root(): Uint8Array {
    let root: Uint8Array | undefined
    for (let i = this.#subtrees.length - 1; i >= 0; i--) {
      const subtree = this.#subtrees[i] as Uint8Array
      root = root === undefined ? subtree : nodeHash(subtree, root)
    }
    return root ?? emptyRoot()
  }
}
