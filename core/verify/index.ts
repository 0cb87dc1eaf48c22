/**
 * The offline verifier: pure, synchronous functions for everything that the registry returns. Input is untrusted, and a
 * check that fails throws `VERIFICATION_FAILED`.
 */
export { certificatesFromPem } from './pem.ts'
export {
  MAX_CLOCK_SKEW_MS,
  parseTimestampResponse,
  timestampCertificates,
  verifyTimestamp,
  type VerifiedTimestamp,
  type VerifyTimestampOptions,
} from './timestamp.ts'
export { MAX_TIMESTAMP_BYTES, type HashName, type TimestampInfo } from './timestamp-info.ts'
export { revocationAddresses, revocationStatus, type RevocationAddresses } from './revocation.ts'
export { MAX_VALIDATION_DATA_BYTES, voidsTimestamp, type RevocationStatus } from './revocation-status.ts'
export { verifyEvent, type VerifiedEvent, type VerifyEventOptions } from './event.ts'
export { verifyHistory, type VerifiedHistory, type VerifyHistoryOptions } from './history.ts'
export { assertContent, verifyFile, type FileCommitment } from './file.ts'
export { verifierKeysOf, verifyLog, verifySignedCheckpoint, type VerifiedLog, type VerifyLogOptions } from './log.ts'
export {
  PROOF_STEPS,
  verifyProof,
  type AnchoredTransaction,
  type ProofResult,
  type ProofStep,
  type ProofStepName,
  type VerifyProofOptions,
} from './proof.ts'
export type { UntrustedObject } from './untrusted.ts'
