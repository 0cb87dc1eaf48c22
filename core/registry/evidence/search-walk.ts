import type { CompanyId } from '../../api/ids.ts'
import { RegistryError } from '../../errors.ts'
import { idsFrom } from '../../ids.ts'
import { foldCase } from '../../store/evidence-index.ts'
import { decodeListed, listedKey, type ListedEvidence } from '../../store/listed-evidence.ts'
import { danglingReference } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { nextRows, type IndexRow } from './index-rows.ts'
import { MAX_ROWS, type Search, type SearchIndex } from './search-index.ts'

export interface Walk {
  readonly index: SearchIndex
  /** Position after which to begin. */
  readonly after: string | undefined
  /** How many evidences a page has. */
  readonly limit: number
  /** Whether to go on when the page is full, to count the matches. */
  readonly countsMatches: boolean
}

export interface Count {
  readonly count: number
  /** Whether there may be more. */
  readonly countIsMore: boolean
}

export interface WalkResult extends Count {
  readonly evidences: readonly ListedEvidence[]
  /** After which the next page begins; `undefined` if there is none. */
  readonly position: string | undefined
}

/** Rows that are read together. */
const CHUNK_ROWS = 128

/** Reads at most `MAX_ROWS` rows of an index, and one more to see whether it ends there. */
export async function walkIndex(
  context: Context,
  search: Search,
  { index, after, limit, countsMatches }: Walk,
): Promise<WalkResult> {
  const rows = index.rows(after, MAX_ROWS + 1)
  const accepts = conditionsBeside(index, search)
  // At least one match more than the page has, if there is one.
  const page: Match[] = []
  let [count, rowsLeft, hasMore] = [0, MAX_ROWS, true]
  let position: string | undefined
  try {
    while (hasMore && rowsLeft > 0 && (countsMatches || page.length <= limit)) {
      const isFull = page.length > limit
      const size = Math.min(rowsLeft, CHUNK_ROWS, accepts || isFull ? CHUNK_ROWS : limit + 1 - page.length)
      const chunk = await nextRows(rows, size)
      if (isFull && accepts === undefined) count += chunk.length
      else {
        const matches = await readMatches(context, index, { companyId: search.companyId, rows: chunk, accepts })
        count += matches.length
        if (!isFull) page.push(...matches)
      }
      position = chunk.at(-1)?.position ?? position
      rowsLeft -= chunk.length
      hasMore = chunk.length === size
    }
    if (hasMore && rowsLeft === 0) hasMore = (await rows.next()).done !== true
  } finally {
    await rows.return(undefined)
  }
  return {
    evidences: page.slice(0, limit).map(({ evidence }) => evidence),
    count,
    countIsMore: hasMore,
    position: page.length > limit ? page[limit - 1]?.position : hasMore ? position : undefined,
  }
}

type Condition = (evidence: ListedEvidence) => boolean

/** The conditions that the entries of an index do not fulfil by themselves; `undefined` if there are none. */
function conditionsBeside({ name }: SearchIndex, { query, list }: Search): Condition | undefined {
  const { externalIdPrefix, owner, status, categoryId, subcategoryId, createdFrom, createdTo } = query
  const conditions: Condition[] = []
  if (externalIdPrefix !== undefined && name !== 'externalId')
    conditions.push(({ externalId }) => externalId.startsWith(externalIdPrefix))
  if (owner !== undefined && name !== 'owner') {
    const folded = foldCase(owner)
    conditions.push((evidence) => foldCase(evidence.owner ?? '') === folded)
  }
  if (status !== undefined && name !== 'stolen') conditions.push(({ stolen }) => stolen === (status === 'stolen'))
  if (list.counter[0] !== 'company' && name !== 'listing')
    conditions.push(
      (evidence) =>
        (categoryId ?? evidence.categoryId) === evidence.categoryId &&
        (subcategoryId ?? evidence.subcategoryId) === evidence.subcategoryId,
    )
  if (createdFrom !== undefined && name === 'updated') {
    const first = idsFrom(createdFrom.getTime())
    conditions.push(({ id }) => id >= first)
  }
  if (createdTo !== undefined && name === 'updated') {
    const end = idsFrom(createdTo.getTime())
    conditions.push(({ id }) => id < end)
  }
  return conditions.length === 0 ? undefined : (evidence) => conditions.every((holds) => holds(evidence))
}

interface Match {
  readonly position: string
  readonly evidence: ListedEvidence
}

interface RowsToMatch {
  readonly companyId: CompanyId
  readonly rows: readonly IndexRow[]
  readonly accepts: Condition | undefined
}

/** The evidences of index rows that still have these rows, and fulfil the other conditions. */
async function readMatches(
  context: Context,
  index: SearchIndex,
  { companyId, rows, accepts }: RowsToMatch,
): Promise<readonly Match[]> {
  const entries = await context.records.get(rows.map(({ id }) => listedKey(companyId, id)))
  const matches: Match[] = []
  for (const [i, row] of rows.entries()) {
    const entry = entries[i]
    if (entry === undefined) throw danglingReference(`The index entry ${row.key}`, `evidence ${row.id}`)
    const read = decodeListed(entry)
    const evidence = index.keyOf(read) === row.key ? read : await readChanged(context, index, { companyId, row })
    if (evidence !== undefined && (accepts?.(evidence) ?? true)) matches.push({ position: row.position, evidence })
  }
  return matches
}

/**
 * An evidence that was changed after its index row was read, so that it has another row now, or none. Reads both from
 * one snapshot. Throws `CORRUPT` if the row is still there and does not belong to the evidence.
 */
async function readChanged(
  context: Context,
  index: SearchIndex,
  { companyId, row }: { readonly companyId: CompanyId; readonly row: IndexRow },
): Promise<ListedEvidence | undefined> {
  const [stillListed, entry] = await context.records.get([row.key, listedKey(companyId, row.id)])
  if (stillListed === undefined) return undefined
  const evidence = entry && decodeListed(entry)
  if (evidence !== undefined && index.keyOf(evidence) === row.key) return evidence
  throw new RegistryError(
    'CORRUPT',
    `The index entry ${row.key} does not belong to its evidence: restore the store from a backup`,
  )
}
