import type { RecordStore } from '../ports/index.ts'
import type { RecordRange } from '../store/keys.ts'
import { readPage } from '../store/read.ts'
import { type LogRange, RangeCache } from './range-cache.ts'

const MAX_PAGE = 256

export interface SizedRecords<T> {
  /** The range of the records of this size and larger ones, in ascending order. */
  readonly rangeFrom: (size: number) => RecordRange<T>
  readonly sizeOf: (record: T) => number
  /** Records that are read together at least. Default: 1. */
  readonly minPage?: number
  /** Gets each page that was read, and the size from which it was read. */
  readonly onPage?: (firstSize: number, records: readonly T[]) => void
}

/**
 * For each size, the first record of this size or a larger one. Goes through the range once, in pages. If the requested
 * records lie far apart, it reads pages of `minPage` records and jumps. If they lie close together, the pages grow.
 */
export async function readFirstCovering<T extends object>(
  store: RecordStore,
  sizes: readonly number[],
  { rangeFrom, sizeOf, minPage = 1, onPage }: SizedRecords<T>,
): Promise<ReadonlyMap<number, T>> {
  const records = new Map<number, T>()
  let page: readonly T[] = []
  let [limit, at, used] = [minPage, 0, 0]
  for (const size of [...new Set(sizes)].sort((a, b) => a - b)) {
    for (let record = page[at]; record !== undefined && sizeOf(record) < size; record = page[at]) at++
    if (at === page.length) {
      if (page.length < limit && page.length > 0) break
      limit = Math.min(MAX_PAGE, Math.max(minPage, used * 2))
      page = await readPage(store, { ...rangeFrom(size), limit })
      onPage?.(size, page)
      ;[at, used] = [0, 0]
    }
    const record = page[at]
    if (record === undefined) break
    records.set(size, record)
    used = at + 1
  }
  return records
}

/** A record and the positions that it covers. */
interface Covered<T> extends LogRange {
  readonly record: T
}

interface CoveringSource<T> extends SizedRecords<T> {
  /** The first position that a record covers. Default: the one after the record before it. */
  readonly startOf?: (record: T) => number
}

/** Records that each cover a range of positions: batches, anchors. Caches those that it has read. */
export class CoveringRecords<T extends object> {
  readonly #records: RecordStore
  readonly #source: CoveringSource<T>
  readonly #cached: RangeCache<Covered<T>>

  /** @param maxCached How many records are cached at most. At least 2. */
  constructor(records: RecordStore, source: CoveringSource<T>, maxCached: number) {
    this.#records = records
    this.#source = source
    this.#cached = new RangeCache(maxCached)
  }

  /** The record that covers each position. A position that none covers yet is missing in the map. */
  async of(positions: readonly number[]): Promise<ReadonlyMap<number, T>> {
    const found = new Map<number, T>()
    const missing: number[] = []
    for (const position of positions) {
      const cached = this.#cached.find(position)
      if (cached === undefined) missing.push(position)
      else found.set(position, cached.record)
    }
    if (missing.length === 0) return found
    const sizes = missing.map((position) => position + 1)
    const onPage = (firstSize: number, page: readonly T[]): void => this.#cache(firstSize - 1, page)
    for (const [size, record] of await readFirstCovering(this.#records, sizes, { ...this.#source, onPage }))
      found.set(size - 1, record)
    return found
  }

  /** The records between the requested ones are cached, too. */
  #cache(start: number, page: readonly T[]): void {
    const { sizeOf, startOf } = this.#source
    let next = start
    for (const record of page) {
      const end = sizeOf(record)
      this.#cached.add({ start: startOf?.(record) ?? next, end, record })
      next = end
    }
  }
}
