import type { Opening } from '../commitment/event-format.ts'
import type { LoggedKey } from '../commitment/log-entry.ts'
import type { ValidationData } from '../ports/index.ts'

/**
 * What a bundle shows: parsed from an untrusted text. Its form is right, and nothing else is verified. What is verified
 * has other types, whose names begin with `Verified`.
 */

/** The event that a bundle is about, or the file that it attached. */
export type ShownSubject =
  | { readonly type: 'evidence'; readonly txId: string }
  | { readonly type: 'file'; readonly txId: string; readonly fileId: string }

/** A text with the salt that it was hashed with. */
export interface SaltedText {
  readonly text: string
  readonly salt: Uint8Array
}

export type SaltedTexts = ReadonlyMap<string, SaltedText>

/** What a disclosure shows of an event: its form is right, and nothing is verified. */
export interface ShownDisclosure {
  readonly opening: Opening
  /** The hash of the opening's bytes, which is the log entry. */
  readonly entry: Uint8Array
  /** The same in hex. */
  readonly txId: string
  readonly header: string | undefined
  /** The map of file hashes. */
  readonly filesMap: SaltedText | undefined
  readonly fields: SaltedTexts | undefined
  readonly files: SaltedTexts | undefined
}

export interface ShownInclusion {
  readonly treeSize: number
  readonly path: readonly Uint8Array[]
}

/** Where an entry is in the log, and the proofs that trees hold it. */
export interface ShownPlace {
  readonly position: number
  readonly inclusion: readonly ShownInclusion[]
}

export interface ShownEntry extends ShownPlace {
  /** The hash of the opening. */
  readonly entry: Uint8Array
}

export interface ShownKey extends ShownEntry, LoggedKey {}

/** The entry of a token that a later checkpoint covers. */
export interface ShownRenewal extends ShownEntry {
  /** SHA-256 of the token, hex. */
  readonly token: string
}

/** The entry of an erasure. */
export interface ShownReceipt extends ShownEntry {
  readonly opening: Uint8Array
  /** What the registry states that it erased; `undefined` in a bundle that was not made with an A key. */
  readonly statement: SaltedText | undefined
}

export interface ShownBundleEvent extends ShownDisclosure {
  /** `undefined` if it is not sealed. */
  readonly place: ShownPlace | undefined
}

export interface ShownAnchor {
  readonly type: string
  readonly network: string
  readonly chainId: number
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
  /** Text or base64, depending on `type`. */
  readonly proof: string
}

export interface ShownCheckpoint {
  readonly note: string
  /** The proof that the next tree of the bundle begins with this one. */
  readonly consistency: readonly Uint8Array[] | undefined
  /** The proof that the last tree of the key that signed it begins with this one. */
  readonly keyConsistency: readonly Uint8Array[] | undefined
  readonly cosignatures: readonly string[]
  readonly tokens: readonly Uint8Array[]
  readonly anchors: readonly ShownAnchor[]
}

export interface ShownBundle {
  readonly origin: string
  readonly subject: ShownSubject
  readonly events: readonly [ShownBundleEvent, ...ShownBundleEvent[]]
  readonly keys: readonly ShownKey[]
  readonly checkpoints: readonly ShownCheckpoint[]
  readonly validationData: readonly ValidationData[]
  readonly renewals: readonly ShownRenewal[]
  readonly receipts: readonly ShownReceipt[]
  /** The registry's own policy, as JSON text. */
  readonly claimedPolicy: string | undefined
}
