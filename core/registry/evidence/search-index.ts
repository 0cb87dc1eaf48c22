import type { EvidenceQuery } from '../../api/evidence-lists.ts'
import type { CompanyId } from '../../api/ids.ts'
import { idsFrom } from '../../ids.ts'
import type { Key } from '../../ports/index.ts'
import { countOf } from '../../store/counter.ts'
import { foldCase } from '../../store/evidence-index.ts'
import { keys } from '../../store/keys.ts'
import { decodeListed, listedKey, type ListedEvidence } from '../../store/listed-evidence.ts'
import { danglingReference, listEntries } from '../../store/read.ts'
import type { Context } from '../context.ts'
import type { CountedList } from './counted-list.ts'
import type { IndexName } from './cursor.ts'
import { firstRows, rowOf, rowsOf, rowsWithin, type IndexRows, type RowBounds } from './index-rows.ts'
import { listingRows } from './merged-rows.ts'

/** A filtered or sorted list of a company. */
export interface Search {
  readonly companyId: CompanyId
  readonly query: EvidenceQuery
  /** Contains every match. */
  readonly list: CountedList
}

/** An index that contains every match of a search. */
export interface SearchIndex {
  readonly name: IndexName
  /** At most `limit` rows, in the order of the list: those after a position. */
  rows(after: string | undefined, limit: number): IndexRows
  /** The key that the index has for an evidence. */
  keyOf(evidence: ListedEvidence): Key | undefined
}

/** How many entries of an index are read at most for one page. */
export const MAX_ROWS = 10_000
/** How many entries of an index without a counter are counted at most, to compare it with others. */
const MAX_COMPARED = 1_000

/**
 * The index with the fewest entries. All have the same order, newest first. A list that is sorted by update times is
 * read from their index, or from a small one that is sorted first.
 *
 * @param previous - the index that the previous page was read from. It is used again; only the entries of a prefix are
 *   read and compared again
 */
export async function chooseIndex(
  context: Context,
  search: Search,
  previous: IndexName | undefined,
): Promise<SearchIndex> {
  const candidates = orderedIndexes(context, search)
  if (search.query.sort === 'updated')
    return (await smallUpdatedIndex(context, search, candidates)) ?? updatedIndex(context, search)
  const known = candidates.find(({ index }) => index.name === previous)
  if (known !== undefined) return known.index
  const [only, ...others] = candidates
  if (only !== undefined && others.length === 0 && search.query.externalIdPrefix === undefined) return only.index
  const sizes = await Promise.all(candidates.map((candidate) => candidate.size()))
  const size = Math.min(...sizes)
  const isWholeCompany = only?.index.name === 'listing' && search.list.counter[0] === 'company'
  const byPrefix = await externalIdIndex(context, search, isWholeCompany ? MAX_ROWS : Math.min(size, MAX_ROWS))
  return byPrefix ?? (candidates[sizes.indexOf(size)] ?? listingIndex(context, search)).index
}

interface Candidate {
  readonly index: SearchIndex
  /** How many entries it has. Of an index without a counter at most `MAX_COMPARED`. */
  size(): Promise<number>
}

/** The indexes that have the order of the list, without those that are never the smallest. */
function orderedIndexes(context: Context, search: Search): readonly Candidate[] {
  const { owner, status } = search.query
  const byFilter = [
    ...(owner === undefined ? [] : [ownerIndex(context, search, foldCase(owner))]),
    ...(status === 'stolen' ? [stolenIndex(context, search)] : []),
  ]
  // The list of the whole company contains all entries of the others.
  const isContained = byFilter.length > 0 && search.list.counter[0] === 'company'
  return isContained ? byFilter : [...byFilter, listingIndex(context, search)]
}

function ownerIndex(context: Context, { companyId, query }: Search, owner: string): Candidate {
  const range = keys.ownedBy(companyId, owner)
  const { records } = context
  return {
    index: {
      name: 'owner',
      rows: (after, limit) => rowsOf(records, range, { ...createdBounds(query, after), limit }),
      keyOf: (evidence) => keys.ownerIndex(evidence.company, foldCase(evidence.owner ?? ''), evidence.id),
    },
    size: async () => (await listEntries(records, { ...range, limit: MAX_COMPARED })).length,
  }
}

function stolenIndex(context: Context, { companyId, query }: Search): Candidate {
  const range = keys.evidencesIn('stolen', companyId)
  return {
    index: {
      name: 'stolen',
      rows: (after, limit) => rowsOf(context.records, range, { ...createdBounds(query, after), limit }),
      // Only a stolen evidence has a key in this index.
      keyOf: ({ company, id, stolen }) => (stolen ? keys.evidenceIn('stolen', company, id) : undefined),
    },
    size: () => readCount(context, keys.evidenceCount('stolen', companyId)),
  }
}

function listingIndex(context: Context, { query, list }: Search): Candidate {
  const { counter, listings } = list
  const ranges = listings.map((listing) => keys.evidencesIn(...listing))
  return {
    index: {
      name: 'listing',
      rows: (after, limit) => listingRows(context.records, ranges, { ...createdBounds(query, after), limit }),
      keyOf: ({ company, subcategoryId, id }) =>
        counter[0] === 'company'
          ? keys.evidenceIn('company', company, id)
          : keys.evidenceIn('subcategory', subcategoryId, id),
    },
    size: () => readCount(context, keys.evidenceCount(...counter)),
  }
}

/**
 * The entries that begin with the prefix, in the order of the list. The index itself has another order, so all of them
 * are read first. Returns `undefined` if there is no prefix, or if more than `maxRows` entries begin with it.
 */
async function externalIdIndex(
  { records }: Context,
  { companyId, query }: Search,
  maxRows: number,
): Promise<SearchIndex | undefined> {
  if (query.externalIdPrefix === undefined) return undefined
  const range = keys.externalIdsBeginningWith(companyId, query.externalIdPrefix)
  const entries = await listEntries(records, { ...range, limit: maxRows + 1 })
  if (entries.length > maxRows) return undefined
  const rows = entries.map(({ key }) => rowOf(key)).sort((a, b) => (a.id < b.id ? 1 : -1))
  return {
    name: 'externalId',
    rows: (after) => rowsWithin(rows, createdBounds(query, after)),
    keyOf: ({ company, externalId, id }) => keys.externalIdIndex(company, externalId, id),
  }
}

function updatedIndex({ records }: Context, { companyId }: Search): SearchIndex {
  const range = keys.updatesOf(companyId)
  return {
    name: 'updated',
    rows: (before, limit) => rowsOf(records, range, { before, limit }),
    keyOf: ({ company, lastAt, id }) => keys.updateIndex(company, lastAt, id),
  }
}

/**
 * The update times of the evidences in a small index. Without it, a page that is sorted by update times and filtered
 * reads all evidences of the company until it is full. Returns `undefined` if every other index is large.
 */
async function smallUpdatedIndex(
  context: Context,
  search: Search,
  candidates: readonly Candidate[],
): Promise<SearchIndex | undefined> {
  const small = await smallIndex(context, search, candidates)
  if (small === undefined) return undefined
  const { companyId } = search
  const listed = await firstRows(small.rows(undefined, MAX_ROWS), MAX_ROWS)
  const entries = await context.records.get(listed.map(({ id }) => listedKey(companyId, id)))
  const { gte: prefix } = keys.updatesOf(companyId)
  const rows = entries.map((entry, i) => {
    if (entry === undefined) throw danglingReference(`The index entry ${listed[i]?.key}`, `evidence ${listed[i]?.id}`)
    const { id, lastAt } = decodeListed(entry)
    const key = keys.updateIndex(companyId, lastAt, id)
    return rowOf(key, key.slice(prefix.length))
  })
  rows.sort((a, b) => (a.position < b.position ? 1 : -1))
  return { ...updatedIndex(context, search), rows: (before) => rowsWithin(rows, { before }) }
}

/** An index of at most `MAX_COMPARED` entries that contains every match, unless it is the list of the whole company. */
async function smallIndex(
  context: Context,
  search: Search,
  candidates: readonly Candidate[],
): Promise<SearchIndex | undefined> {
  const byPrefix = await externalIdIndex(context, search, MAX_COMPARED)
  if (byPrefix !== undefined) return byPrefix
  const isCompany = search.list.counter[0] === 'company'
  const narrow = candidates.filter(({ index }) => !(isCompany && index.name === 'listing'))
  const sizes = await Promise.all(narrow.map((candidate) => candidate.size()))
  // A size of `MAX_COMPARED` may mean more.
  return narrow[sizes.findIndex((size) => size < MAX_COMPARED)]?.index
}

/** The ids of evidences that were created in the range of the query, and follow `after`. An id begins with its time. */
function createdBounds({ createdFrom, createdTo }: EvidenceQuery, after: string | undefined): RowBounds {
  const end = createdTo && idsFrom(createdTo.getTime())
  const before = after !== undefined && (end === undefined || after < end) ? after : end
  return { from: createdFrom && idsFrom(createdFrom.getTime()), before }
}

const readCount = async ({ records }: Context, counter: Key): Promise<number> =>
  countOf((await records.get([counter]))[0])
