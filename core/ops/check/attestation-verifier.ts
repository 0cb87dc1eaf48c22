import type { AnchorConfirmation, StampToken } from '../../log/records.ts'
import type { AnchorInfo, ValidationData } from '../../ports/index.ts'
import type { VerifyMlDsa44 } from '../../verify/cosignatures.ts'

/** A token of a stamp, with what the stamp says about it. */
export interface TokenToVerify extends Pick<
  StampToken,
  'authority' | 'genTime' | 'policy' | 'serialNumber' | 'trustAnchors'
> {
  /** DER of the TimeStampResp. */
  readonly response: Uint8Array
  /** The checkpoint that it must stamp. */
  readonly stamped: Uint8Array
  /** The validation data that was stored with it. */
  readonly validationData: readonly ValidationData[]
}

/** The proof of a confirmed anchor, with what the anchor says about it. */
export interface AnchorToVerify extends Omit<AnchorConfirmation, 'confirmations' | 'evidence'> {
  readonly info: AnchorInfo
  /** The anchored checkpoint. */
  readonly checkpoint: Uint8Array
  /** The inclusion proof of the chain's adapter. */
  readonly proof: Uint8Array
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
  /** Without it, cosignatures of type 06 are not verified. */
  readonly mlDsa44?: VerifyMlDsa44 | undefined
}
