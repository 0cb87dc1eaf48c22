import type { AnchorInfo } from './anchor.ts'
import type { Assurance, TimestampAuthorityInfo } from './timestamp-authority.ts'
import type { RecordStore } from './record-store.ts'
import type { Clock, Logger } from './runtime.ts'
import type { WitnessPolicy } from './witness.ts'

/**
 * Size and root of the last signed tree. Stored outside the record store, so that a store that was set back is noticed.
 */
export interface SignedHead {
  readonly size: number
  /** 32 bytes. */
  readonly root: Uint8Array
  /** How many lines the list of erasures had when it was kept, if there is one. */
  readonly erasures?: number
}

/** Stores the signed head. */
export interface SignedHeadKeeper {
  /** `undefined` before the first write. */
  read(): Promise<SignedHead | undefined>
  /** Durable when the promise resolves. */
  write(head: SignedHead): Promise<void>
}

/** Signs the checkpoints of a log, each with the key that the log's entries name. */
export interface LogSigner {
  /** `NAME/ID`: the log's name in checkpoints, and the key name of its signatures. */
  readonly origin: string
  /** Every checkpoint key of the log, oldest first. `isCompromised`: others may know it. */
  readonly keys: readonly { readonly verifierKey: string; readonly isCompromised: boolean }[]
  /**
   * Signs the checkpoint of a tree with the newest key whose entry the tree contains.
   *
   * @param size - number of leaves
   * @param root - 32 bytes
   * @returns the whole signed note
   * @throws a `RangeError` if the tree contains no key, `LOG_KEY_MISMATCH` if that key is not here
   */
  signCheckpoint(size: number, root: Uint8Array): Promise<string>
  /** Reads keys that another process has added. */
  refresh(): Promise<void>
  /** The verifier keys of the keyring that are not in the log. */
  pendingKeys(): Promise<readonly string[]>
}

/** What the registry gives to its sealer. */
export interface SealerHost {
  readonly records: RecordStore
  readonly signedHead: SignedHeadKeeper
  readonly identity: LogSigner
  readonly clock: Clock
  readonly logger: Logger
}

export interface SealerStatus {
  readonly sealedSize: Sealer['sealedSize']
  /** Number of entries in the log. */
  readonly logSize: number
  /**
   * Number of entries that wait for a batch, from the first on that must be sealed soon. 0 if there is none: the tokens
   * of a stamp alone are not sealed.
   */
  readonly unsealedEvents: number
  readonly lastBatchAt: Sealer['lastBatchAt']
  /** Size of the newest stamped checkpoint, 0 if there is none. */
  readonly stampedSize: number
  /** Size of the newest checkpoint with a confirmed anchor, 0 if there is none. */
  readonly anchoredSize: number
  /**
   * When the oldest batch that waits for a confirmed anchor was sealed, ms since 1970. `null` if none does, or there is
   * no chain.
   */
  readonly oldestUnanchoredAt: number | null
  /** The anchoring account has sent a transaction that is neither on record nor confirmed by the operator. */
  readonly hasAccountConflict: boolean
  /**
   * How often each step failed since the start, and the code of its last error. `engine`: the workers of the engines,
   * without which batches are hashed and evidences are made, more slowly.
   */
  readonly failures: Readonly<
    Record<'seal' | 'stamp' | 'anchor' | 'engine', { readonly count: number; readonly lastCode: string | null }>
  >
  /**
   * The codes of the errors of what failed at its last attempt, `STAMP_OVERDUE` or `ANCHOR_OVERDUE` if no stamp or
   * anchor was made for three intervals although entries wait for one, and the alarms of witnesses. Empty if everything
   * works now.
   */
  readonly currentFailures: readonly string[]
  /** The witnesses of the policy, in its order. */
  readonly witnesses: readonly WitnessStatus[]
}

export interface WitnessStatus {
  /** Its name in the policy. */
  readonly name: string
  /** The size of the checkpoint that it cosigned last, 0 before. */
  readonly size: number
  /** When it did, ms since 1970. */
  readonly cosignedAt: number | null
  /**
   * - `WITNESS_OTHER_HISTORY`: it has cosigned another history of this log. It gets no more requests.
   * - `WITNESS_AHEAD`: it has cosigned a larger tree than this log has.
   */
  readonly alarm: 'WITNESS_OTHER_HISTORY' | 'WITNESS_AHEAD' | null
}

/** What a verifier pins to check the stamps and anchors of a log. */
export interface SealerTrust {
  /** How many of the authorities make a stamp. 0 without authorities. */
  readonly quorum: number
  readonly authorities: readonly Pick<TimestampAuthorityInfo, 'name' | 'trustAnchors'>[]
  /** `undefined` without an anchor. */
  readonly chain: AnchorInfo | undefined
  /** Absent without witnesses. */
  readonly witnesses?: WitnessTrust
}

/** The witnesses that cosign a log. `submissionKey`: its public key with the type byte, as in `CheckpointSigner`. */
type WitnessTrust = WitnessPolicy & { readonly submissionKey?: Uint8Array }

/** Seals the log: batches, checkpoints, stamps, anchors. `createSealer` of `evidence-registry/sealer` makes one. */
export interface Sealer {
  /** Who vouches for time and anchor. `none` if there is no authority or chain. */
  readonly assurance: { readonly time: 'none' | Assurance; readonly anchor: 'none' | Assurance }
  readonly trust: SealerTrust
  /**
   * When the last batch was sealed, ms since 1970; `null` before the first one and before the start. Every write reads
   * it, so it must be cheap.
   */
  readonly lastBatchAt: number | null
  /** Number of entries in batches. Every write reads it, so it must be cheap. */
  readonly sealedSize: number
  /**
   * Whether its last step found that the store no longer holds what was signed. Nothing of such a store is sealed any
   * more. Every write reads it, so it must be cheap.
   */
  readonly isSetBack: boolean
  /**
   * Checks that the store still holds what was signed, recovers what a stopped process left unfinished, then starts the
   * loops.
   *
   * @throws `LOG_BEHIND_SIGNED` if the store was set back, `CORRUPT` if its tree does not fit its log
   */
  start(host: SealerHost): Promise<void>
  /** Says that events were appended. Called after each commit, so it must be cheap. */
  notify(): void
  /**
   * Seals the current log without waiting for `maxWaitMs`. Resolves when the batch is committed and its checkpoint
   * signed.
   */
  sealNow(signal?: AbortSignal): Promise<void>
  status(): SealerStatus
  /** Finishes the current step. The next start continues with what is left. */
  close(): Promise<void>
}

/**
 * Hashes Merkle trees (RFC 6962) over packed bytes. Engines differ in speed only: all of them return the same bytes.
 * They do not change their input, which the caller may use again when the promise settles. The result belongs to the
 * caller.
 *
 * @throws `ENGINE_FAILED` for a failure after which the call can be repeated, `CLOSED` after `close`
 */
export interface TreeEngine {
  /** For the status. An engine without workers has none. */
  readonly failures?: EngineFailures
  /**
   * Builds the tiles over one row of the tree.
   *
   * @param row - n × 32 bytes
   * @param kind - `entries`: each is hashed to its leaf H(00 ‖ entry) first; `nodes`: used as they are
   * @returns tiles of up to 256 hashes in order, each in the layout of core/log/tree/tile.ts. Only the last one may be
   * partial. Neighbouring tiles may be views of one buffer.
   */
  tiles(row: Uint8Array, kind: 'entries' | 'nodes'): Promise<readonly Uint8Array[]>
  close(): Promise<void>
}

/**
 * The private keys that sign checkpoints: a keyring file (`openCheckpointKeys` of `evidence-registry/adapters/files`),
 * or a key management service. They are independent of the root secret.
 *
 * A public key is passed as the bytes that a C2SP verifier key holds in base64: the type byte, which names the
 * algorithm, then the key. The only type at present is 1, Ed25519, so a public key has 33 bytes.
 */
export interface CheckpointSigner {
  /**
   * The public keys of all private keys that it can use now, in the order in which they are put into the log, also
   * those that were added meanwhile. It is called often, with shared records every few seconds: keep them for a short
   * time if reading them is a request.
   */
  publicKeys(): Promise<readonly Uint8Array[]>
  /**
   * Signs bytes with the private key of this public key. Takes a bounded time: the next batch waits for it.
   *
   * @returns the signature, for Ed25519 64 bytes
   * @throws RegistryError `LOG_KEY_MISMATCH` if it does not have that key. Another error counts as `UNAVAILABLE`: the
   *   sealer tries again
   */
  sign(publicKey: Uint8Array, bytes: Uint8Array): Promise<Uint8Array>
}

/** Failures of the workers of an engine. */
export interface EngineFailures {
  /** Since the start. */
  readonly count: number
  /** True until they finish a task again. */
  readonly isFailing: boolean
}
