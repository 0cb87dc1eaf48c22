import type { Bundle } from '../schemas/bundle.ts'
import type { NewShare } from '../schemas/share-inputs.ts'
import type { ErasedValue } from './erasures.ts'
import type { FileInfo } from './files.ts'
import type { FileId, Scope, ShareId, WriteOptions } from './scope.ts'

/** A link that discloses a part of an evidence, as lists show it: without its secret, which is not stored. */
export interface Share {
  readonly id: ShareId
  readonly kind: NonNullable<NewShare['kind']>
  /** The names of the fields that it discloses. */
  readonly fields: readonly string[]
  readonly files: readonly FileId[] | 'all'
  /** The version of the evidence up to which values and files are disclosed. */
  readonly version: number
  readonly createdAt: Date
  /** Who made it: the id of a source system, or `operator`. */
  readonly actor: string
  /** From then on it opens nothing. Absent: it has no end. */
  readonly expiresAt?: Date
  /** When someone ended it. */
  readonly endedAt?: Date
  /** When it was last opened, to the minute. Kept as well as possible. */
  readonly lastUsedAt?: Date
}

export interface CreatedShare {
  readonly id: ShareId
  /** 128 random bits in base64url. Only its hash is stored, so this is the only time it is returned. */
  readonly secret?: string
  readonly expiresAt?: Date
}

/** What the holder of a link presents. */
export interface ShareKey {
  readonly shareId: string
  readonly secret: string
}

/** What a link discloses now. */
export interface SharedEvidence {
  /** The history, with the disclosed values. */
  readonly bundle: Bundle
  /** The files whose bytes the link opens. */
  readonly files: readonly Pick<FileInfo, 'id' | 'mimeType' | 'size'>[]
  /** Where the registry files it now, if one of the category ids is disclosed. No event commits to the names. */
  readonly filedUnder?: { readonly category: string; readonly subcategory: string }
  /** Those of its fields whose present value was erased. No proof covers that. */
  readonly erased?: readonly ErasedValue[]
}

/**
 * Links with which anyone can read and verify a part of an evidence. Values and files are disclosed up to the version
 * at which the link was made; of later events only kind, status and time are.
 */
export interface Shares {
  /**
   * Makes a link. Requires level `R`; `U` for more than 30 days and for certificates.
   *
   * @returns its id and its secret. A call that is repeated with its idempotency key returns no secret
   * @throws `EVIDENCE_NOT_FOUND`, `FILE_NOT_FOUND`, `TOO_MANY_SHARES`, `VALIDATION_ERROR`
   * @example
   * const { id, secret } = await registry.shares.create(scope, 'VIN-1', { fields: ['name'], files: 'all' })
   * console.log(`https://registry.example/ui/#/p/${id}.${secret}`)
   */
  create(scope: Scope, externalId: string, input: NewShare, options?: WriteOptions): Promise<CreatedShare>
  /**
   * The links of an evidence, newest first: the open ones, and the last 100 that ended. Requires level `R`.
   *
   * @throws `EVIDENCE_NOT_FOUND`
   */
  list(scope: Scope, externalId: string): Promise<readonly Share[]>
  /**
   * Ends a link at once. Level `R` ends its own, `U` any. Ending an ended one changes nothing.
   *
   * @throws `EVIDENCE_NOT_FOUND`, `SHARE_NOT_FOUND`
   */
  end(scope: Scope, externalId: string, shareId: string): Promise<void>
  /**
   * What a link discloses, built now. For anyone who has its secret.
   *
   * @throws `SHARE_NOT_FOUND` for an unknown, ended or expired link, and for a wrong secret; `BUNDLE_TOO_LARGE`
   */
  open(key: ShareKey): Promise<SharedEvidence>
  /**
   * A file that a link discloses. Pass it to `files.read`.
   *
   * @throws `SHARE_NOT_FOUND`, `FILE_NOT_FOUND`
   */
  file(key: ShareKey, fileId: string): Promise<FileInfo>
}
