import Type, { type Static } from '#typebox'
import type { CompanyPage as CoreCompanyPage } from '../../core/index.ts'
import { closed, Count, DateTime } from './values.ts'

/** A company as the operator sees it. Its counters tell which companies are in use. */
export const Company = closed({
  id: Type.String(),
  createdAt: DateTime,
  sourceSystemCount: Count,
  categoryCount: Count,
  evidenceCount: Count,
})

/** A page of companies. To continue, send the id of the last company as `last`. */
export const CompanyPage = closed({
  companies: Type.Array(Company, { description: 'In ascending order of their ids' }),
  isMore: Type.Boolean(),
})
type CompanyPage = Static<typeof CompanyPage>

/** Renames what the core calls `items` and `hasMore`. */
export const companyPage = ({ items, hasMore }: CoreCompanyPage): CompanyPage => ({
  companies: [...items],
  isMore: hasMore,
})
