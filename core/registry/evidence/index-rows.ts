import type { EvidenceId } from '../../api/ids.ts'
import type { Entry, Key, Range, RecordStore } from '../../ports/index.ts'
import { lastPartOfKey } from '../../store/key.ts'

/** An entry of an index: its key ends with the id of an evidence. */
export interface IndexRow {
  readonly key: Key
  readonly id: string
  /** The part of the key that orders it within its index: the id, or `TIME/ID`. */
  readonly position: string
}

/** Rows in the order of a list. Close it with `return` if it is not read to the end. */
export type IndexRows = AsyncGenerator<IndexRow, undefined>

export interface RowBounds {
  /** Only rows whose position is not smaller. */
  readonly from?: string | undefined
  /** Only rows whose position is smaller. */
  readonly before?: string | undefined
  readonly limit?: number
}

/** The rows of an index in descending order. `range` contains all keys of the index, as `keysUnder` returns it. */
export async function* rowsOf(
  records: RecordStore,
  range: Range,
  { from = '', before, limit = Infinity }: RowBounds,
): IndexRows {
  const bounded = boundedRange(range, { from, before })
  if (bounded === undefined) return undefined
  for await (const { key } of records.list({ ...bounded, reverse: true, limit }))
    yield rowOf(key, key.slice(range.gte.length))
  return undefined
}

/** The part of an index within bounds, `undefined` if there is none. */
function boundedRange(
  { gte: prefix, lt: end }: Range,
  { from, before }: { readonly from: string; readonly before: string | undefined },
): Range | undefined {
  const bounded = { gte: prefix + from, lt: before === undefined ? end : prefix + before }
  return bounded.gte < bounded.lt ? bounded : undefined
}

/** The row of a key. Its position is the id, unless it is given. */
export function rowOf(key: Key, position?: string): IndexRow {
  const id = lastPartOfKey(key)
  return { key, id, position: position ?? id }
}

/** Those of some rows that are within bounds. */
export async function* rowsWithin(rows: readonly IndexRow[], { from = '', before = '~' }: RowBounds): IndexRows {
  for (const row of rows) if (row.position >= from && row.position < before) yield row
  return undefined
}

const nextOf = async (rows: IndexRows): Promise<IndexRow | undefined> => (await rows.next()).value

/** Which of the newest entries of an index are read. */
export interface NewestBounds {
  /** Only those of older evidences than this one. */
  readonly before: string | undefined
  readonly limit: number
}

/** The newest entries of an index whose positions are ids, without a generator. */
export async function newestEntries(
  records: RecordStore,
  range: Range,
  { before, limit }: NewestBounds,
): Promise<readonly Entry[]> {
  const bounded = boundedRange(range, { from: '', before })
  const entries: Entry[] = []
  if (bounded !== undefined)
    for await (const entry of records.list({ ...bounded, reverse: true, limit })) entries.push(entry)
  return entries
}

export const idOfEntry = ({ key }: Entry): EvidenceId => lastPartOfKey(key) as EvidenceId

/** Reads the next rows: fewer than `count` only at the end. The caller closes the iteration with `rows.return`. */
export async function nextRows(rows: IndexRows, count: number): Promise<readonly IndexRow[]> {
  const read: IndexRow[] = []
  while (read.length < count) {
    const row = await nextOf(rows)
    if (row === undefined) break
    read.push(row)
  }
  return read
}

/** Reads the first rows, and closes the iteration. */
export async function firstRows(rows: IndexRows, count: number): Promise<readonly IndexRow[]> {
  try {
    return await nextRows(rows, count)
  } finally {
    await rows.return(undefined)
  }
}
