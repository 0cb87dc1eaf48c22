import { equalBytes } from '../bytes.ts'
import { BoundedMap } from '../store/bounded-map.ts'
import type { ProofBlock } from './proof-blocks.ts'
import type { SealedTree } from './sealed-tree.ts'
import { HASH_BYTES, nodeHash } from './tree/hash.ts'
import { rootFromInclusionProof } from './tree/proof.ts'
import { nodeAt, splitRow, TILE_WIDTH } from './tree/tile.ts'

/** The proofs of a part of a tile's leaves in one tree. */
type TileBlocks = readonly VerifiedBlock[]

/** Tiles of two trees for some 16,000 leaves each, 16 KiB for a tile. */
const MAX_CACHED_TILES = 128

/**
 * Makes the inclusion proofs of many leaves of which most lie close together, as those of a company do. From the second
 * leaf of a tile on, proofs are copied from a block that was verified once. They are the same as those of the log.
 */
export class BlockProofs implements Pick<SealedTree, 'proveInclusion'> {
  readonly #tree: Pick<SealedTree, 'proveInclusion' | 'proofBlocks'>
  /** By the tree and the tile. Without a block, until a second proof is wanted. */
  readonly #tiles = new BoundedMap<string, TileBlocks>(MAX_CACHED_TILES)

  constructor(tree: Pick<SealedTree, 'proveInclusion' | 'proofBlocks'>) {
    this.#tree = tree
  }

  /** As that of the log, which makes those that no block has: the first of a tile, and all of a damaged tile. */
  async proveInclusion(claim: Claim): Promise<readonly Uint8Array[]> {
    return (await this.#blockOf(claim))?.proofOf(claim) ?? this.#tree.proveInclusion(claim)
  }

  async #blockOf(claim: Claim): Promise<VerifiedBlock | undefined> {
    const { leafIndex, treeSize } = claim
    const key = `${treeSize}/${Math.floor(leafIndex / TILE_WIDTH)}`
    const known = this.#tiles.get(key)
    const block = known?.find(({ first, end }) => leafIndex >= first && leafIndex < end)
    if (known === undefined) this.#tiles.set(key, [])
    if (known === undefined || block !== undefined) return block
    for await (const [read] of this.#tree.proofBlocks({ from: leafIndex, to: leafIndex + 1, treeSize })) {
      const made = read && new VerifiedBlock(read, claim)
      if (made !== undefined) this.#tiles.set(key, [...known, made])
      return made
    }
    return undefined
  }
}

/** What is proven, and the root of the tree. */
type Claim = Parameters<SealedTree['proveInclusion']>[0]

/** A complete subtree within a tile, of which every node was hashed again, and the path from it to the tree's root. */
class VerifiedBlock {
  /** The leaves of the subtree: `first` to `end` (exclusive). */
  readonly first: number
  readonly end: number
  readonly #block: ProofBlock
  readonly #above: readonly Uint8Array[]
  readonly #root: Uint8Array
  readonly #isRight: boolean

  /** @param block - of any leaves of the subtree */
  constructor(block: ProofBlock, { treeSize, root }: Pick<Claim, 'treeSize' | 'root'>) {
    const width = 2 ** block.levels
    this.first = Math.floor(block.first / width) * width
    this.end = this.first + width
    this.#block = block
    this.#above = splitRow(block.above)
    this.#root = root
    this.#isRight = this.#hasRightNodes() && this.#leadsTo(treeSize, root)
  }

  /** The proof of a leaf of the subtree, `undefined` if it does not hold. */
  proofOf({ leafHash, leafIndex, root }: Claim): readonly Uint8Array[] | undefined {
    const isRight = this.#isRight && equalBytes(root, this.#root) && equalBytes(leafHash, this.#node(0, leafIndex))
    return isRight ? this.#pathOf(leafIndex) : undefined
  }

  #pathOf(leafIndex: number): readonly Uint8Array[] {
    const siblings = Array.from({ length: this.#block.levels }, (_, row) => {
      const index = Math.floor(leafIndex / 2 ** row)
      return this.#node(row, (index + (index % 2 === 0 ? 1 : -1)) * 2 ** row)
    })
    return [...siblings, ...this.#above]
  }

  /** The node of a row over this leaf. No hash if the tile does not hold it. */
  #node(row: number, leafIndex: number): Uint8Array {
    return nodeAt(this.#block.tile, row, (leafIndex % TILE_WIDTH) >> row) ?? new Uint8Array()
  }

  #hasRightNodes(): boolean {
    for (let row = 1; row <= this.#block.levels; row++)
      for (let leaf = this.first; leaf < this.end; leaf += 2 ** row) {
        const [left, right] = [this.#node(row - 1, leaf), this.#node(row - 1, leaf + 2 ** (row - 1))]
        const areHashes = left.length === HASH_BYTES && right.length === HASH_BYTES
        if (!areHashes || !equalBytes(nodeHash(left, right), this.#node(row, leaf))) return false
      }
    return true
  }

  #leadsTo(treeSize: number, root: Uint8Array): boolean {
    const { first } = this
    const claim = { leafHash: this.#node(0, first), leafIndex: first, treeSize, proof: this.#pathOf(first) }
    const computed = rootFromInclusionProof(claim)
    return computed !== undefined && equalBytes(computed, root)
  }
}
