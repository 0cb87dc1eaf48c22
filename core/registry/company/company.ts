import type { CompanyId } from '../../api/ids.ts'
import type { PermissionLevel, Scope } from '../../api/principal.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { Context } from '../context.ts'
import { authorize, type AuthorizedScope } from '../permissions.ts'

/**
 * Checks what every operation checks first: that the principal may do it, and that the company exists.
 *
 * Throws `FORBIDDEN`, `COMPANY_NOT_FOUND`, `VALIDATION_ERROR`.
 */
export async function enterCompany(context: Context, scope: Scope, level: PermissionLevel): Promise<AuthorizedScope> {
  const authorized = authorize(scope, level)
  await assertCompany(context, authorized)
  return authorized
}

/** The company of a source system exists. The operator can name one that does not. Throws `COMPANY_NOT_FOUND`. */
export async function assertCompany(context: Context, { companyId, principal }: AuthorizedScope): Promise<void> {
  if (principal.kind !== 'operator' || (await companyExists(context, companyId))) return
  throw new RegistryError(
    'COMPANY_NOT_FOUND',
    `The company ${companyId} does not exist: the operator creates it with its first source system`,
  )
}

export async function companyExists({ records }: Context, companyId: CompanyId): Promise<boolean> {
  const [company] = await records.get([keys.company(companyId)])
  return company !== undefined
}
