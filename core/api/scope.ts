/**
 * What a source system may do. Each level includes the ones before it: `R` reads, `I` also creates, `U` also updates
 * and deletes files, `A` also manages source systems.
 */
export type PermissionLevel = 'R' | 'I' | 'U' | 'A'

/** On whose behalf an operation runs. `sourceSystems.authenticate` and `files.authenticateToken` return one. */
export type Principal =
  /** Acts with level `A` in every company. Use the constant `OPERATOR`. */
  | { readonly kind: 'operator' }
  | {
      readonly kind: 'sourceSystem'
      readonly id: SourceSystemId
      readonly companyId: CompanyId
      readonly permissions: PermissionLevel
    }
  /** The holder of a file token: may read this one file. */
  | { readonly kind: 'fileToken'; readonly companyId: CompanyId; readonly fileId: FileId }
  /** A caller without credentials: may use `proofs` and `log` only. */
  | { readonly kind: 'anonymous' }

/**
 * The company that an operation works in, and the principal that asks for it. Every operation checks both: it throws
 * `FORBIDDEN` if the principal belongs to another company or its level is too low.
 *
 * @example
 * const principal = await registry.sourceSystems.authenticate({ companyId: 'acme', apiKey })
 * if (principal) await registry.evidences.get({ companyId: 'acme', principal }, 'VIN-1')
 */
export interface Scope {
  readonly companyId: string
  readonly principal: Principal
  /** What each log line that the operation causes has, too, such as the id of a request. */
  readonly logFields?: object | undefined
  /** Told the internal id of an evidence that the call names by its external id, which a log must not contain. */
  readonly onEvidence?: ((id: EvidenceId) => void) | undefined
}

/**
 * Identifiers in results. They are plain strings at run time; the brand only stops the compiler from accepting one kind
 * of id in the position of another. Inputs of the public API take plain strings.
 */
declare const kind: unique symbol
type Branded<Kind extends string> = string & { readonly [kind]: Kind }

/**
 * What a look-up takes: an id of this kind, or a text that a caller gave as one. The id of another kind does not fit.
 */
export type IdText<Id extends Branded<string>> = string & { readonly [kind]?: Id[typeof kind] }

/** 1 to 64 of `A-Z a-z 0-9 . _ -`, but not `.` or `..`. Chosen by the operator. */
export type CompanyId = Branded<'company'>
/** Of a category or a subcategory. UUIDv7 in lowercase, as all ids below. */
export type CategoryId = Branded<'category'>
/** The internal id of an evidence. The id that the caller chose is its external id. */
export type EvidenceId = Branded<'evidence'>
export type FileId = Branded<'file'>
export type SourceSystemId = Branded<'sourceSystem'>
export type ShareId = Branded<'share'>
export type ErasureId = Branded<'erasure'>
export type BatchId = Branded<'batch'>
/** SHA-256 of an event's opening: 64 lowercase hex digits. Our commitment, not a transaction of a chain. */
export type TxId = Branded<'txId'>

/** Options of the operations that write, except those on files and updates of source systems. */
export interface WriteOptions {
  /**
   * 1 to 255 printable ASCII characters. If the same principal repeats the same call with the same key within 24 hours,
   * the registry returns the first result and writes nothing. The same key with other input throws
   * `IDEMPOTENCY_KEY_REUSED`.
   */
  readonly idempotencyKey?: string
}

/** A result of a conditional read, or what a caller has cached of it. */
export interface Cacheable {
  /**
   * What the result was made of. Opaque. Not enumerable, so no copy and no JSON of the result has it. Missing if the
   * result may change without notice.
   */
  readonly state?: object | undefined
}

/** What the caller has seen of what a write changes. */
export interface WriteCondition {
  /**
   * The version of an evidence, which is that of its last event, or of a category. If there is another one now, the
   * write throws `VERSION_CONFLICT`.
   */
  readonly ifVersion?: number
}

/** Options of an update of an evidence or a category. */
export interface UpdateOptions extends WriteOptions, WriteCondition {}
