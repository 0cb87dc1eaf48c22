import type { CompanyId, FileId, SourceSystemId } from './ids.ts'

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
}
