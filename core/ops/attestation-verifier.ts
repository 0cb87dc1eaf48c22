import type { AnchorInfo, ValidationData } from '../ports/index.ts'

/** A token of a stamp, with what the stamp says about it. */
export interface TokenToVerify {
  /** DER of the TimeStampResp. */
  readonly response: Uint8Array
  /** The checkpoint that it must stamp. */
  readonly stamped: Uint8Array
  /** The validation data that was stored with it. */
  readonly validationData: readonly ValidationData[]
  /** SHA-256 (hex) of the public keys that its certificates lead to. */
  readonly trustAnchors: readonly string[]
  readonly authority: string
  /** ms since 1970. */
  readonly genTime: number
  /** Hex. */
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
}

/** The proof of a confirmed anchor, with what the anchor says about it. */
export interface AnchorToVerify {
  readonly info: AnchorInfo
  /** The anchored checkpoint. */
  readonly checkpoint: Uint8Array
  /** The inclusion proof of the chain's adapter. */
  readonly proof: Uint8Array
  /** The hash of the transaction. */
  readonly ref: string
  readonly blockNumber: number
  readonly blockHash: string
  /** ms since 1970. */
  readonly blockTime: number
}

/**
 * Verifies tokens and anchors, which takes parsers of ASN.1 and of chains that the core does not load. Both methods
 * throw if something does not verify, or differs from what the record says about it.
 */
export interface AttestationVerifier {
  verifyToken(token: TokenToVerify): void
  verifyAnchor(anchor: AnchorToVerify): void
  /** The size of the newest checkpoint in the local ledger, `undefined` if there is no local ledger. */
  readonly localLedgerSize?: number | undefined
}
