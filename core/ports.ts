/**
 * The ports: what the registry needs from outside, small and split by guarantee. The comment on each member is its
 * contract; `test/contract` holds a suite per port that an adapter must pass. No member is optional. One file, long as it is: whoever
 * writes an adapter or embeds the core finds all that is asked of them here.
 */

/** Printable ASCII, at most 2,048 characters, ordered bytewise. Only `core/store/keys.ts` builds keys. */
export type Key = string

/** Opaque token of one committed state of a key. Compare for equality only; never used twice, also after a deletion. */
export type Version = string & { readonly __brand: 'Version' }

export interface Entry {
  readonly key: Key
  /** A counter's value is its 8 bytes big-endian, two's complement. */
  readonly value: Uint8Array
  readonly version: Version
}

export interface Range {
  /** First key, inclusive. */
  readonly gte: Key
  /** End, exclusive. */
  readonly lt: Key
  readonly reverse?: boolean
  /** Default: no limit. */
  readonly limit?: number
}

export interface Check {
  readonly key: Key
  /** The version the key must still have; `null`: it must not exist. A counter is a key too. */
  readonly version: Version | null
}

export interface Write {
  readonly key: Key
  /** `null` deletes. Deleting what is not there is no fault. */
  readonly value: Uint8Array | null
}

export interface Add {
  readonly key: Key
  /** A safe integer, may be negative. A counter that does not exist counts from 0. */
  readonly delta: number
}

export interface Commit {
  /** All must hold, or nothing is applied. */
  readonly checks?: readonly Check[]
  /** Applied all or none. A key appears at most once among `writes` and `adds` together. */
  readonly writes?: readonly Write[]
  /** Added to 64-bit counters without a conflict; they change the counter's version. */
  readonly adds?: readonly Add[]
  /** n × 32 bytes: log entries, appended in this order as one contiguous piece. */
  readonly append?: Uint8Array
}

export type CommitResult =
  | {
      readonly ok: true
      /** The version that every key written or added to by this commit has now. */
      readonly version: Version
      /** The log's size just before this commit: the position of its first appended entry. */
      readonly firstPosition: number
    }
  | {
      readonly ok: false
      /** Every key whose check did not hold. */
      readonly conflicts: readonly Key[]
    }

/**
 * An ordered map of key → bytes, and one dense append-only log of 32-byte entries, changed together.
 *
 * A fault throws `UNAVAILABLE` where nothing was applied, `UNKNOWN_OUTCOME` where that could not be learnt (a caller
 * that retries must carry a check that the first try would have broken), `STORE_POISONED` once a failed write has made
 * the store read-only, `CLOSED` after `close`.
 */
export interface RecordStore {
  /** One consistent snapshot, in the order of `keys`. */
  get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]>
  /** In key order. Each page of an adapter is consistent, the whole iteration need not be. Reads no more than it yields, by a bounded page. */
  list(range: Range): AsyncIterable<Entry>
  /** Atomic, serializable, and durable (synced) when it answers `ok`. */
  commit(commit: Commit): Promise<CommitResult>
  /** Up to `count` entries from position `from`, packed (n × 32 bytes); fewer only where the log ends. */
  readLog(from: number, count: number): Promise<Uint8Array>
  /** The number of entries in the log. */
  logSize(): Promise<number>
  /** The log position of each 32-byte entry, `undefined` where it is not in the log. Of equal entries, the first. */
  positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]>
  close(): Promise<void>
}

export interface PutOptions {
  /** One byte more throws `PAYLOAD_TOO_LARGE` and keeps nothing. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** What a put found: its size in bytes, and the SHA-256 (32 bytes) of exactly these bytes. */
export interface BlobDigest {
  readonly size: number
  readonly sha256: Uint8Array
}

export interface BlobBody {
  /** Size of the whole blob in bytes, also where a range was asked for. */
  readonly size: number
  /** Iterate it once. What is not read to its end must be let go: by the iterator's `return` (as leaving a `for await` does), or by the signal. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface BlobRange {
  /** First byte, inclusive. Requires 0 <= start < end <= size: else `RANGE_NOT_SATISFIABLE`. */
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/**
 * Write-once bytes by key, streaming both ways. A key is 1 to 128 of `A-Z a-z 0-9 _ -` (anything else: a TypeError) and is
 * never reused. A fault throws `UNAVAILABLE`, stored bytes that are not whole any more `CORRUPT`, everything after `close`
 * `CLOSED`. What a given body throws, and an abort's reason, pass through as they are.
 */
export interface BlobStore {
  /** Durable when it answers; a put that fails or is aborted leaves nothing to be seen. A second put to a key throws `UNAVAILABLE` and changes nothing. */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest>
  /** `undefined` where there is none. The body is opened before this answers, so a later delete does not cut it. */
  get(key: string, range?: BlobRange, signal?: AbortSignal): Promise<BlobBody | undefined>
  /** Idempotent; durable when it answers. */
  delete(key: string): Promise<void>
  close(): Promise<void>
}

/** Who vouches: the embedded parts are the operator's own, real chains and authorities are independent of it. */
export type Assurance = 'operator' | 'independent'

export interface AnchorInfo {
  /** `local`, `evm`, … */
  readonly type: string
  readonly network: string
  /** 0 where the chain has none. */
  readonly chainId: number
  readonly assurance: Assurance
}

export interface PreparedAnchor {
  /** The transaction's hash, as the chain writes it. */
  readonly ref: string
  /** Signed bytes, complete: sending them again is harmless. */
  readonly raw: Uint8Array
}

export interface BlockInclusion {
  readonly blockNumber: number
  readonly blockHash: string
  /** The chain's own time of the block, ms since 1970. */
  readonly blockTime: number
  readonly confirmations: number
}

export type AnchorStatus =
  /** The chain does not know it: never sent, dropped, or reorged away. Sending it again may help. */
  | { readonly state: 'unknown' }
  /**
   * Waits for a block, or for certainty that another transaction took its place. `stuck`: as things stand it is passed over (it offers
   * too little by now, or a transaction before it is missing), and one that replaces it would not be.
   */
  | { readonly state: 'pending'; readonly stuck: boolean }
  /** In a block, not deep enough yet. */
  | ({ readonly state: 'included' } & BlockInclusion)
  /**
   * Deep enough by the adapter's own setting. `evidence` is what nodes prune later: it is kept with the record. `settled`: so deep that
   * no reorganisation will reach it; until then it is asked after again.
   */
  | ({ readonly state: 'confirmed'; readonly proof: Uint8Array; readonly settled: boolean } & BlockInclusion)
  /** It can never be included as it is: another transaction used its nonce, and is deep enough. */
  | { readonly state: 'failed'; readonly reason: string }

/** Puts checkpoints on a chain. Throws `ANCHOR_FAILED` for what can be tried again. */
export interface Anchor {
  readonly info: AnchorInfo
  /**
   * Fixes and signs, sends nothing. `replaces` are earlier transactions for the same anchor that are stuck or failed. What was prepared
   * and never broadcast leaves no trace: of two prepared without a broadcast between them perhaps only one can be included.
   */
  prepare(
    request: { readonly checkpoint: Uint8Array; readonly replaces?: readonly PreparedAnchor[] },
    signal?: AbortSignal,
  ): Promise<PreparedAnchor>
  /** Idempotent: the same bytes may be sent any number of times. */
  broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<void>
  /** One status per transaction, in order. */
  status(transactions: readonly PreparedAnchor[], signal?: AbortSignal): Promise<readonly AnchorStatus[]>
  close(): Promise<void>
}

export interface TimestampAuthorityInfo {
  readonly name: string
  readonly assurance: Assurance
  /** DER certificates that its tokens lead to. Authorities are distinct where these are, whatever their names. */
  readonly trustAnchors: readonly Uint8Array[]
}

/** Something that a later check of a token uses and that vanishes from the net. */
export interface ValidationData {
  readonly type: 'certificate' | 'crl' | 'ocsp'
  /** DER of a Certificate (RFC 5280), a CertificateList (RFC 5280) or an OCSPResponse (RFC 6960). */
  readonly der: Uint8Array
}

/** RFC 3161. Throws `AUTHORITY_FAILED` for what can be tried again. */
export interface TimestampAuthority {
  readonly info: TimestampAuthorityInfo
  /** Stamps the SHA-256, -384 or -512 of `bytes`; answers the whole DER TimeStampResp, checked (imprint, nonce, signature, chain) before it is returned. */
  stamp(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>
  /**
   * What should be kept with a response that `stamp` gave. Best effort and for a bounded time: what cannot be had is left out. Throws
   * `AUTHORITY_FAILED` where it says that the response was signed by a revoked certificate.
   */
  validationDataOf(response: Uint8Array, signal?: AbortSignal): Promise<readonly ValidationData[]>
  close(): Promise<void>
}

/**
 * RFC 6962 hashing over packed bytes. Engines differ in speed only: all give the same bytes. Inputs are not changed
 * and may be reused when the promise settles; what is answered is the caller's. Throws `ENGINE_FAILED` for what can be
 * done again, `UNAVAILABLE` where too much waits already, `CLOSED` after `close`.
 */
export interface TreeEngine {
  /**
   * Builds tiles of 256 (core/log/tree/tile.ts) over one row of the tree.
   * `entries`: n × 32 bytes, hashed to leaves H(00 ‖ entry) first; `nodes`: n × 32 bytes, taken as they are.
   * Answers the tiles in order, each in the layout of `tile.ts`; only the last may be partial. Neighbours may be views of one buffer.
   */
  tiles(row: Uint8Array, kind: 'entries' | 'nodes', signal?: AbortSignal): Promise<readonly Uint8Array[]>
  close(): Promise<void>
}

/** The size and root last signed: kept outside the record store, so that a store set back is noticed. */
export interface SignedHead {
  readonly size: number
  /** 32 bytes. */
  readonly root: Uint8Array
}

export interface SignedHeadKeeper {
  read(): Promise<SignedHead | undefined>
  /** Durable when it answers. */
  write(head: SignedHead): Promise<void>
}

/** Time. Tests own it. */
export interface Clock {
  /** ms since 1970. */
  now(): number
  /** Rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** What pino offers, as far as it is used here. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Whose log it is, and who signs for it. */
export interface CheckpointSigner {
  /** `NAME/ID`: the log's name in checkpoints, and the note's key name. */
  readonly origin: string
  /**
   * The whole signed note for a tree of `size` with this root (32 bytes), by the newest key whose entry that tree holds. Ed25519
   * is deterministic: the same bytes each time. Throws a RangeError for a tree without a key.
   */
  signCheckpoint(size: number, root: Uint8Array): string
  /** Learns of keys that another process has added. */
  refresh(): Promise<void>
}

/** What the registry gives its sealer to work with. */
export interface SealerHost {
  readonly records: RecordStore
  readonly signedHead: SignedHeadKeeper
  readonly identity: CheckpointSigner
  readonly clock: Clock
  readonly logger: Logger
  /** Sealers of other processes work on the same records: one at a time is enough. Default false. */
  readonly sharedRecords?: boolean
}

export interface SealerStatus {
  /** Entries in batches. */
  readonly sealedSize: number
  /** Entries in the log. */
  readonly logSize: number
  readonly lastBatchAt: number | null
  /** Sizes of the newest stamped and confirmed checkpoints, 0 where there is none. */
  readonly stampedSize: number
  readonly anchoredSize: number
  /** Steps that failed since the start, by step, and the last error's code of each. */
  readonly failures: Readonly<
    Record<'seal' | 'stamp' | 'anchor', { readonly count: number; readonly lastCode: string | null }>
  >
}

/** Seals the log: batches, checkpoints, stamps, anchors. `sealer/` implements it. */
export interface Sealer {
  /** Who vouches for time and anchor: `none` where there is no authority or chain. */
  readonly assurance: { readonly time: 'none' | Assurance; readonly anchor: 'none' | Assurance }
  /**
   * Checks that the store still holds what was signed, recovers what a stopped process left unfinished, then starts the
   * loops. Throws `LOG_BEHIND_SIGNED` if the store was set back, `CORRUPT` if its tree does not fit its log.
   */
  start(host: SealerHost): Promise<void>
  /** Events were appended. Cheap; called after each commit. */
  notify(): void
  /** Seals what the log holds now without waiting for `maxWait`; answers when the batch is committed and its checkpoint signed. */
  sealNow(signal?: AbortSignal): Promise<void>
  status(): SealerStatus
  /** Finishes the step under way; what is left is done at the next start. */
  close(): Promise<void>
}
