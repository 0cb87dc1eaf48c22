import type { LogReader } from '../log/reader.ts'
import type { BlobRange, SealerStatus, Version } from '../ports.ts'
import type {
  CategoryChange,
  CategoryDetails,
  CategoryList,
  CreatedEvidence,
  CreatedEvidences,
  EvidenceInput,
  EvidenceList,
  EvidenceListQuery,
  EvidencePage,
  EvidencePageQuery,
  EvidenceUpdate,
  FileListing,
  FileSelector,
  FileToken,
  MerkleValidationRequest,
  NewCategory,
  NewEvidence,
  NewSourceSystem,
  RecordedEvent,
  SourceSystem,
  SourceSystemChange,
} from '../registry/schemas.ts'
import type { EvidenceProof, FileProof, MerkleProof, MerkleRoot, MerkleValidation } from '../registry/proof/schemas.ts'
import type { Principal } from '../registry/permissions.ts'

/**
 * The registry as an embedding program (and the bundled server) sees it. Every method validates its input and throws
 * `RegistryError` with a stable code; where a method throws, nothing was changed. Every write is durable when it answers.
 */
export interface Registry {
  readonly sourceSystems: SourceSystems
  readonly categories: Categories
  readonly evidences: Evidences
  readonly files: Files
  readonly proofs: Proofs
  /** The log as it is published: tiles, checkpoints, entries. */
  readonly log: LogReader
  /** `NAME/ID`, in every checkpoint. */
  readonly origin: string
  /** The C2SP verifier key of the checkpoints: give it to whoever shall check them. */
  readonly verifierKey: string
  status(): SealerStatus
  /** Seals everything written so far without waiting for the sealer's own pace. */
  sealNow(signal?: AbortSignal): Promise<void>
  /** Stops the sealer, waits for writes under way, closes the stores it was given. */
  close(): Promise<void>
}

/** In whose name an operation runs. Permissions are the caller's to check (`assertAllowed`), except that nobody grants above their own level. */
export interface Scope {
  readonly companyId: string
  readonly principal: Principal
}

export interface Idempotency {
  /** The caller's key, 1 to 255 printable ASCII characters. */
  readonly key: string
  /** Names the operation and its path, so that one key on two routes is two keys. */
  readonly route: string
  /** Hash of the parsed request: the same key with another fingerprint is `IDEMPOTENCY_KEY_REUSED`. */
  readonly fingerprint: string
}

export interface WriteOptions {
  readonly idempotency?: Idempotency
}

export interface UpdateOptions extends WriteOptions {
  /** Version of the last event that the caller knows: another one is `VERSION_CONFLICT`. */
  readonly ifMatch?: number
}

export interface FileToStage {
  /** As the client named it; cut to its last segment, control characters stripped. */
  readonly name: string
  readonly mimeType: string
  readonly title?: string
  readonly body: AsyncIterable<Uint8Array>
}

/** A file whose bytes are stored and that no record uses yet. Use it in one write, or discard it. */
export interface StagedFile {
  readonly id: string
  readonly name: string
  readonly mimeType: string
  readonly title: string
  readonly size: number
  /** Lowercase hex. */
  readonly sha256: string
  /** Of the intent record that the write consumes. */
  readonly intent: Version
}

/** The files of a create or update. `image` becomes the evidence's image and counts as a file. */
export interface EvidenceFiles {
  readonly image?: StagedFile
  readonly files?: readonly StagedFile[]
}

export interface SourceSystems {
  /** The principal of an active key of this company, by one look-up; `undefined` for all else. The operator key is a principal in every company. */
  authenticate(companyId: string, apiKey: string): Promise<Principal | undefined>
  /** Whether there is an operator key, as of the last look-up. */
  hasOperatorKey(): boolean
  /**
   * Replaces the operator key, or `ifNone` only makes the first; only its HMAC is kept. Requires at least 16 characters. False where
   * there is one already and so this one was not taken.
   */
  setOperatorKey(apiKey: string, options?: { readonly ifNone?: boolean }): Promise<boolean>
  /** Answers `apiKey` only where it was made here, and only this once. The operator's first one creates the company. */
  create(
    scope: Scope,
    input: NewSourceSystem,
    options?: WriteOptions,
  ): Promise<{ readonly id: string; readonly apiKey?: string }>
  update(scope: Scope, systemId: string, change: SourceSystemChange): Promise<void>
  list(scope: Scope): Promise<readonly SourceSystem[]>
}

export interface Categories {
  create(scope: Scope, input: NewCategory, image?: StagedFile, options?: WriteOptions): Promise<{ readonly id: string }>
  list(scope: Scope): Promise<CategoryList>
  get(scope: Scope, categoryId: string): Promise<CategoryDetails>
  update(
    scope: Scope,
    categoryId: string,
    change: CategoryChange,
    image?: StagedFile,
    options?: WriteOptions,
  ): Promise<{ readonly imageId?: string }>
  createSubcategory(
    scope: Scope,
    categoryId: string,
    input: NewCategory,
    image?: StagedFile,
    options?: WriteOptions,
  ): Promise<{ readonly id: string }>
  updateSubcategory(
    scope: Scope,
    categoryId: string,
    subcategoryId: string,
    change: CategoryChange,
    image?: StagedFile,
    options?: WriteOptions,
  ): Promise<{ readonly imageId?: string }>
  subcategoryFiles(scope: Scope, categoryId: string, subcategoryId: string): Promise<FileListing>
}

export interface Evidences {
  create(scope: Scope, input: NewEvidence, files?: EvidenceFiles, options?: WriteOptions): Promise<CreatedEvidence>
  /** One to 1,000, all or nothing. Files only where it is one. */
  createIn(
    scope: Scope,
    categoryId: string,
    subcategoryId: string,
    inputs: readonly EvidenceInput[],
    files?: EvidenceFiles,
    options?: WriteOptions,
  ): Promise<CreatedEvidences>
  list(scope: Scope, query?: EvidenceListQuery): Promise<EvidenceList>
  get(scope: Scope, externalId: string, query?: EvidencePageQuery): Promise<EvidencePage>
  update(
    scope: Scope,
    externalId: string,
    update: EvidenceUpdate,
    files?: readonly StagedFile[],
    options?: UpdateOptions,
  ): Promise<{ readonly events: readonly RecordedEvent[] }>
  files(scope: Scope, externalId: string): Promise<FileListing>
}

/** What is known of a stored file to whoever may read it. */
export interface FileInfo {
  readonly id: string
  readonly name: string
  readonly mimeType: string
  readonly size: number
  /** Lowercase hex of the content's SHA-256. */
  readonly sha256: string
}

export interface Files {
  /** Stores the bytes. Requires size <= maxBytes: else `PAYLOAD_TOO_LARGE`. */
  stage(
    scope: Scope,
    file: FileToStage,
    options: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ): Promise<StagedFile>
  /** Destroys the bytes of files that no write has used. Idempotent; never throws for what is gone already. */
  discard(files: readonly StagedFile[]): Promise<void>
  /** The file that the selector names, where all that it names are its owners: else `FILE_NOT_FOUND`. */
  find(scope: Scope, selector: FileSelector): Promise<FileInfo>
  /** The bytes of a found file, all or one range. The whole is hashed on its way, and ends as `CORRUPT` where it is not what was recorded. */
  read(file: FileInfo, range?: BlobRange, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /** Appends the deletefile event, then destroys the bytes. A category's image is deleted without an event. */
  delete(scope: Scope, selector: FileSelector): Promise<void>
  /** Opens one file for five minutes without a key. */
  createToken(scope: Scope, fileId: string): Promise<FileToken>
  /** The file that the token opens in this company, `undefined` where it opens none. */
  tokenFile(companyId: string, token: string): string | undefined
}

/** What anyone may ask. Answers carry their own `status`, and never throw for what they are asked. */
export interface Proofs {
  validate(request: MerkleValidationRequest): Promise<MerkleValidation>
  /** By internal id (which wins) or external id, of `companyId` where several companies use it. */
  evidence(evidenceId: string, companyId?: string): Promise<EvidenceProof>
  file(evidenceId: string, fileId: string, companyId?: string): Promise<FileProof>
  proof(txId: string): Promise<MerkleProof>
  root(txId: string): Promise<MerkleRoot>
  /** The whole DER TimeStampResp that covers a batch. Throws `BATCH_NOT_FOUND` where there is no such batch or no token yet. */
  timestampToken(batchId: string): Promise<Uint8Array>
  /** The openings (hex) of `width` log entries from position 256 × `index`, for monitors. `undefined` where the log is not sealed so far. */
  openings(index: number, width: number): Promise<readonly string[] | undefined>
}
