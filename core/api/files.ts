import type { BlobRange } from '../ports/index.ts'
import type { FileSelector, FileToStage, StagedFile } from '../schemas/file-inputs.ts'
import type { RecordedEvent } from './evidence.ts'
import type { WriteCondition, FileId, Principal, Scope } from './scope.ts'

/** A file as lists show it. */
export interface FileEntry {
  readonly id: FileId
  /** The client's file name: its last path segment without control characters. For display only. */
  readonly name: string
  /** `name` without its extension, unless the client gave a title. */
  readonly title: string
  readonly mimeType: string
  /** Version of the event that attached the file; 0 for files of categories. */
  readonly eventVersion: number
  /** Bytes. */
  readonly size: number
  /** SHA-256 of the content, lowercase hex. */
  readonly sha256: string
  /** When its upload began. */
  readonly createdAt: Date
}

export interface FileInfo {
  readonly id: FileId
  readonly name: string
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** SHA-256 of the content, lowercase hex. */
  readonly sha256: string
}

/** Options of the deletion of a file. `ifVersion` is the version of the evidence or the category that owns it. */
export interface DeleteFileOptions extends WriteCondition {
  /** Hash of the content, as in `FileInfo`. If the file has another one, the deletion throws `VERSION_CONFLICT`. */
  readonly ifSha256?: string
}

export interface FileToken {
  readonly token: string
  readonly expiresAt: Date
}

export interface Files {
  /**
   * Reads the bytes of a file, so that a write can use it. Stores them unless the file is small. A failed upload leaves
   * nothing behind. Requires level `I`.
   *
   * @param options - `maxBytes`: the limit; `signal` aborts the upload
   * @throws `PAYLOAD_TOO_LARGE` beyond `maxBytes`, `VALIDATION_ERROR`
   * @example
   * const photo = await registry.files.stage(
   *   scope,
   *   { name: 'front.jpg', mimeType: 'image/jpeg', body: createReadStream('front.jpg') },
   *   { maxBytes: 10_000_000 },
   * )
   * await registry.evidences.update(scope, 'VIN-1', { files: [photo] })
   */
  stage(
    scope: Scope,
    file: FileToStage,
    options: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ): Promise<StagedFile>
  /**
   * Destroys the bytes of staged files that no write has used. Idempotent. Checks no permission: pass only what `stage`
   * returned.
   */
  discard(files: readonly StagedFile[], options?: Pick<Scope, 'logFields'>): Promise<void>
  /**
   * Finds a file. Requires level `R`, or a file token for this file.
   *
   * @throws `FILE_NOT_FOUND` if it does not exist or one of the named entities does not own it
   */
  find(scope: Scope, selector: FileSelector): Promise<FileInfo>
  /**
   * The bytes of a file, or of one range of it. A whole file is hashed while it is read: if its bytes are not the
   * recorded ones, the iteration throws `CORRUPT` before its last chunk, or this call does if there is only one chunk.
   * The bytes of a range are not compared. Checks no permission: pass only what `find` returned to the same caller.
   *
   * @param options - `range`: bytes from `start` to `end` (exclusive)
   * @throws `FILE_NOT_FOUND`, `RANGE_NOT_SATISFIABLE`, `CORRUPT`
   */
  read(
    file: FileInfo,
    options?: { readonly range?: BlobRange; readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<Uint8Array>>
  /**
   * Records a `deletefile` event, then destroys the bytes. Deleting a category's file records no event. Requires level
   * `U`.
   *
   * @returns the event, or none
   * @throws `FILE_NOT_FOUND`, `VERSION_CONFLICT`
   */
  delete(scope: Scope, selector: FileSelector, options?: DeleteFileOptions): Promise<readonly RecordedEvent[]>
  /**
   * Makes a token that opens one file for five minutes without a key. It ends with the key of the source system, or of
   * the operator, that makes it. Requires level `R`.
   *
   * @throws `FILE_NOT_FOUND`
   */
  createToken(scope: Scope, fileId: string): Promise<FileToken>
  /** The principal of a valid file token of this company, `undefined` for any other text. */
  authenticateToken(credentials: {
    readonly companyId: string
    readonly token: string
    /** The download has begun: it may take longer than five minutes, but still ends with the key. Default: false. */
    readonly hasBegun?: boolean
  }): Promise<Principal | undefined>
}
