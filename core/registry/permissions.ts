import type { RecordStore } from '../ports/index.ts'
import type { CompanyId, PermissionLevel, Principal, Scope } from '../api/scope.ts'
import { RegistryError } from '../errors.ts'
import { CompanyId as CompanyIdSchema } from '../schemas/fields.ts'
import { invalidInput, validate } from '../schemas/validation.ts'
import { keys } from '../store/keys.ts'
import { assertNeverStored, listEntries } from '../store/read.ts'

const LEVELS = ['R', 'I', 'U', 'A'] as const satisfies readonly PermissionLevel[]

/**
 * The operator: acts with level `A` in every company. For programs that embed the registry and decide themselves who
 * may do what.
 */
export const OPERATOR: Principal = { kind: 'operator' }

/**
 * A scope whose principal may do what it asks for. Operations take it instead of a `Scope`, so none can forget the
 * check.
 */
export interface AuthorizedScope extends Pick<Scope, 'onEvidence'> {
  readonly companyId: CompanyId
  readonly principal: Principal
  /** The name under which events commit to who recorded them: the id of the source system, or `operator`. */
  readonly actor: string
}

/**
 * Whether a principal has a level. The operations check this themselves; use it to reject a request early, for example
 * before its files are read.
 */
export function permits(principal: Principal, level: PermissionLevel): boolean {
  if (principal.kind === 'operator') return true
  return principal.kind === 'sourceSystem' && includesLevel(principal.permissions, level)
}

/** Whether `granted` includes `needed`. */
const includesLevel = (granted: PermissionLevel, needed: PermissionLevel): boolean =>
  LEVELS.indexOf(granted) >= LEVELS.indexOf(needed)

/**
 * Checks that the principal belongs to the company and has the level.
 *
 * Throws `FORBIDDEN` if not, `VALIDATION_ERROR` if the scope is malformed.
 */
export function authorize(scope: Scope, level: PermissionLevel): AuthorizedScope {
  const authorized = belongsToCompany(scope)
  if (!permits(scope.principal, level)) throw forbidden(`This operation requires level ${level}`)
  return authorized
}

/** Throws `FORBIDDEN` unless the principal is the operator. */
export function authorizeOperator(principal: Principal): void {
  if (principal?.kind !== 'operator') throw forbidden('Only the operator may do this')
}

/** As `authorize` with level `R`, and also accepts a token for this file. */
export function authorizeFile(scope: Scope, fileId: string): AuthorizedScope {
  if (scope?.principal?.kind !== 'fileToken') return authorize(scope, 'R')
  const authorized = belongsToCompany(scope)
  if (scope.principal.fileId !== fileId) throw forbidden('This token opens another file')
  return authorized
}

function belongsToCompany(scope: Scope): AuthorizedScope {
  if (typeof scope?.principal !== 'object' || scope.principal === null)
    throw invalidInput('scope', 'must be an object of companyId and principal')
  const { principal } = scope
  const companyId = validate(CompanyIdSchema, scope.companyId, 'companyId')
  if ('companyId' in principal && principal.companyId !== companyId)
    throw forbidden('The principal belongs to another company')
  return { companyId, principal, actor: actorOf(principal), onEvidence: scope.onEvidence }
}

const actorOf = (principal: Principal): string => (principal.kind === 'sourceSystem' ? principal.id : principal.kind)

const forbidden = (message: string): RegistryError => new RegistryError('FORBIDDEN', message)

/**
 * Checks what every operation checks first: that the principal may do it, and that the company exists.
 *
 * Throws `FORBIDDEN`, `COMPANY_NOT_FOUND`, `VALIDATION_ERROR`.
 */
export async function enterCompany(
  context: { readonly records: RecordStore },
  scope: Scope,
  level: PermissionLevel,
): Promise<AuthorizedScope> {
  const authorized = authorize(scope, level)
  await assertCompany(context, authorized)
  return authorized
}

/** The company of a source system exists. The operator can name one that does not. Throws `COMPANY_NOT_FOUND`. */
export async function assertCompany(
  context: { readonly records: RecordStore },
  { companyId, principal }: AuthorizedScope,
): Promise<void> {
  if (principal.kind !== 'operator' || (await companyExists(context, companyId))) return
  throw new RegistryError(
    'COMPANY_NOT_FOUND',
    `The company ${companyId} does not exist: the operator creates it with its first source system`,
  )
}

/** Whether a company exists: its first source system creates it. Throws `CORRUPT` if the store has lost its record. */
export async function companyExists(
  { records }: { readonly records: RecordStore },
  companyId: CompanyId,
): Promise<boolean> {
  const key = keys.company(companyId)
  const [company] = await records.get([key])
  if (company !== undefined) return true
  const systems = await listEntries(records, { ...keys.sourceSystems(companyId), limit: 1 })
  await assertNeverStored(records, key, { beside: systems.map((system) => system.key), family: keys.companies() })
  return false
}
