import Type, { type Static } from '#typebox'
import type { CompanyPage as CoreCompanyPage } from '../../core/index.ts'
import { closed, Count, DateTime } from './values.ts'

export const Company = closed({
  id: Type.String(),
  createdAt: DateTime,
  sourceSystemCount: Count,
  categoryCount: Count,
  evidenceCount: Count,
})

export const CompanyPage = closed({
  companies: Type.Array(Company, { description: 'In ascending order of their ids' }),
  isMore: Type.Boolean(),
})
type CompanyPage = Static<typeof CompanyPage>

export const companyPage = ({ items, hasMore }: CoreCompanyPage): CompanyPage => ({
  companies: [...items],
  isMore: hasMore,
})
