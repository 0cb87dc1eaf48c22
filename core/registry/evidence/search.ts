import type { EvidenceQuery } from '../../api/evidence-lists.ts'
import type { CompanyId } from '../../api/ids.ts'
import { countOf } from '../../store/counter.ts'
import { keys } from '../../store/keys.ts'
import type { ListedEvidence } from '../../store/listed-evidence.ts'
import type { Context } from '../context.ts'
import { decodeCursor, encodeCursor, hashQuery, type IndexName } from './cursor.ts'
import { chooseIndex, MAX_ROWS, type Search } from './search-index.ts'
import { walkIndex, type Count } from './search-walk.ts'

/**
 * Filtered and sorted lists. A page reads one index, and applies the conditions that this index does not cover to the
 * evidences that it finds. So one page costs a bounded amount of work, however large the registry is.
 */

export interface SearchPage extends Count {
  readonly evidences: readonly ListedEvidence[]
  /** Present if there is more. */
  readonly next?: string
}

/** Whether the pages of a query are read here. Lists by company, category or subcategory alone are not. */
export const isSearch = ({ externalIdPrefix, owner, status, createdFrom, createdTo, sort }: EvidenceQuery): boolean =>
  [externalIdPrefix, owner, status, createdFrom, createdTo, sort].some((value) => value !== undefined)

/** Reads one page. Throws `VALIDATION_ERROR` if the cursor does not belong to the query. */
export async function searchEvidences(context: Context, search: Search, limit: number): Promise<SearchPage> {
  const { companyId, query } = search
  const hash = hashQuery(companyId, query)
  const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor, hash)
  const index = await chooseIndex(context, search, cursor?.index)
  const known = cursor ?? (await knownCount(context, search, index.name))
  const walk = await walkIndex(context, search, {
    index,
    after: cursor?.position,
    limit,
    countsMatches: known === undefined,
  })
  const { count, countIsMore } = known ?? walk
  const next = walk.position && encodeCursor({ index: index.name, position: walk.position, count, countIsMore }, hash)
  return { evidences: walk.evidences, count, countIsMore, ...(next !== undefined && { next }) }
}

/** The cursor of an empty list must be checked, too. */
export function assertCursor(companyId: CompanyId, query: EvidenceQuery): void {
  if (query.cursor !== undefined) decodeCursor(query.cursor, hashQuery(companyId, query))
}

/** The number of matches, if it is known without counting them. */
async function knownCount(
  { records }: Context,
  { companyId, query, list }: Search,
  index: IndexName,
): Promise<Count | undefined> {
  const { externalIdPrefix, owner, status, createdFrom, createdTo } = query
  if (owner !== undefined || createdFrom !== undefined || createdTo !== undefined) return undefined
  const isCompany = list.counter[0] === 'company'
  if (externalIdPrefix !== undefined) {
    // Otherwise the index of external ids would have been chosen.
    const isBroad = index === 'listing' && isCompany && status === undefined
    return isBroad ? { count: MAX_ROWS, countIsMore: true } : undefined
  }
  if (status !== undefined && !isCompany) return undefined
  const counters = [keys.evidenceCount(...list.counter), keys.evidenceCount('stolen', companyId)]
  const [all = 0, stolen = 0] = (await records.get(counters)).map(countOf)
  const count = status === undefined ? all : status === 'stolen' ? stolen : all - stolen
  return { count: Math.min(count, MAX_ROWS), countIsMore: count > MAX_ROWS }
}
