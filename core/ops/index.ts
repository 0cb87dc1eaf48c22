/** `evidence-registry/ops`: what operators' tools do with the stores of a registry: check, repair, copy. */
export { fsck, type FsckReport, type FsckStores } from './fsck.ts'
export type { Difference, FsckHandlers, FsckProgress } from './check/check.ts'
export { confirmedSizeOn } from './check/anchors.ts'
export { publicKeyHash } from './check/trust-history.ts'
export type { AnchorToVerify, AttestationVerifier, TokenToVerify } from './check/attestation-verifier.ts'
export { repairRecords, RepairPlanner, type RepairPlan } from './repair.ts'
export { Scrub, type ScrubOptions, type ScrubState, type ScrubStatus } from './scrub.ts'
export {
  copyBlobs,
  deletedFiles,
  fileIn,
  filesIn,
  filesOf,
  SourceDamage,
  type BlobStores,
  type CopyBlobsOptions,
  type CopyBlobsReport,
} from './copy-blobs.ts'
export { blobStoreName, nameBlobStore, storedBlobStore } from './blob-store-name.ts'
export { erasureLinesIn, isErasureLine, planListed, storedErasureLines, type ListedPlan } from './erasure-list.ts'
export { fillStore, isUnfinishedCopy, type FilledStore } from './fill.ts'
export {
  decodeRecords,
  encodeRecords,
  treeSizeIn,
  withoutRecords,
  type CopiedRecord,
  type RecordStreamHandlers,
  type StreamPart,
} from './record-stream.ts'
export { storedOrigin } from '../log/identity.ts'
export { endErasures, finishErasures, hasErasuresToFinish } from '../registry/erasure/pending.ts'
