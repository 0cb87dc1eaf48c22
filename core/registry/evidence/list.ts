import type { EvidencePage, EvidenceQuery } from '../../api/evidence-lists.ts'
import type { CompanyId } from '../../api/ids.ts'
import { countOf } from '../../store/counter.ts'
import type { Entry } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { listedKey } from '../../store/listed-evidence.ts'
import type { Context } from '../context.ts'
import { uuidInput } from '../input-forms.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { invalidInput, validate } from '../validation.ts'
import { evidenceQuerySchema } from './input.ts'
import { narrowestList, type CountedList } from './counted-list.ts'
import { newestEntries, type NewestBounds } from './index-rows.ts'
import { newestListed } from './merged-rows.ts'
import { assertCursor, isSearch, searchEvidences } from './search.ts'
import { readListed, type ListItems } from './summaries.ts'

const DEFAULT_LIMIT = 100

interface ListRequest<Item> {
  readonly query: EvidenceQuery
  readonly items: ListItems<Item>
}

/** A page of a list, whose evidences are returned as `items` says. */
export async function listEvidences<Item>(
  context: Context,
  { companyId }: AuthorizedScope,
  { query, items }: ListRequest<Item>,
): Promise<EvidencePage<Item>> {
  assertQuery(query)
  if (isSearch(query)) return listSearched(context, companyId, { query, items })
  if (query.cursor !== undefined)
    throw invalidInput('cursor', 'is only for lists that are filtered or sorted: use `after`')
  return listInOrder(context, companyId, { query, items })
}

/** A page of all evidences of a company, a category or a subcategory. */
async function listInOrder<Item>(
  context: Context,
  companyId: CompanyId,
  { query, items }: ListRequest<Item>,
): Promise<EvidencePage<Item>> {
  const { records } = context
  const { limit = DEFAULT_LIMIT } = query
  const after = query.after === undefined ? undefined : uuidInput(query.after)
  if (after !== undefined) await assertOwnEvidence(context, companyId, after)
  const list = await narrowestList(context, companyId, query)
  if (list === undefined) return NO_EVIDENCES
  const entries = await readNewest(context, companyId, list, { before: after, limit: limit + 1 })
  const [[count], listed] = await Promise.all([
    records.get([keys.evidenceCount(...list.counter)]),
    items.ofEntries(context, entries.slice(0, limit)),
  ])
  return {
    items: listed,
    count: countOf(count),
    countIsMore: false,
    hasMore: entries.length > limit,
  }
}

/** The newest evidences of such a list, as the entries that they have in the list of their company. */
async function readNewest(
  context: Context,
  companyId: CompanyId,
  { counter, listings }: CountedList,
  bounds: NewestBounds,
): Promise<readonly Entry[]> {
  const { records } = context
  if (counter[0] === 'company') return newestEntries(records, keys.evidencesIn('company', companyId), bounds)
  const ranges = listings.map((listing) => keys.evidencesIn(...listing))
  return readListed(context, companyId, await newestListed(records, ranges, bounds))
}

/** A page of a filtered or sorted list. */
async function listSearched<Item>(
  context: Context,
  companyId: CompanyId,
  { query, items }: ListRequest<Item>,
): Promise<EvidencePage<Item>> {
  if (query.after !== undefined)
    throw invalidInput(
      'after',
      'is only for lists that are neither filtered nor sorted: use the `cursor` that the page before returned',
    )
  const list = await narrowestList(context, companyId, query)
  if (list === undefined) {
    assertCursor(companyId, query)
    return NO_EVIDENCES
  }
  const { evidences, next, ...count } = await searchEvidences(
    context,
    { companyId, query, list },
    query.limit ?? DEFAULT_LIMIT,
  )
  return {
    items: await items.ofListed(context, evidences),
    ...count,
    hasMore: next !== undefined,
    ...(next !== undefined && { next }),
  }
}

const NO_EVIDENCES: EvidencePage<never> = { items: [], count: 0, countIsMore: false, hasMore: false }

/** Throws `VALIDATION_ERROR`. Does not check a cursor. */
export function assertQuery(query: EvidenceQuery): void {
  validate(evidenceQuerySchema, query)
  for (const name of ['createdFrom', 'createdTo'] as const) {
    const time: unknown = query[name]
    if (time !== undefined && !(time instanceof Date && Number.isFinite(time.getTime())))
      throw invalidInput(name, 'must be a valid Date')
  }
}

async function assertOwnEvidence({ records }: Context, companyId: CompanyId, id: string): Promise<void> {
  const [entry] = await records.get([listedKey(companyId, id)])
  if (entry === undefined) throw invalidInput('after', 'must be the id of an evidence of this company')
}
