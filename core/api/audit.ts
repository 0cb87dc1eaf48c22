import type { FileId, SourceSystemId } from './ids.ts'
import type { PermissionLevel } from './principal.ts'

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
}

interface AuditedSystem extends AuditEntryBase {
  /** Who did it: the id of a source system, or `operator`. */
  readonly actor: string
  readonly systemId: SourceSystemId
}

interface AuditedAccess extends AuditEntryBase {
  /** How often it happened in about a minute. `at` is the first time. */
  readonly count: number
}

/** One entry of a company's audit trail. No entry contains a key. */
export type AuditEntry =
  | (AuditedSystem & { readonly type: 'created' | 'changed'; readonly values: AuditedChange })
  | (AuditedSystem & {
      readonly type: 'rotated'
      /** Until when the replaced key works. Absent if it stopped at once. */
      readonly replacedKeyEndsAt?: Date
    })
  | (AuditedAccess & {
      readonly type: 'rejected'
      readonly reason: KeyRejection
      /** Whose key it is. Absent if `reason` is `unknown`. */
      readonly systemId?: SourceSystemId
      /** The client's address, if the caller of `authenticate` gave one. */
      readonly address?: string
    })
  | (AuditedAccess & {
      readonly type: 'fileToken'
      /** Who made the token: the id of a source system, or `operator`. */
      readonly actor: string
      readonly fileId: FileId
    })

export interface AuditQuery {
  /** 1 to 1,000 entries. Default 100. */
  readonly limit?: number
  /** Only entries that are older than this one: its id. */
  readonly after?: string
}

export interface AuditPage {
  /** Newest first. */
  readonly items: readonly AuditEntry[]
  readonly hasMore: boolean
}
