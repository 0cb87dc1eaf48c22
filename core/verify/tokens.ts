/**
 * Checks timestamp tokens (RFC 3161) and what revokes their certificates. A separate entry, because it loads ASN.1
 * libraries: pass `tokens` to `verifyBundle`. Importing it changes nothing by itself.
 *
 * @example
 * import { holdsTokens, verifyBundle } from 'evidence-registry/verify'
 *
 * const tokens = holdsTokens(text) ? (await import('evidence-registry/verify/tokens')).tokens : undefined
 * const result = verifyBundle(text, { policy, tokens })
 */
import { certificatesIn, verifyToken } from './tokens/timestamp.ts'
import type { TokenVerifier } from './token-verifier.ts'

export const tokens: TokenVerifier = { certificatesIn, verifyToken }

export {
  MAX_CRL_BYTES,
  MAX_TIMESTAMP_BYTES,
  MAX_VALIDATION_DATA_BYTES,
  voidsTimestamp,
  type CertificateStatus,
  type HashName,
  type RevocationStatus,
  type TimestampInfo,
  type TokenVerifier,
  type VerifiedToken,
  type VerifyTimestampOptions,
  type VerifyTokenOptions,
} from './token-verifier.ts'
export {
  MAX_CLOCK_SKEW_MS,
  parseTimestampResponse,
  timestampCertificates,
  verifyTimestamp,
  type VerifiedTimestamp,
} from './tokens/timestamp.ts'
export { derOfPem } from './der.ts'
export { revocationStatus } from './tokens/revocation.ts'
export { MAX_COST, SignatureBudget } from './untrusted.ts'
