/**
 * The offline verifier: pure, synchronous functions for everything that the registry returns. Input is untrusted.
 * `verifyBundle` returns what failed. Every other check throws `VERIFICATION_FAILED`. It also runs in browsers.
 * Timestamp tokens are checked by a value of `evidence-registry/verify/tokens`, which the caller passes.
 */
export { verifyBundle } from './bundle.ts'
export type { Requirement, VerifyBundleOptions } from './run.ts'
export { ExportVerifier, type ExportFinding, type ExportResult, type ExportState } from './export.ts'
export { isLocalTimeOnly } from './claims.ts'
export { needsMlDsa44, type VerifyMlDsa44 } from './cosignatures.ts'
export type {
  BundleAnchorClaim,
  BundleCheck,
  BundleClaims,
  BundleEventClaims,
  BundleResult,
  FileVerdict,
  ReceiptClaims,
  TimestampClaim,
  Unchecked,
} from './claims.ts'
export { isTlogProof } from '../log/tlog-proof.ts'
export { verifyTlogProof, type VerifyTlogProofOptions } from './tlog-proof.ts'
export type { AttachedFile } from '../commitment/event-format.ts'
export type { ErasedOfEvent, Erasure, ErasureReason } from '../commitment/receipt.ts'
export type { VerifierMemory } from './untrusted.ts'
export { VERIFICATION_RULES, type VerificationRule } from '../rules.ts'
export { canonicalJson } from '../commitment/canonical-json.ts'
export { parseStrictJson } from '../commitment/strict-json.ts'
export { BUNDLE_FORMAT, EXPORT_FORMAT, MAX_BUNDLE_LENGTH } from '../commitment/bundle-format.ts'
export type { ShownAnchor } from './shown.ts'
export { verifyAnchorProof, type VerifiedAnchor } from './anchors.ts'
export { holdsTokens, type TokenVerifier } from './token-verifier.ts'
export { verifyEvent, type VerifiedEvent } from './event.ts'
export { HistoryCheck } from './history.ts'
export { logKeysOf, verifyLog, verifySignedCheckpoint, type LogKey, type VerifiedLog } from './log.ts'
export type { KeyEntry, LogPrefix } from './log-reading.ts'
export {
  ALARM_KINDS,
  LogMonitor,
  type LogMonitorOptions,
  type LogSource,
  type MonitorAlarm,
  type MonitorState,
} from './monitor.ts'
export { askFreshness, type Freshness } from './freshness.ts'
export { MemorySlots, SLOT_BYTES, SLOT_RECORD_BYTES, type SlotSet } from './slot-set.ts'
export {
  certificatesFromPem,
  parsePolicy,
  type PinnedAuthority,
  type PinnedChain,
  type PinnedKey,
  type Policy,
} from './policy.ts'
