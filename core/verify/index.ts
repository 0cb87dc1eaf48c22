export { certificatesFromPem } from './pem.ts'
export {
  MAX_CLOCK_SKEW_MS,
  MAX_TIMESTAMP_BYTES,
  parseTimeStampResponse,
  timestampPath,
  verifyTimeStamp,
  type TimestampInfo,
  type VerifiedTimestamp,
  type VerifyTimeStampOptions,
} from './timestamp.ts'
export {
  isVoidBy,
  MAX_EVIDENCE_BYTES,
  revocationAddresses,
  revocationStatus,
  type RevocationAddresses,
  type RevocationStatus,
} from './revocation.ts'
export { verifyEvent, type VerifiedEvent, type VerifyEventOptions } from './event.ts'
export { verifyHistory, type VerifiedHistory } from './history.ts'
export { assertContent, verifyFile, type FileCommitment } from './file.ts'
export { verifierKeysOf, verifyLog, verifySignedCheckpoint, type VerifiedLog } from './log.ts'
export {
  PROOF_STEPS,
  verifyProof,
  type AnchoredTransaction,
  type ProofResult,
  type ProofStep,
  type ProofStepName,
  type VerifyProofOptions,
} from './proof.ts'
