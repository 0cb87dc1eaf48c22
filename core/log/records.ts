import type { AnchorInfo, Assurance, BlockInclusion, ValidationData, WitnessStatus } from '../ports/index.ts'

/**
 * The records that the log keeps beside its entries: identity, tree head, batches, checkpoints, stamps, anchors. They
 * are stored as JSON. Hashes in them are 64 lowercase hex digits, times are ms since 1970. Their keys are in
 * `core/log/keys.ts`.
 */

export interface LogIdentityRecord {
  /** `NAME/ID`, fixed at the first start. */
  readonly origin: string
  /** Every checkpoint key, oldest first. */
  readonly keys: readonly LogKeyRecord[]
  /** Identifies the root secret, 32 hex digits. */
  readonly secretId: string
  readonly createdAt: number
  /** Keys the hashes of texts in keys of records: 32 random bytes, hex. */
  readonly textKey: string
}

export interface LogKeyRecord {
  /** The key's log entry, hex. */
  readonly entry: string
  /** The C2SP verifier key. */
  readonly vkey: string
  /** It was rotated out because others may know it: what it signed counts only if it leads to its last tree. */
  readonly compromised?: true
}

export interface TreeHeadRecord {
  readonly size: number
  readonly root: string
  /** The last batch, `null` before the first one. */
  readonly batchId: string | null
  /** The time of the last batch. */
  readonly time: number
}

/** Which of several sealers is active. Each renewal changes the version of the record. */
export interface SealerLeaseRecord {
  readonly holder: string
  /** What the holder signed last. The root is hex. */
  readonly signed?: { readonly size: number; readonly root: string }
  /** Its last step failed: another sealer may take the lease over at once. */
  readonly isFailing?: boolean
}

/** A batch of the entries `start` to `end` (exclusive). It stores no state, so it never changes. */
export interface BatchRecord {
  readonly id: string
  readonly start: number
  readonly end: number
  /** The root of the whole log at `end`. */
  readonly root: string
  readonly createdAt: number
  /** The id of the previous batch, `null` for the first one. */
  readonly previous: string | null
}

/** Stored by id and by root: the end of the batch, which is the batch's own key. */
export interface BatchIndexRecord {
  readonly end: number
}

export interface CheckpointRecord {
  readonly size: number
  readonly root: string
  /** The whole signed note. */
  readonly note: string
}

/**
 * The tokens over one checkpoint, in the order in which they arrived. It is a stamp when it has tokens of a quorum of
 * distinct authorities. Until then it is stored under `logKeys.partialStamp`.
 */
export interface StampRecord {
  /** The size of the checkpoint that was stamped. */
  readonly size: number
  /** Its whole signed note. */
  readonly checkpoint: string
  readonly tokens: readonly StampToken[]
  /** When the first token arrived, by the registry's clock. */
  readonly beganAt: number
  /** How many distinct authorities were the quorum when it was reached. Absent until then. */
  readonly quorum?: number
}

/**
 * Every commit that stores a stamp, with or without its quorum, also writes this record. So its version says whether
 * any stamp has changed.
 */
export interface StampHeadRecord {
  /** The size of that stamp. It may be smaller than that of another one: late tokens are added to older stamps. */
  readonly size: number
}

/** Whose tokens make a stamp, and how many of them. */
export interface StampRules {
  readonly quorum: number
  /** In the order of their names. Certificates are base64 of their DER. */
  readonly authorities: readonly { readonly name: string; readonly trustAnchors: readonly string[] }[]
}

/** The rules from one tree size on. */
export interface StampPeriod extends StampRules {
  readonly from: number
  /** The log entry (hex) of the last token of its first stamp. All tokens of the periods before are earlier entries. */
  readonly entry: string
}

/** Verifiers pin all periods. The stamp that is the first one under other rules begins one. */
export interface StampHistoryRecord {
  /** By `from`, ascending. */
  readonly periods: readonly StampPeriod[]
}

export interface StampToken {
  readonly authority: string
  readonly assurance: Assurance
  /** The time that the authority claims. */
  readonly genTime: number
  /** Hex. */
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
  /** For example `sha256`. */
  readonly hashAlgorithm: string
  /** The hash that was stamped, hex: the hash of the checkpoint's bytes. */
  readonly imprint: string
  /** Base64 of the whole TimeStampResp. */
  readonly token: string
  /**
   * SHA-256 (hex) of the public key of each certificate by which the authority was trusted. Two authorities that share
   * one are not distinct.
   */
  readonly trustAnchors: readonly string[]
  /** The validation data with which the token can be verified later. */
  readonly evidence: readonly ValidationDataRef[]
}

/** Refers to validation data by the SHA-256 (hex) of its DER. */
export interface ValidationDataRef {
  readonly type: ValidationData['type']
  readonly sha256: string
}

/** What witnesses have cosigned of one checkpoint that was submitted to them. */
export interface CosignedRecord {
  /** The size of the checkpoint. */
  readonly size: number
  /** When it was first submitted. */
  readonly submittedAt: number
  /**
   * Of each witness, by its C2SP verifier key: signature lines without the line feed. The first one says since when the
   * witness knows the checkpoint. A log without new entries has the same checkpoint cosigned again and again.
   */
  readonly cosignatures: readonly { readonly vkey: string; readonly first: string; readonly newest: string }[]
}

/** The state of the submissions. Every commit that stores a cosignature also writes it, so its version shows that. */
export interface WitnessesRecord {
  /** The size of the checkpoint that was submitted last. 0 if the log was sealed without witnesses since. */
  readonly size: number
  /**
   * The size of the checkpoint that the log shows: the one that was submitted before, until the last one has a quorum,
   * or each witness has responded or had its time. Absent: `size`.
   */
  readonly shown?: number
  /** When it was submitted last. */
  readonly submittedAt: number
  readonly witnesses: readonly WitnessState[]
  /** Up to which size old cosignatures were thinned, and the newest hour of which one is kept, in hours since 1970. */
  readonly thinned: { readonly size: number; readonly hour: number }
}

/** `cosignedAt` is by the registry's clock. */
export interface WitnessState extends Omit<WitnessStatus, 'name'> {
  /** The C2SP verifier key of the witness. */
  readonly vkey: string
  /** The size of the first checkpoint that was submitted to it. */
  readonly from: number
}

export interface AnchorTransaction {
  readonly ref: string
  /** Base64. */
  readonly raw: string
  readonly preparedAt: number
}

export interface AnchorRecord {
  readonly size: number
  readonly root: string
  /** The whole signed note: the bytes that were anchored. */
  readonly checkpoint: string
  readonly info: AnchorInfo
  /**
   * Every transaction that was prepared for it. A replacement must not hide an earlier one, which may be mined after
   * all.
   */
  readonly transactions: readonly AnchorTransaction[]
  /**
   * - `prepared`: stored, and perhaps sent.
   * - `sent`: accepted by the chain's endpoint.
   * - `confirmed`: deep enough in the chain.
   * - `lost`: dropped or reorganized away by the chain, and covered by a later anchor.
   */
  readonly state: 'prepared' | 'sent' | 'confirmed' | 'lost'
  readonly confirmation?: AnchorConfirmation
}

export interface AnchorConfirmation extends BlockInclusion {
  readonly ref: string
  /** Base64 of the inclusion proof that the adapter returned. */
  readonly evidence: string
}

export interface AnchorHeadRecord {
  /** The largest size of a confirmed anchor, 0 without one. */
  readonly confirmedSize: number
  /** The largest size of an anchor that was sent and not lost, or is confirmed. */
  readonly sentSize: number
  /** The size of the one outstanding anchor, `null` without one. */
  readonly outstanding: number | null
  /** Sizes of confirmed anchors that a reorganization of the chain can still remove, ascending. */
  readonly unsettled: readonly number[]
  /** Every account that has anchored, in order. `from`: the size of the first anchor that it sent. */
  readonly accounts: readonly { readonly info: AnchorInfo; readonly from: number }[]
}

/** The head before the first anchor. */
export const NO_ANCHORS: AnchorHeadRecord = {
  confirmedSize: 0,
  sentSize: 0,
  outstanding: null,
  unsettled: [],
  accounts: [],
}

/** The operator knows of the first `uses` transactions of the account that anchors. */
export interface ConfirmedUsesRecord {
  readonly info: AnchorInfo
  readonly uses: number
}

/**
 * The block of a confirmed anchor. On one chain, blocks rise with sizes: each anchor is sent after all smaller ones are
 * confirmed. So the first anchor of a size or a larger one is in the lowest block that covers it.
 */
export interface ConfirmedAnchorRecord {
  readonly size: number
  readonly blockNumber: number
}
