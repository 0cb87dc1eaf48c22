import type { VerifiedToken, VerifyTokenOptions } from './timestamp.ts'

/**
 * Checks timestamp tokens. It is a value that the caller passes, because its ASN.1 libraries are six times as large as
 * the rest of the verifier: a page loads `evidence-registry/verify/tokens` only if a bundle has tokens.
 */
export interface TokenVerifier {
  /** As `verifyTimestamp`. Throws `VERIFICATION_FAILED`. */
  readonly verifyToken: (der: Uint8Array, options: VerifyTokenOptions) => VerifiedToken
  /** The certificates in a token, DER. Throws `VERIFICATION_FAILED`. */
  readonly certificatesIn: (der: Uint8Array) => readonly Uint8Array[]
}

const TOKENS = /"tokens"\s*:\s*\[\s*"/

/**
 * Whether a bundle holds timestamp tokens, so that checking them needs `tokens`. Reads the text
 * without parsing it. A wrong result does no harm: tokens that are not checked are in `unchecked`, and prove nothing.
 */
export const holdsTokens = (text: string): boolean => TOKENS.test(text)
