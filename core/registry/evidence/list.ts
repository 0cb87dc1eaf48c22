import type { EvidenceFilter, EvidencePage, EvidenceQuery, EvidenceText } from '../../api/evidence.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { CompanyId } from '../../api/scope.ts'
import { timeOfDate } from '../../clock.ts'
import type { Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'
import { listEntries, readRecord } from '../../store/read.ts'
import { keys, searchWords, lastPartOfKey, type StoredRecord } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { uuidInput, invalidInput, validate } from '../../schemas/validation.ts'
import { type AuthorizedScope, enterCompany } from '../permissions.ts'
import { evidenceQuerySchema, textOptionsSchema } from './input.ts'
import { mergedRows, newestEntries, nextRows } from './rows.ts'
import type { CountedList } from './search-index.ts'
import { countIn, cursorOf, searchEvidences } from './search.ts'
import { readListed, summariesOf, summarize } from './summaries.ts'

const DEFAULT_LIMIT = 100

/** Lists evidences: filtered or sorted ones by an index, others in the order of their ids. */
export const listEvidences =
  (context: Context): Evidences['list'] =>
  async (scope, query = {}) =>
    readList(context, await enterCompany(context, scope, 'R'), query)

type TextPage = EvidencePage<EvidenceText>

/** Default of `EvidenceTextOptions`. */
const MAX_KEPT_CHARS = 8 * 1024 * 1024

interface KeptList {
  /** The size of the log. */
  readonly logSize: number
  /** Of the head of the anchors. `undefined` before the first anchor. */
  readonly anchorVersion: Version | undefined
  readonly page: TextPage
  /** What it counts for the limit. */
  readonly chars: number
}

/** What an item takes beside its text, in characters. */
const ITEM_OVERHEAD = 100
/** What a page takes beside its key and its items, in characters. A page without items counts, too. */
const PAGE_OVERHEAD = 200

/**
 * As `listEvidences`, with a text for each evidence. Keeps pages while nothing changes, from the second time on that
 * they are read. Every change of an evidence appends an event to the log, whichever server makes it, and the blocks in
 * a page follow from the confirmed anchors. So a page is correct as long as the size of the log and the head of the
 * anchors are those from before it was read.
 *
 * Texts are not kept for each evidence: with more evidences than fit, that takes longer than rendering them again, and
 * costs 1.4 times the CPU time of a page.
 */
export const listEvidenceTexts =
  (context: Context): Evidences['texts'] =>
  (render, options = {}) => {
    const { maxKeptChars = MAX_KEPT_CHARS } = validate(textOptionsSchema, options)
    const keptPages = new SecondUseMap<string, KeptList>(maxKeptChars, ({ chars }) => chars)
    return async (scope, query = {}) => {
      const { records, log } = context
      const entered = await enterCompany(context, scope, 'R')
      // Queries that differ only in what is not valid could have the same page.
      assertQuery(query)
      const [logSize, { version: anchorVersion }] = await Promise.all([records.logSize(), log.anchors()])
      const key = JSON.stringify([entered.companyId, query])
      const kept = keptPages.get(key)
      if (kept?.logSize === logSize && kept.anchorVersion === anchorVersion) return kept.page
      const { items, ...rest } = await readList(context, entered, query)
      const page = { ...rest, items: items.map((item) => ({ id: item.id, text: render(item) })) }
      keptPages.set(key, () => ({ logSize, anchorVersion, page, chars: key.length + charsOf(page) }))
      return page
    }
  }

const charsOf = ({ items, next = '' }: TextPage): number =>
  items.reduce((chars, { text }) => chars + text.length + ITEM_OVERHEAD, PAGE_OVERHEAD + next.length)

async function readList(context: Context, { companyId }: AuthorizedScope, query: EvidenceQuery): Promise<EvidencePage> {
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
  if (list === undefined) return NO_EVIDENCES
  const entries = await readNewest(context, companyId, list, { before: after, limit: limit + 1 })
  const [count, listed] = await Promise.all([countIn(context, list), summariesOf(context, entries.slice(0, limit))])
  return {
    items: listed,
    count,
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
    return NO_EVIDENCES
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

const NO_EVIDENCES: EvidencePage<never> = { items: [], count: 0, countIsMore: false, hasMore: false }

/** Throws `VALIDATION_ERROR`. Does not check a cursor. */
function assertQuery(query: EvidenceQuery): void {
  validate(evidenceQuerySchema, query)
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
  const category = await readRecord(context.records, keys.category(companyId, id))
  if (category === undefined) return undefined
  const { parentId } = category.record
  if (subcategoryId !== undefined)
    return parentId === undefined || (categoryId ?? parentId) !== parentId
      ? undefined
      : listOfAll(companyId, [subcategoryId])
  if (parentId !== undefined) return undefined
  const subcategories = await listEntries(context.records, keys.categoriesIn(companyId, id))
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
    while (position !== undefined) {
      const page: EvidencePage = await list(scope, { limit: ALL_PAGE_LENGTH, ...query, ...position })
      yield* page.items
      position = positionAfter(page)
    }
  }

/** Filtered and sorted lists continue at `next`, other lists after their last evidence. */
function positionAfter({ items, hasMore, next }: EvidencePage): Pick<EvidenceQuery, 'after' | 'cursor'> | undefined {
  if (next !== undefined) return { cursor: next }
  const last = items.at(-1)
  return hasMore && last !== undefined ? { after: last.id } : undefined
}
