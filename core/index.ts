/** The registry: what an evidence is, what an event commits to, what a proof says. */
export { openRegistry } from './registry/open.ts'
export type { RegistryOptions } from './registry/options.ts'
export { adoptSignedHead } from './registry/signed-head.ts'
export { assertNewEvidence } from './registry/evidence/create.ts'
export { isImage } from './registry/file/given-files.ts'
export { OPERATOR, permits } from './registry/permissions.ts'
export { systemClock } from './clock.ts'
export { comparedName } from './store/keys.ts'
export { canonicalJson, type Json } from './commitment/canonical-json.ts'
export { parseStrictJson } from './commitment/strict-json.ts'
export type { Disclosure } from './commitment/event-format.ts'
export type { ErasureReason } from './commitment/receipt.ts'
export { ERROR_CODES, isRegistryError, RegistryError, type ErrorCode } from './errors.ts'
export type * from './api/categories.ts'
export type * from './api/companies.ts'
export type * from './api/erasures.ts'
export type * from './api/evidence.ts'
export type * from './api/evidences.ts'
export type * from './api/files.ts'
export type * from './api/log.ts'
export type * from './api/overview.ts'
export type * from './api/proofs.ts'
export type * from './api/registry.ts'
export type * from './api/scope.ts'
export type * from './api/shares.ts'
export type * from './api/source-systems.ts'
export type { Bundle, LogPolicy } from './schemas/bundle.ts'
export type { CategoryChange, CategoryPath, NewCategory, SubcategoryPath } from './schemas/category-inputs.ts'
export type { CompanyQuery, NewSourceSystem, SourceSystemChange } from './schemas/company-inputs.ts'
export type { ErasureInput, SubjectErasureInput } from './schemas/erasure-inputs.ts'
export type {
  CategorySelector,
  EventQuery,
  EvidenceChange,
  EvidenceFilter,
  EvidenceInput,
  EvidenceQuery,
  HistoryQuery,
  NewEvidence,
  NewEvidences,
} from './schemas/evidence-inputs.ts'
export type { Meta } from './schemas/fields.ts'
export type { FileSelector, FileToStage, StagedFile } from './schemas/file-inputs.ts'
export type { EvidenceProof, FileProof, MerkleProof, MerkleRoot, MerkleValidation } from './schemas/proof-documents.ts'
export type { BatchQuery, BundleSelection, MerkleValidationRequest } from './schemas/proof-inputs.ts'
export type { NewShare } from './schemas/share-inputs.ts'
export type {
  BlobStore,
  CheckedPart,
  CheckpointSigner,
  Clock,
  Logger,
  RecordEraser,
  RecordFileChecker,
  RecordStore,
  Sealer,
  SignedHead,
  SignedHeadKeeper,
  TreeEngine,
} from './ports/index.ts'
