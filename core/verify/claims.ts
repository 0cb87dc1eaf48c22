import type { Json } from '../commitment/canonical-json.ts'
import type { EventFile } from '../commitment/event-format.ts'
import type { ShownAnchor } from './bundle-document.ts'
import type { Cosignature } from './checkpoint.ts'
import type { CertificateStatus } from './token-verifier.ts'

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

/** A block that holds a checkpoint. */
export interface BundleAnchorClaim extends Omit<ShownAnchor, 'proof'> {
  readonly account: string
  /** The time that the block states, ms since 1970. */
  readonly blockTime: number
  /** Whether the block is known to be part of the chain. */
  readonly isBlockFinal: boolean
}

/** What is proven about one event of a bundle. */
export interface BundleEventClaims {
  /** Hex. */
  readonly txId: string
  /** The time that the event commits to, ms since 1970. The registry chose it. */
  readonly committedTime: number
  /** The position of the event, and the size of a signed tree that holds it; `undefined` if it is not sealed. */
  readonly log: { readonly position: number; readonly treeSize: number } | undefined
  /** ms since 1970: the earliest time that a quorum of authorities or a block states; `undefined` if there is none. */
  readonly notLaterThan: number | undefined
  readonly timestamps: readonly TimestampClaim[]
  readonly anchors: readonly BundleAnchorClaim[]
  /** Witnesses of the policy that cosigned a checkpoint that holds the event. */
  readonly witnesses: readonly Cosignature[]
  /** From 1. `undefined` in a bundle without headers, as are the fields. */
  readonly version: number | undefined
  /** Disclosed fields by name. */
  readonly fields: ReadonlyMap<string, Json>
  /** Fields that the event sets and the bundle does not disclose. */
  readonly hiddenFields: readonly string[]
  /** Disclosed files by id. */
  readonly files: ReadonlyMap<string, EventFile>
  /** Files that the event holds and the bundle does not disclose. */
  readonly hiddenFiles: readonly string[]
}

/** What is proven about the file that a bundle is about. */
export interface BundleFileClaim {
  readonly fileId: string
  /**
   * `listed`: the event attached or deleted the file; it is not disclosed which of the two. `deleted`: another event
   * deleted it, and says that this one attached it.
   */
  readonly state: 'listed' | 'attached' | 'deleted'
  /** txIds, hex. */
  readonly event: string
  readonly deletedBy: string | undefined
}

/** What a bundle proves. Nothing else of it is verified. */
export interface BundleClaims {
  readonly origin: string
  /** The event that the bundle is about: its txId in hex. In a history it is version 1, the creation. */
  readonly subject: string
  readonly events: readonly BundleEventClaims[]
  /** Whether the events are all versions of one history from 1 to the last one shown. */
  readonly isHistory: boolean
  readonly file: BundleFileClaim | undefined
  /** The disclosed files that have `contents`. */
  readonly contents: readonly { readonly name: string; readonly fileId: string; readonly txId: string }[]
}

/** Something that the bundle states or the caller could want, and that is not proven. */
export interface Unchecked {
  readonly what: string
  readonly why: string
}
