import type { SourceSystemId } from './ids.ts'
import type { PermissionLevel, Principal, Scope } from './principal.ts'
import type { WriteOptions } from './writes.ts'

/** A program that uses the registry with a key of its own. */
export interface SourceSystem {
  readonly id: SourceSystemId
  /** Unique in the company. */
  readonly name: string
  readonly permissions: PermissionLevel
  /** An inactive source system cannot authenticate. */
  readonly active: boolean
  readonly createdAt: Date
}

export interface NewSourceSystem {
  /** 1 to 256 characters without control characters. */
  readonly name: string
  /**
   * The caller's own key, 16 to 1,024 printable ASCII characters. Default: the registry generates one from 256 random
   * bits.
   */
  readonly apiKey?: string
  /** Default `U`. */
  readonly permissions?: PermissionLevel
}

/** At least one member must be given. */
export interface SourceSystemChange {
  readonly name?: string
  /** Replaces the key. The previous one stops working at once. */
  readonly apiKey?: string
  readonly permissions?: PermissionLevel
  readonly active?: boolean
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
   * Checks an API key. Every failure (unknown company, wrong key, inactive source system) takes the same single
   * look-up.
   *
   * @returns the principal, or `undefined` if the key is not an active key of this company; `{ kind: 'operator' }` for
   * the operator key, in every company
   */
  authenticate(credentials: { readonly companyId: string; readonly apiKey: string }): Promise<Principal | undefined>
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
   * @returns its id, and the generated key if the input has none
   * @throws `NAME_EXISTS`, `KEY_EXISTS`, `VALIDATION_ERROR`
   * @example
   * const { apiKey } = await registry.sourceSystems.create({ companyId: 'acme', principal: OPERATOR }, { name: 'ERP' })
   */
  create(scope: Scope, input: NewSourceSystem, options?: WriteOptions): Promise<CreatedSourceSystem>
  /**
   * Renames a source system, replaces its key, changes its level, activates or deactivates it. Requires level `A`.
   *
   * @throws `SOURCE_SYSTEM_NOT_FOUND`, `NAME_EXISTS`, `KEY_EXISTS`, `VALIDATION_ERROR`
   */
  update(scope: Scope, systemId: string, change: SourceSystemChange): Promise<void>
  /** All source systems of the company, without their keys. Requires level `A`. */
  list(scope: Scope): Promise<readonly SourceSystem[]>
}
