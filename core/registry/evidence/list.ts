import type { EvidencePage, EvidenceQuery } from '../../api/evidence-lists.ts'
import type { CompanyId } from '../../api/ids.ts'
import type { Entry } from '../../ports/index.ts'
import { countOf } from '../../store/counter.ts'
import { keys } from '../../store/keys.ts'
import { danglingReference, readRecord } from '../../store/read.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { uuidInput } from '../input-forms.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { invalidInput, validate } from '../validation.ts'
import { evidenceQuerySchema } from './input.ts'
import { firstRows, mergedRows, type IndexRow } from './index-rows.ts'
import { narrowestScope } from './scope.ts'
import { assertCursor, isSearch, searchEvidences } from './search.ts'
import type { ListItems } from './summaries.ts'

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
  validate(evidenceQuerySchema, query)
  assertTimes(query)
  if (isSearch(query)) return listSearched(context, companyId, { query, items })
  if (query.cursor !== undefined)
    throw invalidInput('cursor', 'is only for lists that are filtered or sorted: use after')
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
  const scope = await narrowestScope(context, companyId, query)
  if (scope === undefined) return NO_EVIDENCES
  const ranges = scope.listings.map((listing) => keys.evidencesIn(...listing))
  const rows = await firstRows(mergedRows(records, ranges, { before: after, limit: limit + 1 }), limit + 1)
  const [[count], entries] = await Promise.all([
    records.get([keys.evidenceCount(...scope.counter)]),
    readListed(context, rows.slice(0, limit)),
  ])
  return {
    items: await items.ofEntries(context, entries),
    count: countOf(count),
    countIsMore: false,
    hasMore: rows.length > limit,
  }
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
      'is only for lists that are neither filtered nor sorted: use what the page before returned',
    )
  const scope = await narrowestScope(context, companyId, query)
  if (scope === undefined) {
    assertCursor(companyId, query)
    return NO_EVIDENCES
  }
  const { evidences, next, ...count } = await searchEvidences(
    context,
    { companyId, query, scope },
    query.limit ?? DEFAULT_LIMIT,
  )
  return {
    items: await items.ofRecords(context, evidences),
    ...count,
    hasMore: next !== undefined,
    ...(next !== undefined && { next }),
  }
}

const NO_EVIDENCES: EvidencePage<never> = { items: [], count: 0, countIsMore: false, hasMore: false }

function assertTimes(query: EvidenceQuery): void {
  for (const name of ['createdFrom', 'createdTo'] as const) {
    const time: unknown = query[name]
    if (time !== undefined && !(time instanceof Date && Number.isFinite(time.getTime())))
      throw invalidInput(name, 'must be a valid Date')
  }
}

/** The stored records of listed evidences. Evidences are never deleted, so a missing one is `CORRUPT`. */
async function readListed({ records }: Context, rows: readonly IndexRow[]): Promise<readonly Entry[]> {
  const entries = await records.get(rows.map(({ id }) => keys.evidence(id)))
  return entries.map((entry, i) => {
    if (entry === undefined) throw danglingReference('A list', `evidence ${rows[i]?.id}`)
    return entry
  })
}

async function assertOwnEvidence({ records }: Context, companyId: CompanyId, id: string): Promise<void> {
  const evidence = await readRecord<EvidenceRecord>(records, keys.evidence(id))
  if (evidence?.record.company !== companyId)
    throw invalidInput('after', 'must be the id of an evidence of this company')
}
