import type { Key, Range, RecordStore } from '../../ports/index.ts'
import { lastPartOfKey, type RecordRange, type StoredRecord } from '../../store/keys.ts'
import { isEvidenceKey } from '../../store/evidence-form.ts'
import { listEntries } from '../../store/read.ts'
import type { EvidenceRecord } from '../../store/records.ts'

/** An entry of an index: its key ends with the id of an evidence. */
export interface IndexRow {
  readonly key: Key
  readonly id: string
  /** Orders it within its index: the id, or `TIME/ID`. */
  readonly position: string
  /** The evidence's record, if that is the entry. */
  readonly record?: StoredRecord<EvidenceRecord> | undefined
}

/** Rows in the order of a list. Between two rows no iterator of the store is open, so it may be left unfinished. */
export type IndexRows = AsyncGenerator<IndexRow, undefined>

export interface RowBounds {
  /** Only rows whose position is not smaller. */
  readonly from?: string | undefined
  /** Only rows whose position is smaller. */
  readonly before?: string | undefined
}

/** Rows of one index that are read together at most. */
const MAX_CHUNK = 1_000
/** Indexes that are read at the same time. Each of them holds an iterator of the store. */
const MAX_READING = 16

/** The newest entries of an index, newest first. `range` contains all its keys, as `keysUnder` returns it. */
export async function newestEntries<T>(
  records: RecordStore,
  range: RecordRange<T>,
  { from = '', before, limit }: RowBounds & { readonly limit: number },
): Promise<readonly StoredRecord<T>[]> {
  const { gte: prefix, lt: end } = range
  const [gte, lt] = [prefix + from, before === undefined ? end : prefix + before]
  return gte < lt ? listEntries(records, { ...range, gte, lt, reverse: true, limit }) : []
}

/**
 * The rows of an index in descending order.
 *
 * @param needed - how many rows are read at first. Later reads are larger
 */
export async function* rowsOf(records: RecordStore, range: Range, bounds: RowBounds, needed: number): IndexRows {
  let { before } = bounds
  // Any other row of an index has no value.
  const keysOnly = !isEvidenceKey(range.gte)
  for (let limit = Math.min(MAX_CHUNK, needed); ; limit = Math.min(MAX_CHUNK, 4 * limit)) {
    const entries = await newestEntries<EvidenceRecord>(records, { ...range, keysOnly }, { ...bounds, before, limit })
    for (const entry of entries) {
      const { key } = entry
      const position = (before = key.slice(range.gte.length))
      yield { key, id: lastPartOfKey(key), position, ...(!keysOnly && { record: entry }) }
    }
    if (entries.length < limit) return undefined
  }
}

/**
 * The rows of indexes whose positions are ids, merged in descending order. A category can have thousands of
 * subcategories, so at first each index is read only as far as its share of the needed rows goes.
 */
export function mergedRows(
  records: RecordStore,
  ranges: readonly Range[],
  bounds: RowBounds,
  needed: number,
): IndexRows {
  const [only, ...others] = ranges
  if (only !== undefined && others.length === 0) return rowsOf(records, only, bounds, needed)
  const share = Math.ceil((2 * needed) / ranges.length)
  return merge(ranges.map((range) => rowsOf(records, range, bounds, share)))
}

/** Merges indexes in descending order of the positions. */
export async function* merge(indexes: readonly IndexRows[]): IndexRows {
  const heads: (IndexRow | undefined)[] = []
  for (let i = 0; i < indexes.length; i += MAX_READING)
    heads.push(...(await Promise.all(indexes.slice(i, i + MAX_READING).map(nextRow))))
  for (;;) {
    const newest = newestOf(heads)
    const [index, row] = [indexes[newest], heads[newest]]
    if (index === undefined || row === undefined) return undefined
    yield row
    heads[newest] = await nextRow(index)
  }
}

function newestOf(rows: readonly (IndexRow | undefined)[]): number {
  let newest = 0
  for (const [i, row] of rows.entries()) {
    const best = rows[newest]
    if (row !== undefined && (best === undefined || row.position > best.position)) newest = i
  }
  return newest
}

const nextRow = async (rows: IndexRows): Promise<IndexRow | undefined> => (await rows.next()).value

/** Reads the next rows: fewer than `count` only at the end. */
export async function nextRows(rows: IndexRows, count: number): Promise<readonly IndexRow[]> {
  const read: IndexRow[] = []
  while (read.length < count) {
    const row = await nextRow(rows)
    if (row === undefined) break
    read.push(row)
  }
  return read
}
