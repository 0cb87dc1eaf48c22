import { equalBytes, toHex } from '../bytes.ts'
import { corrupt, isError, RegistryError } from '../errors.ts'
import type { RecordStore, SignedHead } from '../ports/index.ts'
import { readOne } from '../store/read.ts'
import { logKeys } from './keys.ts'
import { readProofBlocks, type ProofBlock, type ProofRange } from './proof-blocks.ts'
import type { TreeHeadRecord } from './records.ts'
import type { StoredTiles } from './tiles.ts'
import { emptyRoot, nodesOfRange, rangeHash, type LeafRange } from './tree/hash.ts'
import {
  consistencyRanges,
  inclusionRanges,
  verifyConsistency,
  verifyInclusion,
  type ConsistencyProof,
  type InclusionProof,
} from './tree/proof.ts'

/** Reads the sealed tree: its head, roots and proofs, from stored tiles. A size that is passed in must be sealed. */
export class SealedTree {
  readonly #records: RecordStore
  readonly #tiles: StoredTiles

  constructor(records: RecordStore, tiles: StoredTiles) {
    this.#records = records
    this.#tiles = tiles
  }

  /** Size and root of the sealed tree; the empty tree before the first batch. */
  async head(): Promise<TreeHeadRecord> {
    const head = await readOne(this.#records, logKeys.treeHead())
    return head ?? { size: 0, root: toHex(emptyRoot()), batchId: null, time: 0 }
  }

  /**
   * Checks at a start that the store still holds what was signed. Reads only the tiles at the right edge of the tree.
   *
   * `signed` must be read before this is called. In the other order, a batch that another sealer signs in between would
   * look like a tree that was set back.
   *
   * @throws RegistryError as `rootHolding`, and `CORRUPT` if the log is shorter than the tree
   */
  async assertHolds(signed: SignedHead | undefined): Promise<void> {
    const head = await this.head()
    await this.rootHolding(head, signed)
    if ((await this.#records.logSize()) < head.size)
      throw corrupt(`The log has fewer than the ${head.size} entries that are sealed`)
  }

  /**
   * Checks that the tree of a head contains the one that was signed last, and returns its root, 32 bytes.
   *
   * @throws RegistryError `LOG_BEHIND_SIGNED` if the tree is smaller than the signed one or has a different root at its
   *   size, `CORRUPT` if the tiles do not produce the root of the head
   */
  async rootHolding(head: TreeHeadRecord, signed: SignedHead | undefined): Promise<Uint8Array> {
    if (signed !== undefined && signed.size > head.size)
      throw behindSigned(
        `a checkpoint of ${signed.size} entries was signed, but the store has only ${head.size} sealed entries`,
      )
    const root = await this.rootAt(head.size)
    if (toHex(root) !== head.root) throw corrupt(`The tiles do not produce the root of the tree of ${head.size}`)
    if (signed !== undefined && !equalBytes(await this.rootAt(signed.size), signed.root))
      throw behindSigned(
        `the signed checkpoint of ${signed.size} entries has a different root than the store has at that size`,
      )
    return root
  }

  /** Hashes from the leaf's sibling to the root (RFC 9162 § 2.1.3). Requires position < treeSize. */
  async inclusionProof(position: number, treeSize: number): Promise<readonly Uint8Array[]> {
    return this.#hashesOf(inclusionRanges(position, treeSize))
  }

  /**
   * The inclusion proof of a leaf, verified, so that damaged tiles never become a wrong proof: then it throws
   * `CORRUPT`.
   */
  async proveInclusion(
    claim: Omit<InclusionProof, 'proof'> & { readonly root: Uint8Array },
  ): Promise<readonly Uint8Array[]> {
    const proof = await this.inclusionProof(claim.leafIndex, claim.treeSize)
    assertStored(() => verifyInclusion({ ...claim, proof }))
    return proof
  }

  /** The consistency proof between two trees, verified as in `proveInclusion`. */
  async proveConsistency(trees: Omit<ConsistencyProof, 'proof'>): Promise<readonly Uint8Array[]> {
    const proof = await this.consistencyProof(trees.fromSize, trees.toSize)
    assertStored(() => verifyConsistency({ ...trees, proof }))
    return proof
  }

  /**
   * What the inclusion proofs of leaves `from` to `to` (exclusive) are copied from, in order, each block within one
   * tile. Reads a bounded number of tiles ahead. Requires from <= to <= treeSize.
   */
  proofBlocks(range: ProofRange): AsyncGenerator<readonly ProofBlock[], void, undefined> {
    return readProofBlocks(this.#tiles, range)
  }

  /** RFC 9162 § 2.1.4; empty if the sizes are equal. Requires from <= to. */
  async consistencyProof(from: number, to: number): Promise<readonly Uint8Array[]> {
    return this.#hashesOf(consistencyRanges(from, to))
  }

  /** The root of the tree of any sealed size, computed from tiles. */
  async rootAt(size: number): Promise<Uint8Array> {
    const [root] = size === 0 ? [] : await this.#hashesOf([{ start: 0, end: size }])
    return root ?? emptyRoot()
  }

  async #hashesOf(ranges: readonly LeafRange[]): Promise<readonly Uint8Array[]> {
    const source = await this.#tiles.nodes(ranges.flatMap(nodesOfRange))
    return ranges.map((range) => rangeHash(range, source))
  }
}

const behindSigned = (what: string): RegistryError =>
  new RegistryError(
    'LOG_BEHIND_SIGNED',
    `The record store was set back or replaced: ${what}. Entries for which others hold proofs are lost. Restore the ` +
      'newest store, or a later backup. If there is none, start a new log with an empty store and a new secret, and ' +
      'keep this one only for reading: this log must not be signed again',
  )

/** Throws `CORRUPT` if a proof from stored tiles does not hold. */
function assertStored(verify: () => void): void {
  try {
    verify()
  } catch (cause) {
    throw corrupt(`The stored tiles are damaged. ${isError(cause) ? cause.message : ''}`, cause)
  }
}
