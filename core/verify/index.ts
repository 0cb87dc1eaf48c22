/**
 * The offline verifier: pure, synchronous functions for everything that the registry returns. Input is untrusted.
 * `verifyBundle` returns what failed. Every other check throws `VERIFICATION_FAILED`. It also runs in browsers.
 * Timestamp tokens are checked by a value of `evidence-registry/verify/tokens`, which the caller passes.
 */
export { verifyBundle, type BundleCheck, type BundleResult, type VerifyBundleOptions } from './bundle.ts'
export type {
  AuthorityClaim,
  BundleAnchorClaim,
  BundleClaims,
  BundleEventClaims,
  BundleFileClaim,
  TimestampClaim,
  Unchecked,
} from './claims.ts'
export { BUNDLE_FORMAT } from './bundle-format.ts'
export { MAX_BUNDLE_LENGTH, type ShownAnchor } from './bundle-document.ts'
export { verifyAnchorProof, type ProvenAnchor } from './chain/anchor-proof.ts'
export { certificatesFromPem } from './pem.ts'
export { holdsTokens, type TokenVerifier } from './token-verifier.ts'
export type { CertificateStatus, RevocationStatus } from './revocation-status.ts'
export { verifyEvent, type VerifiedEvent, type VerifyEventOptions } from './event.ts'
export { HistoryCheck } from './history-check.ts'
export {
  logKeysOf,
  verifierKeysOf,
  verifyLog,
  verifySignedCheckpoint,
  type KeyEntry,
  type LogKey,
  type VerifiedLog,
  type VerifyLogOptions,
} from './log.ts'
export { parsePolicy, type PinnedAuthority, type PinnedChain, type PinnedKey, type Policy } from './policy.ts'
export type { Witness, WitnessGroup } from './policy-text.ts'
export type { Cosignature } from './cosignature.ts'
export { MAX_SIGNATURE_CHECKS } from './signature-budget.ts'
