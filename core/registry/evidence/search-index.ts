import type { EvidenceFilter, EvidenceQuery } from '../../schemas/evidence-inputs.ts'
import type { CompanyId } from '../../api/scope.ts'
import { idsFrom, timeOfId } from '../../ids.ts'
import type { Key, Range, Stored } from '../../ports/index.ts'
import { wordsOf } from '../../store/evidence.ts'
import {
  encodeNumber,
  keys,
  type CountedEvidences,
  foldCase,
  hashOfOwner,
  lastPartOfKey,
  searchWords,
} from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'
import { textOf } from '../../store/codec.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { merge, mergedRows, rowsOf, type IndexRow, type IndexRows, type RowBounds } from './rows.ts'

/** All evidences of a company, a category or a subcategory. */
export interface CountedList {
  /** Together they count the evidences. */
  readonly counters: readonly CountedEvidences[]
  /** Indexes that together list all of them and nothing else. No evidence is in two of these. */
  readonly ranges: readonly Range[]
  /** Whether it is the list of the company. */
  readonly isWhole: boolean
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
  /** The key that the index has for an evidence; if it has several, the one that equals `row`. */
  keyOf(evidence: EvidenceRecord, row: Key): Key | undefined
  /** How many evidences match at least, if to count more of them would take too long. */
  readonly atLeast?: number
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
 * filter in the order external id, words, owner, stolen, subcategory, category. These all have the same order and the
 * same positions, so the next page may be read from another one.
 */
export async function indexFor(context: Context, search: Search, page: PageBounds): Promise<SearchIndex> {
  const { owner, status, sort } = search.query
  if (sort === 'updated') return updatedIndex(context, search, page)
  const beginning = await beginningIndex(context, search, page)
  if ('rows' in beginning) return beginning
  if (owner !== undefined) return ownerIndex(context, search, page, owner)
  if (status === 'stolen') return stolenIndex(context, search, page)
  return { ...listingIndex(context, search, page), ...beginning }
}

/** Merges the index of update times with the evidences that were never updated: their ids have their times. */
const updatedIndex = ({ records }: Context, { companyId }: Search, { after, needed }: PageBounds): SearchIndex => ({
  rows: merge([
    rowsOf(records, keys.updatesOf(companyId), { before: after }, needed),
    createdRows(rowsOf(records, keys.evidencesOf(companyId), { before: after && createdBefore(after) }, needed)),
  ]),
  covers: [],
  keyOf: ({ company, lastVersion, lastAt, id }) =>
    lastVersion > 1 ? keys.updateIndex(company, lastAt, id) : keys.evidence(company, id),
})

/** The rows of a list with the positions that they have in the order of the updates as long as they have none. */
async function* createdRows(rows: IndexRows): IndexRows {
  for await (const row of rows) yield { ...row, position: `${encodeNumber(timeOfId(row.id))}/${row.id}` }
  return undefined
}

/** Before which ids the list goes on behind a position in the order of the updates. */
function createdBefore(position: string): string {
  const [time = '', id = ''] = position.split('/')
  const first = idsFrom(Number.parseInt(time, 16))
  return id > first ? id : first
}

/** What an index covers whose positions are ids, because an id begins with the time of the creation. */
const CREATED = ['createdFrom', 'createdTo'] as const

/** The ids of evidences that were created in the range of the query, and follow `after`. */
function createdBounds({ createdFrom, createdTo }: EvidenceQuery, after: string | undefined): RowBounds {
  const end = createdTo && idsFrom(createdTo.getTime())
  const before = after !== undefined && (end === undefined || after < end) ? after : end
  return { from: createdFrom && idsFrom(createdFrom.getTime()), before }
}

const ownerIndex = (
  { records, hash }: Context,
  { companyId, query }: Search,
  { after, needed }: PageBounds,
  owner: string,
): SearchIndex => ({
  rows: rowsOf(
    records,
    keys.ownedBy(companyId, hashOfOwner(companyId, owner, hash)),
    createdBounds(query, after),
    needed,
  ),
  covers: ['owner', ...CREATED],
  keyOf: ({ company, owner: stored, id }) => stored && keys.ownerIndex(company, hashOfOwner(company, stored, hash), id),
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

/** An index whose rows are in another order than the list. */
interface Beginning extends Pick<SearchIndex, 'covers' | 'keyOf'> {
  readonly range: Range
  /** The id in an entry. */
  readonly idIn: (entry: Stored) => string
}

/** Of the external id, then of each word: a long word first, because it is mostly a rare one. */
function beginningsOf({ companyId, query: { externalIdPrefix, words = '' } }: Search): readonly Beginning[] {
  const beginnings = searchWords(words).toSorted((a, b) => b.length - a.length)
  return [
    ...(externalIdPrefix === undefined ? [] : [externalIdPrefix]).map((prefix): Beginning => ({
      range: keys.externalIdsBeginningWith(companyId, prefix),
      idIn: textOf,
      covers: ['externalIdPrefix', ...CREATED],
      keyOf: ({ company, externalId }) => keys.externalId(company, externalId),
    })),
    ...beginnings.map((word): Beginning => ({
      range: { ...keys.wordsBeginningWith(companyId, word), keysOnly: true },
      idIn: ({ key }) => lastPartOfKey(key),
      covers: beginnings.length === 1 ? ['words', ...CREATED] : CREATED,
      keyOf: (evidence, row) =>
        wordsOf(evidence)
          .map((each) => keys.wordIndex(companyId, each, evidence.id))
          .find((key) => key === row),
    })),
  ]
}

/**
 * The first of these indexes that has few enough rows, because all of them are read and sorted. If none has, how many
 * evidences match at least, if that is known. An evidence is listed once, also if several of its words begin alike.
 */
async function beginningIndex(
  { records }: Context,
  search: Search,
  { after }: PageBounds,
): Promise<SearchIndex | Pick<SearchIndex, 'atLeast'>> {
  const beginnings = beginningsOf(search)
  const limit = Math.floor(MAX_ROWS / beginnings.length)
  const { from = '', before = '~' } = createdBounds(search.query, after)
  let atLeast: number | undefined
  for (const { range, idIn, ...index } of beginnings) {
    const entries = await listEntries(records, { ...range, limit: limit + 1 })
    const ids = entries.map(idIn)
    if (entries.length <= limit) {
      const found = new Map<string, IndexRow>()
      for (const [i, { key }] of entries.entries()) {
        const id = ids[i]
        if (id !== undefined && id >= from && id < before) found.set(id, { key, id, position: id })
      }
      return { ...index, rows: inOrder([...found.values()].sort((a, b) => (a.id < b.id ? 1 : -1))) }
    }
    if (filtersOf(search.query).length > 1 || beginnings.length > 1) continue
    const count = new Set(ids).size
    if (count > limit / 2) atLeast = Math.min(count, MAX_ROWS)
  }
  return { ...(atLeast !== undefined && { atLeast }) }
}

const filtersOf = ({ sort: _, limit: _limit, after: _after, cursor: _cursor, ...filters }: EvidenceQuery) =>
  Object.values(filters).filter((filter) => filter !== undefined)

async function* inOrder(rows: readonly IndexRow[]): IndexRows {
  yield* rows
  return undefined
}

const listingIndex = ({ records }: Context, { query, list }: Search, { after, needed }: PageBounds): SearchIndex => ({
  rows: mergedRows(records, list.ranges, createdBounds(query, after), needed),
  covers: ['categoryId', 'subcategoryId', ...CREATED],
  keyOf: ({ company, subcategoryId, id }) =>
    list.isWhole ? keys.evidence(company, id) : keys.evidenceIn(['sub', company, subcategoryId], id),
})

export type Condition = (evidence: EvidenceRecord) => boolean

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
    ...given('words', (text) => {
      const beginnings = searchWords(text)
      return (evidence) => {
        const words = wordsOf(evidence)
        return beginnings.every((beginning) => words.some((word) => word.startsWith(beginning)))
      }
    }),
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
