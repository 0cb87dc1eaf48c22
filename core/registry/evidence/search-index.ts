import type { EvidenceFilter, EvidenceQuery } from '../../api/evidence.ts'
import type { CompanyId } from '../../api/scope.ts'
import { idsFrom } from '../../ids.ts'
import type { Key } from '../../ports/index.ts'
import { keys, type CountedEvidences, type Listing, foldCase, listedKey } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'
import type { ListedEvidence } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { mergedRows, indexRow, rowsOf, type IndexRow, type IndexRows, type RowBounds } from './rows.ts'

/** All evidences of a company, a category or a subcategory. */
export interface CountedList {
  /** Counts the evidences. */
  readonly counter: CountedEvidences
  /** Indexes that together list all of them and nothing else. No evidence is in two of these. */
  readonly listings: readonly Listing[]
}

/** A filtered or sorted list of a company. */
export interface Search {
  readonly companyId: CompanyId
  readonly query: EvidenceQuery
  /** Contains every match. */
  readonly list: CountedList
}

/** An index that contains every match of a search. */
export interface SearchIndex {
  /** Its rows in the order of the list, after the page before. */
  readonly rows: IndexRows
  /** The filters that all evidences in it fulfil. */
  readonly covers: readonly (keyof EvidenceFilter)[]
  /** The key that the index has for an evidence. */
  keyOf(evidence: ListedEvidence): Key | undefined
}

/** How many rows of an index are read at most for one page. */
export const MAX_ROWS = 10_000

interface PageBounds {
  /** Position at which the page before ended. */
  readonly after: string | undefined
  /** How many rows are read at first. */
  readonly needed: number
}

/**
 * The index that a search is read from: the one of the update times for a list in their order, else that of the first
 * filter in the order owner, stolen, external id, subcategory, category. These all have the same order and the same
 * positions, so the next page may be read from another one.
 */
export async function indexFor(context: Context, search: Search, page: PageBounds): Promise<SearchIndex> {
  const { owner, status, sort } = search.query
  if (sort === 'updated') return updatedIndex(context, search, page)
  if (owner !== undefined) return ownerIndex(context, search, page, foldCase(owner))
  if (status === 'stolen') return stolenIndex(context, search, page)
  return (await externalIdIndex(context, search, page)) ?? listingIndex(context, search, page)
}

const updatedIndex = ({ records }: Context, { companyId }: Search, { after, needed }: PageBounds): SearchIndex => ({
  rows: rowsOf(records, keys.updatesOf(companyId), { before: after }, needed),
  covers: [],
  keyOf: ({ company, lastAt, id }) => keys.updateIndex(company, lastAt, id),
})

/** What an index covers whose positions are ids, because an id begins with the time of the creation. */
const CREATED = ['createdFrom', 'createdTo'] as const

/** The ids of evidences that were created in the range of the query, and follow `after`. */
function createdBounds({ createdFrom, createdTo }: EvidenceQuery, after: string | undefined): RowBounds {
  const end = createdTo && idsFrom(createdTo.getTime())
  const before = after !== undefined && (end === undefined || after < end) ? after : end
  return { from: createdFrom && idsFrom(createdFrom.getTime()), before }
}

const ownerIndex = (
  { records }: Context,
  { companyId, query }: Search,
  { after, needed }: PageBounds,
  owner: string,
): SearchIndex => ({
  rows: rowsOf(records, keys.ownedBy(companyId, owner), createdBounds(query, after), needed),
  covers: ['owner', ...CREATED],
  keyOf: ({ company, owner: stored, id }) => stored && keys.ownerIndex(company, foldCase(stored), id),
})

const stolenIndex = (
  { records }: Context,
  { companyId, query }: Search,
  { after, needed }: PageBounds,
): SearchIndex => ({
  rows: rowsOf(records, keys.evidencesIn(['stolen', companyId]), createdBounds(query, after), needed),
  covers: ['status', ...CREATED],
  // Only a stolen evidence has a key in this index.
  keyOf: ({ company, id, stolen }) => (stolen ? keys.evidenceIn(['stolen', company], id) : undefined),
})

/**
 * The entries that begin with the prefix, in the order of the list. The index itself has another order, so all of them
 * are read first. Returns `undefined` if there is no prefix, or if too many entries begin with it.
 */
async function externalIdIndex(
  { records }: Context,
  { companyId, query }: Search,
  { after }: PageBounds,
): Promise<SearchIndex | undefined> {
  if (query.externalIdPrefix === undefined) return undefined
  const range = keys.externalIdsBeginningWith(companyId, query.externalIdPrefix)
  const entries = await listEntries(records, { ...range, limit: MAX_ROWS + 1 })
  if (entries.length > MAX_ROWS) return undefined
  const { from = '', before = '~' } = createdBounds(query, after)
  const rows = entries.map(({ key }) => indexRow(key)).filter(({ id }) => id >= from && id < before)
  return {
    rows: inOrder(rows.sort((a, b) => (a.id < b.id ? 1 : -1))),
    covers: ['externalIdPrefix', ...CREATED],
    keyOf: ({ company, externalId, id }) => keys.externalIdIndex(company, externalId, id),
  }
}

async function* inOrder(rows: readonly IndexRow[]): IndexRows {
  yield* rows
  return undefined
}

const listingIndex = ({ records }: Context, { query, list }: Search, { after, needed }: PageBounds): SearchIndex => ({
  rows: mergedRows(records, rangesOf(list), createdBounds(query, after), needed),
  covers: ['categoryId', 'subcategoryId', ...CREATED],
  keyOf: ({ company, categoryId, subcategoryId, id }) =>
    list.counter[0] === 'company'
      ? listedKey(company, id)
      : keys.evidenceIn(['category', categoryId, subcategoryId], id),
})

/** The ranges of keys that list the evidences. */
export const rangesOf = ({ listings }: CountedList) => listings.map(keys.evidencesIn)

export type Condition = (evidence: ListedEvidence) => boolean

/** The filters that an index does not cover; `undefined` if there are none. */
export function conditionsBeside({ covers }: SearchIndex, query: EvidenceFilter): Condition | undefined {
  const given = <Name extends keyof EvidenceFilter>(
    name: Name,
    condition: (value: NonNullable<EvidenceFilter[Name]>) => Condition,
  ): readonly Condition[] => {
    const value = query[name]
    return value === undefined || covers.includes(name) ? [] : [condition(value)]
  }
  const conditions = [
    ...given('externalIdPrefix', (prefix) => (evidence) => evidence.externalId.startsWith(prefix)),
    ...given('owner', (owner) => {
      const folded = foldCase(owner)
      return ({ owner: stored }) => stored !== undefined && foldCase(stored) === folded
    }),
    ...given('status', (status) => (evidence) => evidence.stolen === (status === 'stolen')),
    ...given('categoryId', (id) => (evidence) => evidence.categoryId === id),
    ...given('subcategoryId', (id) => (evidence) => evidence.subcategoryId === id),
    ...given('createdFrom', (time) => {
      const first = idsFrom(time.getTime())
      return ({ id }) => id >= first
    }),
    ...given('createdTo', (time) => {
      const end = idsFrom(time.getTime())
      return ({ id }) => id < end
    }),
  ]
  return conditions.length === 0 ? undefined : (evidence) => conditions.every((holds) => holds(evidence))
}
