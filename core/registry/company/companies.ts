import type { Companies, Company } from '../../api/companies.ts'
import type { CompanyId } from '../../api/scope.ts'
import type { RecordStore } from '../../ports/index.ts'
import { countOf } from '../../store/counter.ts'
import { decodeRecord } from '../../store/codec.ts'
import { listEntries } from '../../store/read.ts'
import { keys, companyIn } from '../../store/keys.ts'
import type { Context } from '../context.ts'
import { authorizeOperator } from '../permissions.ts'
import { validate } from '../../schemas/validation.ts'
import { CompanyQuery } from '../../schemas/company-inputs.ts'

const DEFAULT_LIMIT = 100

/** The operations on companies. Their contract is `Companies`. */
export const companyOperations = ({ records }: Context): Companies => ({ list: listCompanies(records) })

/** One page of all companies, each with what it has. */
const listCompanies =
  (records: RecordStore): Companies['list'] =>
  async (principal, query = {}) => {
    authorizeOperator(principal)
    const { limit = DEFAULT_LIMIT, after } = validate(CompanyQuery, query)
    const all = keys.companies()
    // A company's id is part of its key as it is, so keys sort as ids do.
    const gte = after === undefined ? all.gte : `${keys.company(after)}\0`
    const entries = await listEntries(records, { ...all, gte, limit: limit + 1 })
    const items = await Promise.all(
      entries.slice(0, limit).map(async (entry): Promise<Company> => {
        const id = companyIn(entry.key)
        const { createdAt } = decodeRecord(entry)
        return { id, createdAt: new Date(createdAt), ...(await countsOf(records, id)) }
      }),
    )
    return { items, hasMore: entries.length > limit }
  }

async function countsOf(records: RecordStore, company: CompanyId) {
  const counters = [keys.evidenceCount(['company', company]), keys.categoryCount(company, undefined)]
  const [evidences, categories] = await records.get(counters)
  let sourceSystemCount = 0
  for await (const _ of records.list(keys.sourceSystems(company))) sourceSystemCount += 1
  return { sourceSystemCount, categoryCount: countOf(categories), evidenceCount: countOf(evidences) }
}
