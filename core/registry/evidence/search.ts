import type { EvidenceQuery } from '../../schemas/evidence-inputs.ts'
import type { CompanyId } from '../../api/scope.ts'
import { encodeUtf8, sha256, toHex } from '../../bytes.ts'
import { corrupt } from '../../errors.ts'
import { MAX_READS } from '../../store/counted.ts'
import { readCount, type Count as StoredCount } from '../../store/counter.ts'
import { danglingReference, readAll } from '../../store/read.ts'
import { decodeRecord } from '../../store/codec.ts'
import { foldCase, keys, searchWords, shownKey } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { invalidInput } from '../../schemas/validation.ts'
import { nextRows, type IndexRow } from './rows.ts'
import {
  conditionsBeside,
  indexFor,
  MAX_ROWS,
  type Condition,
  type CountedList,
  type Search,
  type SearchIndex,
} from './search-index.ts'

/**
 * Filtered and sorted lists. A page reads one index, and applies the conditions that this index does not cover to the
 * evidences that it finds. It reads a limited number of rows, however large the registry is. A page that reaches this
 * limit has the matches that were found so far.
 */

interface Count {
  readonly count: number
  /** Whether there may be more. */
  readonly countIsMore: boolean
}

/** Where a page of a filtered or sorted list ended. */
interface Cursor extends Count {
  /** Position in the index of the list: `TIME/ID` if it is sorted by update, else the id of an evidence. */
  readonly position: string
}

export interface SearchPage extends Count {
  readonly evidences: readonly EvidenceRecord[]
  /** Present if there is more. */
  readonly next?: string
}

/**
 * Reads one page. Throws `VALIDATION_ERROR` if the cursor does not belong to the query, `CORRUPT` if the page is the
 * whole list and has another length than the counters say.
 */
export async function searchEvidences(context: Context, search: Search, limit: number): Promise<SearchPage> {
  const { records } = context
  let [page, differs] = await readPage(context, search, limit)
  for (let reads = 1; differs && reads < MAX_READS; reads += 1) {
    // Every change of an evidence appends to the log, also one that only moves it in the list.
    const logSize = await records.logSize()
    ;[page, differs] = await readPage(context, search, limit)
    if (differs && (await records.logSize()) === logSize)
      throw corrupt(`A list has ${page.evidences.length} evidences, but its counter says ${page.count}`)
  }
  return page
}

/** Also returns whether it is a whole list of another length than the counters say. */
async function readPage(
  context: Context,
  search: Search,
  limit: number,
): Promise<readonly [page: SearchPage, differs: boolean]> {
  const { companyId, query } = search
  const cursor = cursorOf(companyId, query)
  // The count is the one of the first page.
  const index = await indexFor(context, search, { after: cursor?.position, needed: limit + 1 })
  const { atLeast } = index
  const stored = cursor || atLeast !== undefined ? undefined : await storedCount(context, search)
  const known = cursor ?? stored ?? (atLeast === undefined ? undefined : { count: atLeast, countIsMore: true })
  const walk = await walkIndex(context, search, { index, limit, countsMatches: known === undefined })
  const { count, countIsMore } = known ?? walk
  const next =
    walk.position && encodeCursor({ position: walk.position, count, countIsMore }, hashQuery(companyId, query))
  const { evidences } = walk
  const page = { evidences, count, countIsMore, ...(next !== undefined && { next }) }
  return [page, next === undefined && stored !== undefined && stored.count !== evidences.length]
}

/** The number of matches, if counters in the store have it. */
async function storedCount(context: Context, { companyId, query, list }: Search): Promise<Count | undefined> {
  const { externalIdPrefix, words, owner, status, createdFrom, createdTo } = query
  if ([externalIdPrefix, words, owner, createdFrom, createdTo].some((filter) => filter !== undefined)) return undefined
  if (status !== undefined && !list.isWhole) return undefined
  const { count: all } = await countIn(context, list)
  const { count: stolen } =
    status === undefined ? { count: 0 } : await countIn(context, { counters: [['stolen', companyId]] })
  const count = status === undefined ? all : status === 'stolen' ? stolen : all - stolen
  return { count: Math.min(count, MAX_ROWS), countIsMore: count > MAX_ROWS }
}

/** How many evidences a list has. */
export const countIn = ({ records }: Context, { counters }: Pick<CountedList, 'counters'>): Promise<StoredCount> =>
  readCount(records, counters.map(keys.evidenceCount))

/** Rows whose evidences are read together. */
const CHUNK_ROWS = 128

interface Walk {
  readonly index: SearchIndex
  /** How many evidences a page has. */
  readonly limit: number
  /** Whether to go on when the page is full, to count the matches. */
  readonly countsMatches: boolean
}

interface WalkResult extends Count {
  readonly evidences: readonly EvidenceRecord[]
  /** After which the next page begins; `undefined` if there is none. */
  readonly position: string | undefined
}

/** Reads at most `MAX_ROWS` rows of an index, and one more to see whether it ends there. */
async function walkIndex(context: Context, search: Search, { index, limit, countsMatches }: Walk): Promise<WalkResult> {
  const accepts = conditionsBeside(index, search.query)
  // At least one match more than the page has, if there is one.
  const page: Match[] = []
  let [count, rowsLeft, hasMore] = [0, MAX_ROWS, true]
  let position: string | undefined
  while (hasMore && rowsLeft > 0 && (countsMatches || page.length <= limit)) {
    const isFull = page.length > limit
    const size = Math.min(rowsLeft, accepts || isFull ? CHUNK_ROWS : limit + 1 - page.length)
    const rows = await nextRows(index.rows, size)
    if (isFull && accepts === undefined) count += rows.length
    else {
      const matches = await readMatches(context, search.companyId, { rows, index, accepts })
      count += matches.length
      if (!isFull) page.push(...matches)
    }
    position = rows.at(-1)?.position ?? position
    rowsLeft -= rows.length
    hasMore = rows.length === size
  }
  if (hasMore && rowsLeft === 0) hasMore = (await index.rows.next()).done !== true
  return {
    evidences: page.slice(0, limit).map(({ evidence }) => evidence),
    count,
    countIsMore: hasMore,
    position: page.length > limit ? page[limit - 1]?.position : hasMore ? position : undefined,
  }
}

interface Match {
  readonly position: string
  readonly evidence: EvidenceRecord
}

interface RowsToMatch {
  readonly rows: readonly IndexRow[]
  readonly index: SearchIndex
  readonly accepts: Condition | undefined
}

/** The evidences of index rows that still have these rows, and fulfil the other conditions. */
async function readMatches(
  context: Context,
  companyId: CompanyId,
  { rows, index, accepts }: RowsToMatch,
): Promise<readonly Match[]> {
  const others = rows.filter(({ record }) => record === undefined)
  const entries = (
    await readAll(
      context.records,
      others.map(({ id }) => keys.evidence(companyId, id)),
    )
  ).values()
  const matches: Match[] = []
  for (const row of rows) {
    const entry = row.record ?? entries.next().value
    if (entry === undefined) throw danglingReference(`The index entry ${shownKey(row.key)}`, `evidence ${row.id}`)
    const read = decodeRecord(entry)
    const evidence =
      index.keyOf(read, row.key) === row.key ? read : await readChanged(context, companyId, { row, index })
    if (evidence !== undefined && (accepts?.(evidence) ?? true)) matches.push({ position: row.position, evidence })
  }
  return matches
}

/**
 * An evidence that was changed after its index row was read, so that it has another row now, or none. So has one whose
 * record is the row. Reads both from one snapshot. Throws `CORRUPT` if the row is still there and does not belong to
 * the evidence.
 */
async function readChanged(
  { records }: Context,
  companyId: CompanyId,
  { row, index }: { readonly row: IndexRow; readonly index: SearchIndex },
): Promise<EvidenceRecord | undefined> {
  if (row.record !== undefined) return undefined
  const [stillListed, entry] = await readAll(records, [row.key, keys.evidence(companyId, row.id)])
  if (stillListed === undefined) return undefined
  const evidence = entry && decodeRecord(entry)
  if (evidence !== undefined && index.keyOf(evidence, row.key) === row.key) return evidence
  throw corrupt(`The index entry ${shownKey(row.key)} does not belong to evidence ${row.id}`)
}

const HASH_LENGTH = 16

/** Identifies what a query matches and in which order, so that a cursor works only with the query it was made for. */
function hashQuery(companyId: CompanyId, query: EvidenceQuery): string {
  const { categoryId, subcategoryId, externalIdPrefix, words, owner, status, createdFrom, createdTo, sort } = query
  const times = [createdFrom, createdTo].map((time) => time?.getTime())
  const texts = [externalIdPrefix, words && searchWords(words), owner && foldCase(owner)]
  const parts = [companyId, categoryId, subcategoryId, ...texts, status, sort]
  return toHex(sha256(encodeUtf8(JSON.stringify([parts, times])))).slice(0, HASH_LENGTH)
}

/**
 * The opaque text of a cursor. It is not secret, and a forged one reveals nothing: it only chooses where in the
 * caller's own list to begin.
 */
const encodeCursor = ({ position, count, countIsMore }: Cursor, queryHash: string): string =>
  Buffer.from(JSON.stringify([queryHash, position, count, countIsMore]), 'utf8').toString('base64url')

/**
 * Where the page before ended; `undefined` for a first page. Throws `VALIDATION_ERROR` for a text that `encodeCursor`
 * does not make, and for the cursor of another query.
 */
export function cursorOf(companyId: CompanyId, query: EvidenceQuery): Cursor | undefined {
  const { cursor: text, sort } = query
  if (text === undefined) return undefined
  const cursor = decodeCursor(text, sort === 'updated' ? TIME_AND_ID : ID)
  if (cursor === undefined || encodeCursor(cursor, hashQuery(companyId, query)) !== text)
    throw invalidInput('cursor', 'must be what the previous page returned for the same filters and the same order')
  return cursor
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const TIME_AND_ID = new RegExp(`^[0-9a-f]{14}/${ID.source.slice(1)}`)

function decodeCursor(text: string, positions: RegExp): Cursor | undefined {
  const value = parseJson(Buffer.from(text, 'base64url').toString('utf8'))
  if (!Array.isArray(value)) return undefined
  const [, position, count, countIsMore]: readonly unknown[] = value
  if (typeof position !== 'string' || !positions.test(position)) return undefined
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return undefined
  return typeof countIsMore === 'boolean' ? { position, count, countIsMore } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
