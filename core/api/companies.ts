import type { CompanyQuery } from '../schemas/company-inputs.ts'
import type { CompanyId, Principal } from './scope.ts'

export interface Company {
  readonly id: CompanyId
  readonly createdAt: Date
  readonly sourceSystemCount: number
  readonly categoryCount: number
  readonly evidenceCount: number
}

export interface CompanyPage {
  /** In ascending order of their ids. */
  readonly items: readonly Company[]
  readonly hasMore: boolean
}

export interface Companies {
  /**
   * The companies of the registry. Only the operator may list them.
   *
   * @throws `FORBIDDEN`, `VALIDATION_ERROR`
   * @example
   * const { items } = await registry.companies.list(OPERATOR)
   */
  list(principal: Principal, query?: CompanyQuery): Promise<CompanyPage>
}
