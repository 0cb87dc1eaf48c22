/**
 * The offline verifier: pure, synchronous functions for everything that the registry returns. Input is untrusted.
 * `verifyProof` and `verifyBundle` return what failed. Every other check throws `VERIFICATION_FAILED`. It also runs in
 * browsers. Timestamp tokens are checked by a value of `evidence-registry/verify/tokens`, which the caller passes.
 */
export {
  verifyBundle,
  type BundleCheck,
  type BundleClaims,
  type BundleEventClaims,
  type BundleFileClaim,
  type BundleResult,
  type VerifyBundleOptions,
} from './bundle.ts'
export type { BundleAnchorClaim } from './bundle-checkpoints.ts'
export { BUNDLE_FORMAT } from './bundle-format.ts'
export { MAX_BUNDLE_LENGTH, type ShownAnchor } from './bundle-document.ts'
export { verifyAnchorProof, type ProvenAnchor } from './chain/anchor-proof.ts'
export { certificatesFromPem } from './pem.ts'
export { holdsTokens, type TokenVerifier } from './token-verifier.ts'
export type { CertificateStatus, RevocationStatus } from './revocation-status.ts'
export { verifyEvent, type VerifiedEvent, type VerifyEventOptions } from './event.ts'
export { verifyHistory, type VerifiedHistory, type VerifyHistoryOptions } from './history.ts'
export { assertContent, verifyFile, type FileCommitment } from './file.ts'
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
export { MAX_PROOF_LENGTH, verifyProof, type VerifyProofOptions } from './proof.ts'
export type { AnchoredTransaction } from './proof-anchor.ts'
export type { Cosignature } from './cosignature.ts'
export type { Expectation } from './expectation.ts'
export {
  PROOF_STEPS,
  type AnchorClaim,
  type AuthorityClaim,
  type EventClaims,
  type FileClaim,
  type ProofClaims,
  type ProofResult,
  type ProofStep,
  type ProofStepName,
  type TimestampClaim,
  type Unchecked,
} from './proof-result.ts'
export { MAX_TOKENS } from './proof-tokens.ts'
export { MAX_SIGNATURE_CHECKS } from './signature-budget.ts'
export type { UntrustedObject } from './untrusted.ts'
