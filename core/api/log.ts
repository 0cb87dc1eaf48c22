import type { ProofBlock, ProofRange } from '../log/proof-blocks.ts'
import type { LogPolicy } from '../schemas/bundle.ts'
import type { BatchQuery } from '../schemas/proof-inputs.ts'

/** A sealed batch, with the stamp and the anchor that cover it. */
export interface BatchSummary {
  readonly id: string
  /** Number of its entries. */
  readonly size: number
  /** Size of the log at the end of the batch. */
  readonly treeSize: number
  /** Root of the log at that size, hex. */
  readonly root: string
  readonly createdAt: Date
  /** `P` pending, `S` sent, `C` confirmed. */
  readonly sendStatus: 'P' | 'S' | 'C'
  /** Of the first stamp that covers it. */
  readonly stamp?: { readonly authority: string; readonly genTime: Date }
  /** Of the confirmed anchors that cover it, the one in the lowest block. */
  readonly anchor?: {
    readonly network: string
    readonly txHash: string
    readonly blockNumber: number
    readonly blockTime: Date
  }
}

export interface BatchPage {
  /** Newest first. */
  readonly items: readonly BatchSummary[]
  readonly hasMore: boolean
}

/** The log as it is published: read-only, for anyone. Formats: C2SP tlog-tiles and tlog-checkpoint. */
export interface PublishedLog {
  /** `NAME/ID`: the name of the log in every checkpoint. */
  readonly origin: string
  /**
   * C2SP verifier key of the newest checkpoint key that this process knows. Verifiers pin it. `policy` also has the
   * keys that another process has added since.
   */
  readonly verifierKey: string
  /**
   * What a verifier pins: keys, also those that another process has added, witnesses, authorities, chains. Not
   * authenticated by itself.
   *
   * @throws `CORRUPT` if the record of the log's identity is missing
   */
  policy(): Promise<LogPolicy>
  /** The same keys and witnesses as C2SP tlog-policy text. */
  policyText(): Promise<string>
  /** The newest signed checkpoint (the whole note), `undefined` before the first batch is sealed. */
  latestCheckpoint(): Promise<string | undefined>
  /**
   * The checkpoint that the log shows to everyone: the newest one. With witnesses, the newest that was submitted to
   * them and has a quorum, or to which each of them had time to respond, with their cosignatures: hardly more than a
   * minute old, and never smaller than an earlier one.
   */
  publishedCheckpoint(): Promise<string | undefined>
  /**
   * The signed checkpoint of a tree of exactly this size with its cosignatures, `undefined` if no batch ended there.
   *
   * @throws `VALIDATION_ERROR` if the size is not a whole number
   */
  checkpoint(treeSize: number): Promise<string | undefined>
  /**
   * The first `width` hashes of a tile, packed (32 bytes each).
   *
   * @param tile - `level` L covers tree level 8·L; `index` counts tiles of 256; `width` 1 to 256
   * @returns `undefined` if the sealed tree does not have so many
   * @throws `VALIDATION_ERROR` for other numbers, `CORRUPT` if the store has lost it
   */
  tile(tile: {
    readonly level: number
    readonly index: number
    readonly width: number
  }): Promise<Uint8Array | undefined>
  /**
   * The entries of a tile of level 0, each after its length in two bytes (big-endian); `undefined` if not all are
   * sealed.
   *
   * @throws `VALIDATION_ERROR` for other numbers than those of a tile
   */
  entryBundle(tile: { readonly index: number; readonly width: number }): Promise<Uint8Array | undefined>
  /**
   * The openings (hex) of the entries of a tile of level 0, for monitors; `undefined` if not all are sealed.
   *
   * @throws `VALIDATION_ERROR` for other numbers than those of a tile
   */
  openings(tile: { readonly index: number; readonly width: number }): Promise<readonly string[] | undefined>
  /**
   * Hashes from the leaf's sibling to the root (RFC 9162 § 2.1.3). Requires 0 <= leafIndex < treeSize <= the sealed
   * size.
   *
   * @throws `VALIDATION_ERROR` for other numbers
   */
  inclusionProof(path: { readonly leafIndex: number; readonly treeSize: number }): Promise<readonly Uint8Array[]>
  /**
   * Proof that a tree is the beginning of a larger one (RFC 9162 § 2.1.4). Requires 0 <= from <= to <= the sealed size.
   *
   * @throws `VALIDATION_ERROR` for other numbers
   */
  consistencyProof(sizes: { readonly from: number; readonly to: number }): Promise<readonly Uint8Array[]>
  /** The log positions of a batch, `end` exclusive; `undefined` if there is no such batch. */
  batchById(batchId: string): Promise<{ readonly start: number; readonly end: number } | undefined>
  /**
   * The sealed batches, newest first.
   *
   * @throws `VALIDATION_ERROR`, `BATCH_NOT_FOUND` if there is no batch with the id `after`
   * @example
   * const { items } = await registry.log.batches({ limit: 10 })
   */
  batches(query?: BatchQuery): Promise<BatchPage>
  /**
   * The tiles from which the inclusion proofs of a range of leaves are copied. `batchProofs` and `writeBatchProofs` of
   * `evidence-registry/sealer` read them and encode the proofs.
   */
  proofBlocks(range: ProofRange): AsyncGenerator<readonly ProofBlock[], void, undefined>
}

/** A key that signs checkpoints. */
export interface CheckpointKeyInfo {
  /** C2SP verifier key: `origin+hash+base64`. */
  readonly vkey: string
  /** `pending`: the signer has it, and it is not in the log yet. The next rotation takes the first pending one. */
  readonly state: 'retired' | 'current' | 'pending'
  /** The smallest tree size that it signs: one more than the position of its entry. `null` while it is pending. */
  readonly from: number | null
  /** The largest tree size that it signs. `null`: the current key, or pending. */
  readonly until: number | null
  /** Whether this process has the private key. A retired one is not needed. */
  readonly isHeld: boolean
  /** It was rotated out as known to others, which the policy says. */
  readonly isCompromised: boolean
}

interface RotateOptions {
  /** With shared records: every server has the pending key in its keyring. Default false. */
  readonly allServersHaveIt?: boolean
  /**
   * Others may know the current key: what it signed counts only with a proof that it is the beginning of its last tree.
   * Bundles of before the rotation must be fetched again. Default false.
   */
  readonly compromised?: boolean
}

/** The checkpoint keys of a log. */
export interface CheckpointKeys {
  /** All keys of the log, oldest first, then the pending ones. */
  list(): Promise<readonly CheckpointKeyInfo[]>
  /**
   * Puts the first pending key into the log, signed by the current key. From the first batch that contains its entry,
   * it signs the checkpoints. Returns the key.
   *
   * With shared records, another server that does not have the key cannot sign from then on, so the caller must say
   * that all have it.
   *
   * @throws RegistryError `CONFIG_ERROR` if there is no pending key, or with shared records without
   *   `allServersHaveIt`, `LOG_KEY_MISMATCH` if the current private key is not here, `UNAVAILABLE` if the log is
   *   unchanged, `UNKNOWN_OUTCOME` if the key may be in the log: look with `list`
   */
  rotate(options?: RotateOptions): Promise<CheckpointKeyInfo>
  /**
   * Marks an earlier key of which it turned out that others know it, as `rotate` does with `compromised`. The policy
   * says so at once.
   *
   * @param vkey the verifier key, as `list` returns it
   * @throws RegistryError `CONFIG_ERROR` if the log has no such key, or it is the current one: rotate that with
   *   `compromised`; `UNAVAILABLE` if it could not be marked
   * @example
   * const [first] = await registry.checkpointKeys.list()
   * await registry.checkpointKeys.markCompromised(first.vkey)
   */
  markCompromised(vkey: string): Promise<void>
}
