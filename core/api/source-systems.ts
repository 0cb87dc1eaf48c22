import type { AuditQuery, NewSourceSystem, SourceSystemChange } from '../schemas/company-inputs.ts'
import type {
  EvidenceId,
  FileId,
  PermissionLevel,
  Principal,
  Scope,
  ShareId,
  SourceSystemId,
  WriteOptions,
} from './scope.ts'

/** A program that uses the registry with a key of its own. */
export interface SourceSystem {
  readonly id: SourceSystemId
  /** Unique in the company. */
  readonly name: string
  readonly permissions: PermissionLevel
  /** An inactive source system cannot authenticate. */
  readonly active: boolean
  readonly createdAt: Date
  /** From then on its keys do not work. Absent: they do not expire. */
  readonly expiresAt?: Date
  /** Until when a replaced key works at the latest. Absent if none does. */
  readonly replacedKeyEndsAt?: Date
  /**
   * When one of its keys was last used, to the minute. Kept as well as possible: a process that dies forgets the last
   * minute.
   */
  readonly lastUsedAt?: Date
}

/** The source system whose key a request has. */
export interface OwnSourceSystem {
  /** Absent if it is the operator. */
  readonly id?: SourceSystemId
  /** `operator` if it is the operator. */
  readonly name: string
  readonly permissions: PermissionLevel
  readonly expiresAt?: Date
}

/** What is presented to `authenticate`. */
export interface Credentials {
  readonly companyId: string
  readonly apiKey: string
  /** Address of the client, for the audit trail. */
  readonly address?: string
}

export interface CreatedSourceSystem {
  readonly id: SourceSystemId
  /**
   * Present if the registry generated the key. It is stored only as an HMAC, so this is the only time it is returned.
   */
  readonly apiKey?: string
}

/**
 * Source systems and the operator key. Keys are stored only as HMAC-SHA-256 under a secret outside the record store.
 */
export interface SourceSystems {
  /**
   * Checks an API key. Every failure (unknown company, wrong key, inactive or expired source system) takes the same
   * single look-up. Notes the use, and rejected keys for the audit trail; both are written within a minute.
   *
   * @returns the principal, or `undefined` if the key is not an active key of this company; `{ kind: 'operator' }` for
   * the operator key, in every company
   */
  authenticate(credentials: Credentials): Promise<Principal | undefined>
  /** Whether an operator key is set, as of the last look-up. */
  hasOperatorKey(): boolean
  /**
   * Sets the operator key. Only its HMAC is stored.
   *
   * @param apiKey - at least 16 characters
   * @param options - `onlyIfNone`: do nothing if an operator key exists already
   * @returns false if `onlyIfNone` was given and another key exists
   * @throws `CONFIG_ERROR` if the key is too short
   */
  setOperatorKey(apiKey: string, options?: { readonly onlyIfNone?: boolean }): Promise<boolean>
  /**
   * Creates a source system. The operator's first one creates the company. Requires level `A`.
   *
   * @returns its id, and the generated key if the input has none. A call that is repeated with its idempotency key
   *   returns the id only: the key is not stored. Replace it then
   * @throws `NAME_EXISTS`, `KEY_EXISTS`, `VALIDATION_ERROR`
   * @example
   * const { apiKey } = await registry.sourceSystems.create({ companyId: 'acme', principal: OPERATOR }, { name: 'ERP' })
   */
  create(scope: Scope, input: NewSourceSystem, options?: WriteOptions): Promise<CreatedSourceSystem>
  /**
   * Renames a source system, replaces its key, changes its level or expiry, activates or deactivates it. Requires level
   * `A`.
   *
   * @throws `SOURCE_SYSTEM_NOT_FOUND`, `NAME_EXISTS`, `KEY_EXISTS`, `VALIDATION_ERROR`
   * @example
   * // The old key works for another hour, so that its users can be restarted one after the other.
   * await registry.sourceSystems.update(scope, id, { apiKey: newKey, graceSeconds: 3_600 })
   */
  update(scope: Scope, systemId: string, change: SourceSystemChange): Promise<void>
  /** All source systems of the company, without their keys. Requires level `A`. */
  list(scope: Scope): Promise<readonly SourceSystem[]>
  /**
   * One source system, without its key. Requires level `A`.
   *
   * @throws `SOURCE_SYSTEM_NOT_FOUND` if the company has none with this id
   */
  get(scope: Scope, systemId: string): Promise<SourceSystem>
  /** The source system of the scope's principal. Requires level `R`. */
  self(scope: Scope): Promise<OwnSourceSystem>
  /**
   * Who created and changed source systems, who made and ended shares, who used a rejected key, who made file tokens.
   * Changes are kept for ever, of the others the newest 10,000. Requires level `A`.
   *
   * @throws `VALIDATION_ERROR`
   */
  audit(scope: Scope, query?: AuditQuery): Promise<AuditPage>
}

/**
 * Why a key was rejected. `unknown`: it is not a key of this company. `replaced`: its grace period is over. `inactive`,
 * `expired`: its source system is.
 */
export type KeyRejection = 'unknown' | 'inactive' | 'expired' | 'replaced'

interface AuditEntryBase {
  readonly id: string
  readonly at: Date
}

/** Values that a source system got. */
export interface AuditedChange {
  readonly name?: string
  readonly permissions?: PermissionLevel
  readonly active?: boolean
  readonly expiresAt?: Date
  /** Values that it lost. */
  readonly clear?: 'expiresAt'[]
}

interface AuditedSystem extends AuditEntryBase {
  /** Who did it: the id of a source system, or `operator`. */
  readonly actor: string
  readonly systemId: SourceSystemId
}

/** A key that was rejected, or a token that was made. */
export type AuditedAccess =
  | {
      readonly type: 'rejected'
      readonly reason: KeyRejection
      /** Whose key it is. Absent if `reason` is `unknown`. */
      readonly systemId?: SourceSystemId
      /** The client's address, if the caller of `authenticate` gave one. */
      readonly address?: string
    }
  | {
      readonly type: 'fileToken'
      /** Who made the token: the id of a source system, or `operator`. */
      readonly actor: string
      readonly fileId: FileId
    }

/** A link that discloses a part of an evidence was made, or ended before its time. */
export interface AuditedShare {
  readonly type: 'shared' | 'shareEnded'
  /** Who did it: the id of a source system, or `operator`. */
  readonly actor: string
  /** The internal id. */
  readonly evidenceId: EvidenceId
  readonly shareId: ShareId
}

/** One entry of a company's audit trail. No entry contains a key. */
export type AuditEntry =
  | (AuditedSystem & { readonly type: 'created' | 'changed'; readonly values: AuditedChange })
  | (AuditedSystem & {
      readonly type: 'rotated'
      /** Until when the replaced key works. Absent if it stopped at once. */
      readonly replacedKeyEndsAt?: Date
    })
  | (AuditEntryBase & AuditedShare)
  | (AuditEntryBase &
      AuditedAccess & {
        /** How often it happened in about a minute. `at` is the first time. */
        readonly count: number
      })

export interface AuditPage {
  /** Newest first. */
  readonly items: readonly AuditEntry[]
  readonly hasMore: boolean
}
