import type { EvidenceId } from '../../api/ids.ts'
import type { Range, RecordStore } from '../../ports/index.ts'
import { firstRows, idOfEntry, newestEntries, rowsOf } from './index-rows.ts'
import type { IndexRow, IndexRows, NewestBounds, RowBounds } from './index-rows.ts'

/** Rows of one index that are read together at most. */
const MAX_CHUNK = 128
/** Indexes that are read at the same time. Each of them holds an iterator of the store. */
const MAX_READING = 16

/** The rows of indexes whose positions are ids, in descending order. Most lists have one index. */
export function listingRows(records: RecordStore, ranges: readonly Range[], bounds: RowBounds): IndexRows {
  const [only, ...others] = ranges
  return only !== undefined && others.length === 0 ? rowsOf(records, only, bounds) : mergedRows(records, ranges, bounds)
}

/** The ids of the newest evidences in such indexes. */
export async function newestListed(
  records: RecordStore,
  ranges: readonly Range[],
  bounds: NewestBounds,
): Promise<readonly EvidenceId[]> {
  const [only, ...others] = ranges
  if (only !== undefined && others.length === 0) return (await newestEntries(records, only, bounds)).map(idOfEntry)
  return (await firstRows(mergedRows(records, ranges, bounds), bounds.limit)).map(({ id }) => id as EvidenceId)
}

/**
 * The rows of indexes whose positions are ids, merged in descending order. A category can have thousands of
 * subcategories. So no index is held open, and at the start each is read only as far as its share of `limit` goes.
 */
async function* mergedRows(records: RecordStore, ranges: readonly Range[], bounds: RowBounds): IndexRows {
  const { limit = Infinity } = bounds
  const chunk = Math.min(MAX_CHUNK, Math.max(1, Math.ceil((2 * limit) / ranges.length)))
  const indexes = ranges.map((range) => new BufferedIndex(records, range, { ...bounds, limit: chunk }))
  for (let i = 0; i < indexes.length; i += MAX_READING)
    await Promise.all(indexes.slice(i, i + MAX_READING).map((index) => index.read()))
  for (;;) {
    const newest = newestOf(indexes)
    const row = newest?.take()
    if (newest === undefined || row === undefined) return undefined
    yield row
    if (newest.newestId === undefined) await newest.read()
  }
}

function newestOf(indexes: readonly BufferedIndex[]): BufferedIndex | undefined {
  let newest: BufferedIndex | undefined
  for (const index of indexes)
    if (index.newestId !== undefined && (newest?.newestId === undefined || index.newestId > newest.newestId))
      newest = index
  return newest
}

/** One index, of which some rows are in memory. */
class BufferedIndex {
  readonly #records: RecordStore
  readonly #range: Range
  #bounds: RowBounds & { readonly limit: number }
  #rows: readonly IndexRow[] = []
  #at = 0
  #isEnded = false
  /** The id of the next row, `undefined` if none is in memory. */
  newestId: string | undefined

  /** @param bounds - `limit`: rows that are read at first */
  constructor(records: RecordStore, range: Range, bounds: RowBounds & { readonly limit: number }) {
    this.#records = records
    this.#range = range
    this.#bounds = bounds
  }

  /** Reads the next rows. */
  async read(): Promise<void> {
    if (this.#isEnded) return
    const { limit } = this.#bounds
    this.#rows = await firstRows(rowsOf(this.#records, this.#range, this.#bounds), limit)
    this.#at = 0
    this.#isEnded = this.#rows.length < limit
    this.#bounds = {
      ...this.#bounds,
      before: this.#rows.at(-1)?.position,
      limit: Math.min(MAX_CHUNK, 4 * limit),
    }
    this.newestId = this.#rows[0]?.id
  }

  /** Returns the next row in memory. */
  take(): IndexRow | undefined {
    const row = this.#rows[this.#at]
    this.newestId = this.#rows[++this.#at]?.id
    return row
  }
}
