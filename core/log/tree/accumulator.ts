import { emptyRoot, nodeHash } from './hash.ts'

/**
 * Computes the root of a tree leaf by leaf, in bounded memory. It keeps only the complete subtrees at the right edge,
 * at most one for each level, so it cannot make proofs. Use it to read a whole log once.
 */
export class TreeAccumulator {
  /** Complete subtrees from left to right, from large to small: one for each bit that is set in the size. */
  readonly #subtrees: Uint8Array[]
  #size: number

  /** Default: an empty tree. Else one that another accumulator had read. */
  constructor({ size, subtrees }: Pick<TreeAccumulator, 'size' | 'subtrees'> = { size: 0, subtrees: [] }) {
    this.#size = size
    this.#subtrees = [...subtrees]
  }

  /** Leaves added so far. */
  get size(): number {
    return this.#size
  }

  /** What another accumulator needs to go on: hashes of 32 bytes, from large to small subtrees. */
  get subtrees(): readonly Uint8Array[] {
    return this.#subtrees
  }

  /** Adds one leaf hash, 32 bytes. */
  add(leaf: Uint8Array): void {
    let hash = leaf
    // Like adding 1 to a binary number: the new subtree is joined with each complete one of its size. Sizes exceed 32
    // bits.
    for (let left = this.#size; left % 2 === 1; left = (left - 1) / 2) {
      const subtree = this.#subtrees.pop()
      if (subtree !== undefined) hash = nodeHash(subtree, hash)
    }
    this.#subtrees.push(hash)
    this.#size += 1
  }

  /** The root of the leaves added so far (RFC 9162 § 2.1.1), 32 bytes. */
  root(): Uint8Array {
    const [smallest, ...larger] = this.#subtrees.toReversed()
    return larger.reduce((root, subtree) => nodeHash(subtree, root), smallest ?? emptyRoot())
  }
}
