import type { AttachedFile } from '../commitment/event-format.ts'
import type { Cosignature } from './cosignature.ts'
import type { VerifiedEvent } from './event.ts'
import type { CertificateStatus } from './revocation-status.ts'

/** The steps of `verifyProof`, in their order. */
export const PROOF_STEPS = [
  /** The document is strict JSON with known members only. */
  'document',
  /** The opening hashes to the txId, and the shown time is the committed one. */
  'opening',
  /** What is disclosed of the event hashes to its txId. */
  'disclosure',
  /** The event's files map matches its opening, and holds the file. Only for proofs of files. */
  'files',
  /** The txId's leaf is in the tree with the root `merkleRoot`. */
  'inclusion',
  /** A pinned key of the log that may sign this size signed this tree. */
  'checkpoint',
  /** The log signed the stamped tree, and it extends this tree. */
  'stamped checkpoint',
  /** Later stamps prove that the tokens existed before something happened to their certificates. */
  'renewal',
  /** Tokens cover the stamped checkpoint, and a quorum of authorities stamped it by the shown time. */
  'timestamp',
  /** The log signed the anchored tree, and it extends this tree. */
  'anchored checkpoint',
  /** The chain holds the anchored checkpoint in the shown transaction, sent by a pinned account. */
  'anchor',
  /** The witnesses that the policy requires cosigned one of the checkpoints. */
  'witnesses',
  /** The deleting event deletes this file, which the main event attached. Only for deleted files. */
  'deletion',
  /** The proof is about what the caller expects. */
  'expected',
] as const
export type ProofStepName = (typeof PROOF_STEPS)[number]

/** The result of one step. */
export interface ProofStep {
  readonly name: ProofStepName
  /** Whether the step is about the event itself, or about the event that deleted the file. */
  readonly of: 'event' | 'deletion'
  readonly state: 'ok' | 'failed' | 'skipped'
  /** Why the step failed or was skipped. */
  readonly reason?: string
}

/** A timestamp authority whose token verified. */
export interface AuthorityClaim {
  /** Its name in the policy. */
  readonly name: string
  /** ms since 1970. */
  readonly genTime: number
  /** The true time is at most this many ms later than `genTime`. 0 if the token does not say. */
  readonly accuracyMs: number
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
  /** Of the signer's certificate and its issuers, without the trust anchor. */
  readonly revocation: readonly CertificateStatus[]
}

export interface TimestampClaim {
  /** ms since 1970: a quorum of authorities says that the log held the event then. */
  readonly notLaterThan: number
  /** All that held, at least a quorum. */
  readonly authorities: readonly AuthorityClaim[]
}

export interface AnchorClaim {
  readonly type: string
  readonly network: string
  readonly chainId: number
  readonly account: string
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
  /** ms since 1970. */
  readonly blockTime: number
}

/** What is proven about one event. A member is absent if its step did not run. */
export interface EventClaims {
  /** Hex. */
  readonly txId: string
  /** The log's origin, the position of the event, and the size of the signed tree that holds it. */
  readonly log: { readonly origin: string; readonly leafIndex: number; readonly treeSize: number }
  /** The time that the event commits to, ms since 1970. The registry chose it. */
  readonly committedTime?: number
  /** ms since 1970: the earlier one of the timestamp's and the block's time. */
  readonly notLaterThan?: number
  readonly timestamp?: TimestampClaim
  readonly anchor?: AnchorClaim
  /** The witnesses of the policy that cosigned a checkpoint that holds the event. */
  readonly witnesses: readonly Cosignature[]
  /** Fields and files, as far as they are disclosed. */
  readonly disclosed?: VerifiedEvent
  readonly file?: FileClaim
}

/** What is proven about the file of a proof. */
export interface FileClaim {
  readonly fileId: string
  /**
   * `listed`: the event attached or deleted the file; it is not disclosed which of the two. `attached`: the event
   * attached it. `deleted`: the event of `deletion` deleted it, and says that this event attached it.
   */
  readonly state: 'listed' | 'attached' | 'deleted'
  /** Name, type, size and SHA-256, if they are disclosed. */
  readonly attached?: AttachedFile
}

export interface ProofClaims extends EventClaims {
  /** The event that deleted the file. */
  readonly deletion?: EventClaims
}

/** Something that the document states or the caller could want, and that is not proven. */
export interface Unchecked {
  readonly what: string
  readonly why: string
}

interface CheckedProof {
  readonly steps: readonly ProofStep[]
  /** What was not checked, and why. */
  readonly unchecked: readonly Unchecked[]
  /** What the check cost. */
  readonly work: { readonly tokens: number; readonly signatureChecks: number }
}

/** Claims exist only if no step failed: they are verified, and nothing else of the document is. */
export type ProofResult =
  | (CheckedProof & { readonly ok: true; readonly claims: ProofClaims })
  | (CheckedProof & {
      readonly ok: false
      readonly claims?: undefined
      /** Nothing is wrong, but the event is not sealed yet. */
      readonly isPending: boolean
    })
