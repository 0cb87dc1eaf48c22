/** The public types of the registry. */
export type {
  AuditEntry,
  AuditPage,
  AuditQuery,
  CreatedSourceSystem,
  Credentials,
  NewSourceSystem,
  OwnSourceSystem,
  SourceSystem,
  SourceSystemChange,
  SourceSystems,
} from './source-systems.ts'
export type {
  Categories,
  Category,
  CategoryChange,
  CategoryFiles,
  CategoryPath,
  ChangedCategory,
  NewCategory,
  NewCategoryOptions,
  SubcategoryPath,
} from './categories.ts'
export type { CheckpointKeyInfo, CheckpointKeys, BatchPage, BatchQuery, BatchSummary, PublishedLog } from './log.ts'
export type { Companies, Company, CompanyPage, CompanyQuery } from './companies.ts'
export type {
  CompanyEvent,
  EventPage,
  EventQuery,
  Evidence,
  EvidenceSummary,
  HistoryEvent,
  HistoryPage,
  HistoryQuery,
  Meta,
  EvidencePage,
  EvidenceQuery,
  RecordedEvent,
} from './evidence.ts'
export type {
  CategorySelector,
  CreatedEvidence,
  EvidenceChange,
  EvidenceFileList,
  EvidenceInput,
  Evidences,
  NewEvidence,
  NewEvidences,
} from './evidences.ts'
export type { LogProgress, LogStep, Overview } from './overview.ts'
export type { FileEntry, FileInfo, Files, FileSelector, FileToken, FileToStage, StagedFile } from './files.ts'
export type {
  BatchId,
  CategoryId,
  CompanyId,
  EvidenceId,
  FileId,
  Known,
  SourceSystemId,
  TxId,
  PermissionLevel,
  Principal,
  Scope,
  UpdateOptions,
  WriteOptions,
} from './scope.ts'
export type { EvidenceSelector, MerkleValidationRequest, Proofs } from './proofs.ts'
export type { Registry, RegistryStatus, WritesRefused } from './registry.ts'
export type { Bundle, BundleSelection, LogPolicy, PublicBundle } from '../schemas/bundle.ts'
export type { EvidenceProof, FileProof, MerkleProof, MerkleRoot, MerkleValidation } from '../schemas/proof-documents.ts'
