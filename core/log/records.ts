import type { AnchorInfo, Assurance, ValidationData } from '../ports.ts'

/**
 * What the log keeps beside its entries: the identity, the tree's head, batches, checkpoints, stamps, anchors. Stored as
 * JSON (tiles as bytes). Hashes are lowercase hex here, 64 digits.
 */

export interface LogIdentityRecord {
  /** `NAME/ID`, fixed at the first start. */
  readonly origin: string
  /** Each checkpoint key there was: its number (for the derivation), its log entry (hex), its verifier key (C2SP vkey). */
  readonly keys: readonly { readonly generation: number; readonly entry: string; readonly vkey: string }[]
  readonly createdAt: number
}

export interface TreeHeadRecord {
  readonly size: number
  readonly root: string
  /** The last batch, `null` before the first. */
  readonly batchId: string | null
  /** Its time, ms since 1970. */
  readonly time: number
}

/** Which of several sealers works; each renewal changes the record's version. */
export interface SealerLeaseRecord {
  readonly holder: string
}

/** Entries `start` to `end` (exclusive); `root` is the root of the whole log at `end`. A batch stores no state. */
export interface BatchRecord {
  readonly id: string
  readonly start: number
  readonly end: number
  readonly root: string
  readonly createdAt: number
  /** Id of the batch before, `null` for the first. */
  readonly previous: string | null
}

/** Under the batch's id: where it is. */
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
 * The tokens over one checkpoint, in the order in which they came. It is a stamp once a quorum of distinct authorities is in it, and stands
 * under `keys.partialStamp` until then.
 */
export interface StampRecord {
  /** Size and note of the checkpoint that was stamped. */
  readonly size: number
  readonly checkpoint: string
  readonly tokens: readonly StampToken[]
  /** By the registry's clock, ms since 1970: when the first token came. */
  readonly beganAt: number
  /** How many distinct authorities were the quorum when it was reached. Absent until then. */
  readonly quorum?: number
}

export interface StampToken {
  readonly authority: string
  readonly assurance: Assurance
  /** ms since 1970. */
  readonly genTime: number
  /** Hex. */
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
  /** `sha256`, … */
  readonly hashAlgorithm: string
  /** Hex of the hash that was stamped: that of the checkpoint's bytes. */
  readonly imprint: string
  /** Base64 of the whole TimeStampResp. */
  readonly token: string
  /** SHA-256 (hex) of the public key of each certificate that its authority was trusted by: what it shares one of with is not distinct from it. */
  readonly trustAnchors: readonly string[]
  /** What was kept to check it by later, by the SHA-256 (hex) of its DER. */
  readonly evidence: readonly ValidationDataRef[]
}

export interface ValidationDataRef {
  readonly type: ValidationData['type']
  readonly sha256: string
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
  /** The whole signed note, the bytes that were anchored. */
  readonly checkpoint: string
  readonly info: AnchorInfo
  /** Every transaction ever prepared for it: a replacement must not hide an original that was mined. */
  readonly transactions: readonly AnchorTransaction[]
  /** `prepared`: stored, perhaps not sent. `lost`: the chain dropped it or reorged it away, and a later one covers it. */
  readonly state: 'prepared' | 'sent' | 'confirmed' | 'lost'
  readonly confirmation?: AnchorConfirmation
}

export interface AnchorConfirmation {
  readonly ref: string
  readonly blockNumber: number
  readonly blockHash: string
  /** ms since 1970. */
  readonly blockTime: number
  readonly confirmations: number
  /** Base64 of what the adapter wants kept. */
  readonly evidence: string
}

/** Before the first anchor. */
export const NO_ANCHORS: AnchorHeadRecord = { confirmedSize: 0, sentSize: 0, outstanding: null, unsettled: [] }

export interface AnchorHeadRecord {
  /** Largest size of a confirmed anchor, 0 where there is none. */
  readonly confirmedSize: number
  /** Largest size of a live sent or confirmed anchor. */
  readonly sentSize: number
  /** Size of the one outstanding anchor, `null` where there is none. */
  readonly outstanding: number | null
  /** Sizes of confirmed anchors that a reorganisation of the chain may still reach, ascending. */
  readonly unsettled: readonly number[]
}

/**
 * One step of the staircase of confirmed anchors: sizes rise with blocks, because one that a larger anchor in the same or a lower
 * block covers is left out. So the first step at or beyond a size is in the lowest block that covers it.
 */
export interface ConfirmedAnchorRecord {
  readonly size: number
  readonly blockNumber: number
}
