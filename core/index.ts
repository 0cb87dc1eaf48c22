/** The registry: what an evidence is, what an event commits to, what a proof says. */
export { openRegistry } from './registry/open.ts'
export type { RegistryOptions } from './registry/options.ts'
export { assertNewEvidence } from './registry/evidence/check.ts'
export { OPERATOR, permits } from './registry/permissions.ts'
export { validate } from './registry/validation.ts'
export * as schemas from './registry/schemas.ts'
export type * from './api/index.ts'
export * from './api/bundle.ts'
export { MAX_CHECKPOINT_TOKENS } from './commitment/bundle-format.ts'
export * from './api/proof-documents.ts'
export type * from './ports/index.ts'
export { ERROR_CODES, isRegistryError, RegistryError, type ErrorCode } from './errors.ts'
export { storedOrigin } from './log/identity-record.ts'
export { isRecordEraser } from './registry/erasures.ts'
export { decorateRecords } from './store/decorate-records.ts'
export { systemClock } from './clock.ts'
export { canonicalJson, type Json } from './commitment/canonical-json.ts'
export { parseStrictJson } from './commitment/strict-json.ts'
export type { Disclosure, DisclosedText } from './commitment/disclosure.ts'
export {
  fsck,
  type AnchorToVerify,
  type AttestationVerifier,
  type Difference,
  type FsckHandlers,
  type FsckProgress,
  type FsckReport,
  type FsckStores,
  planRepair,
  type RepairPlan,
  repairRecords,
  type Scrub,
  type ScrubOptions,
  type ScrubState,
  type ScrubStatus,
  startScrub,
  type TokenToVerify,
} from './fsck/index.ts'
export {
  copyBlobs,
  decodeRecords,
  deletedFiles,
  encodeRecords,
  fileIn,
  filesIn,
  filesOf,
  fillStore,
  firstFile,
  isUnfinishedCopy,
  SourceDamage,
  treeSizeIn,
  type BlobStores,
  type CopiedRecord,
  type CopyBlobsOptions,
  type CopyBlobsReport,
  type FilledStore,
  type StreamPart,
} from './copy/index.ts'
