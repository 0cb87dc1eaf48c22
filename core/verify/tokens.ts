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
import { certificatesIn, verifyToken } from './timestamp.ts'
import type { TokenVerifier } from './token-verifier.ts'

export const tokens: TokenVerifier = { certificatesIn, verifyToken }

export type { TokenVerifier } from './token-verifier.ts'
export {
  MAX_CLOCK_SKEW_MS,
  parseTimestampResponse,
  timestampCertificates,
  verifyTimestamp,
  type VerifiedTimestamp,
  type VerifiedToken,
  type VerifyTimestampOptions,
  type VerifyTokenOptions,
} from './timestamp.ts'
export { MAX_TIMESTAMP_BYTES, type HashName, type TimestampInfo } from './timestamp-info.ts'
export { certificatesFromPem } from './pem.ts'
export { revocationAddresses, revocationStatus, type RevocationAddresses } from './revocation.ts'
export {
  MAX_VALIDATION_DATA_BYTES,
  voidsTimestamp,
  type CertificateStatus,
  type RevocationStatus,
} from './revocation-status.ts'
export { MAX_SIGNATURE_CHECKS, SignatureBudget } from './signature-budget.ts'
