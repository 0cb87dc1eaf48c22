import { type EvidenceFilter, EvidenceQuery } from '../../schemas/evidence-inputs.ts'
import type { EvidencePage } from '../../api/evidence.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { CompanyId } from '../../api/scope.ts'
import { timeOfDate } from '../../clock.ts'
import type { Version } from '../../ports/index.ts'
import { listCounted } from '../../store/counted.ts'
import { decodeRecord } from '../../store/codec.ts'
import { readCount } from '../../store/counter.ts'
import { listEntries, lost } from '../../store/read.ts'
import { hasState, withState } from '../cacheable.ts'
import { keys, searchWords, lastPartOfKey, type StoredRecord } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { uuidInput, invalidInput, validate } from '../../schemas/validation.ts'
import { findCategory } from '../category/stored-category.ts'
import { enterCompany } from '../permissions.ts'
import { mergedRows, newestEntries, nextRows } from './rows.ts'
import type { CountedList } from './search-index.ts'
import { countIn, cursorOf, searchEvidences } from './search.ts'
import { readListed, summarize } from './summaries.ts'

const DEFAULT_LIMIT = 100

/** Lists evidences: filtered or sorted ones by an index, others in the order of their ids. */
export const listEvidences =
  (context: Context): Evidences['list'] =>
  async (scope, query = {}) => {
    const { companyId } = await enterCompany(context, scope, 'R')
    return readList(context, companyId, query)
  }

/** As `listEvidences`, unless a page with the same state is cached. */
export const listEvidencesIfChanged =
  (context: Context): Evidences['listIfChanged'] =>
  async (scope, query, cached) => {
    const { companyId } = await enterCompany(context, scope, 'R')
    const [logSize, { version: anchorVersion }] = await Promise.all([context.records.logSize(), context.log.anchors()])
    if (
      hasState<ListState>(cached, 'logSize') &&
      cached.state.logSize === logSize &&
      cached.state.anchorVersion === anchorVersion
    )
      return cached
    return withState(await readList(context, companyId, query), { logSize, anchorVersion })
  }

/**
 * What a page was read with. Every change of an evidence appends an event to the log, whichever server makes it, and
 * the blocks in a page follow from the confirmed anchors. So a page is correct as long as both are those from before it
 * was read.
 */
interface ListState {
  readonly logSize: number
  /** Of the head of the anchors. `undefined` before the first anchor. */
  readonly anchorVersion: Version | undefined
}

async function readList(context: Context, companyId: CompanyId, query: EvidenceQuery): Promise<EvidencePage> {
  assertQuery(query)
  if (isSearch(query)) return listSearched(context, companyId, query)
  if (query.cursor !== undefined)
    throw invalidInput('cursor', 'is only for lists that are filtered or sorted: use `after`')
  return listInOrder(context, companyId, query)
}

/** Whether a query is searched for in an index. Lists by company, category or subcategory alone are not. */
const isSearch = ({ externalIdPrefix, words, owner, status, createdFrom, createdTo, sort }: EvidenceQuery): boolean =>
  [externalIdPrefix, words, owner, status, createdFrom, createdTo, sort].some((value) => value !== undefined)

/** A page of all evidences of a company, a category or a subcategory. */
async function listInOrder(context: Context, companyId: CompanyId, query: EvidenceQuery): Promise<EvidencePage> {
  const { limit = DEFAULT_LIMIT } = query
  const after = query.after === undefined ? undefined : uuidInput(query.after)
  if (after !== undefined) await assertOwnEvidence(context, companyId, after)
  const list = await narrowestList(context, companyId, query)
  if (list === undefined) return noEvidences()
  const read = () => readNewest(context, companyId, list, { before: after, limit: limit + 1 })
  const count = () => countIn(context, list)
  // Counted first: evidences are never deleted, so all pages together have no fewer.
  const first =
    after === undefined && (await listCounted({ name: 'The list of evidences', count, read, limit: limit + 1 }))
  const { entries } = first || { entries: await read() }
  const evidences = entries.slice(0, limit).map((entry) => decodeRecord(entry))
  const [counted, items] = await Promise.all([first || count(), summarize(context, evidences)])
  return {
    items,
    count: counted.count,
    countIsMore: false,
    hasMore: entries.length > limit,
  }
}

/** The records of the newest evidences of such a list. */
async function readNewest(
  context: Context,
  companyId: CompanyId,
  { ranges, isWhole }: CountedList,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<readonly StoredRecord<EvidenceRecord>[]> {
  const { records } = context
  if (isWhole) return newestEntries(records, keys.evidencesOf(companyId), { before, limit })
  const rows = await nextRows(mergedRows(records, ranges, { before }, limit), limit)
  return readListed(
    context,
    companyId,
    rows.map(({ id }) => id),
  )
}

/** A page of a filtered or sorted list. */
async function listSearched(context: Context, companyId: CompanyId, query: EvidenceQuery): Promise<EvidencePage> {
  if (query.after !== undefined)
    throw invalidInput(
      'after',
      'is only for lists that are neither filtered nor sorted: use the `cursor` that the page before returned',
    )
  const list = await narrowestList(context, companyId, query)
  if (list === undefined) {
    // The cursor of an empty list must be checked, too.
    cursorOf(companyId, query)
    return noEvidences()
  }
  const { evidences, next, ...count } = await searchEvidences(
    context,
    { companyId, query, list },
    query.limit ?? DEFAULT_LIMIT,
  )
  return {
    items: await summarize(context, evidences),
    ...count,
    hasMore: next !== undefined,
    ...(next !== undefined && { next }),
  }
}

const noEvidences = (): EvidencePage => ({ items: [], count: 0, countIsMore: false, hasMore: false })

/** Throws `VALIDATION_ERROR`. Does not check a cursor. */
function assertQuery(query: EvidenceQuery): void {
  validate(EvidenceQuery, query)
  if (query.words !== undefined && searchWords(query.words).length === 0)
    throw invalidInput('words', 'must contain a letter or a digit')
  for (const name of ['createdFrom', 'createdTo'] as const) {
    const time: unknown = query[name]
    if (time !== undefined && !Number.isFinite(timeOfDate(time))) throw invalidInput(name, 'must be a valid Date')
  }
}

async function assertOwnEvidence({ records }: Context, companyId: CompanyId, id: string): Promise<void> {
  const [entry] = await records.get([keys.evidence(companyId, id)])
  if (entry === undefined) throw invalidInput('after', 'must be the id of an evidence of this company')
}

/**
 * The list of the narrowest of company, category and subcategory that a filter names. A category has no list of its
 * own, but those of its subcategories. Returns `undefined` if nothing can match: the category or subcategory does not
 * exist, or is in another one.
 */
async function narrowestList(
  context: Context,
  companyId: CompanyId,
  { categoryId, subcategoryId }: EvidenceFilter,
): Promise<CountedList | undefined> {
  const id = subcategoryId ?? categoryId
  if (id === undefined)
    return { counters: [['company', companyId]], ranges: [keys.evidencesOf(companyId)], isWhole: true }
  const category = await findCategory(context.records, companyId, id, categoryId)
  if (category === undefined) return undefined
  const { parentId } = category.record
  if (subcategoryId !== undefined)
    return parentId === undefined || (categoryId ?? parentId) !== parentId
      ? undefined
      : listOfAll(companyId, [subcategoryId])
  if (parentId !== undefined) return undefined
  const { entries: subcategories } = await listCounted({
    name: 'The list of subcategories',
    count: () => readCount(context.records, [keys.categoryCount(companyId, id)]),
    read: () => listEntries(context.records, keys.categoriesIn(companyId, id)),
  })
  return listOfAll(
    companyId,
    subcategories.map(({ key }) => lastPartOfKey(key)),
  )
}

function listOfAll(companyId: CompanyId, subcategoryIds: readonly string[]): CountedList {
  const listings = subcategoryIds.map((id) => ['sub', companyId, id] as const)
  return { counters: listings, ranges: listings.map(keys.evidencesIn), isWhole: false }
}

const ALL_PAGE_LENGTH = 500

/** Every evidence of a list that is read page by page. */
export const allEvidences = (list: Evidences['list']): Evidences['all'] =>
  async function* (scope, query = {}) {
    let position: Pick<EvidenceQuery, 'after' | 'cursor'> | undefined = {}
    // Behind another evidence fewer are listed, and in a filtered or sorted list those that change move.
    let missing = isSearch(query) || query.after !== undefined ? -Infinity : undefined
    while (position !== undefined) {
      const page: EvidencePage = await list(scope, { limit: ALL_PAGE_LENGTH, ...query, ...position })
      yield* page.items
      position = positionAfter(page)
      missing = (missing ?? page.count) - page.items.length
    }
    if (missing !== undefined && missing > 0) throw lost('A part of the list of evidences')
  }

/** Filtered and sorted lists continue at `next`, other lists after their last evidence. */
function positionAfter({ items, hasMore, next }: EvidencePage): Pick<EvidenceQuery, 'after' | 'cursor'> | undefined {
  if (next !== undefined) return { cursor: next }
  const last = items.at(-1)
  return hasMore && last !== undefined ? { after: last.id } : undefined
}
