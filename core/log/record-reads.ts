import { RegistryError } from '../errors.ts'
import type { Range, RecordStore } from '../ports/index.ts'
import { decodeRecord } from '../store/record-codec.ts'

const MAX_PAGE = 256

export async function readOne<T extends object>(records: RecordStore, key: string): Promise<T | undefined> {
  const [entry] = await records.get([key])
  return decodeRecord<T>(entry)
}

export async function readFirst<T extends object>(records: RecordStore, range: Range): Promise<T | undefined> {
  for await (const entry of records.list({ ...range, limit: 1 })) return decodeRecord<T>(entry)
  return undefined
}

export interface SizedRecords<T> {
  /** The range of the records of this size and larger ones, in ascending order. */
  readonly rangeFrom: (size: number) => Range
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
      page = await readPage<T>(store, { ...rangeFrom(size), limit })
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

async function readPage<T extends object>(store: RecordStore, range: Range): Promise<readonly T[]> {
  const records: T[] = []
  for await (const entry of store.list(range)) records.push(decodeRecord<T>(entry))
  return records
}

/** The error for a part of the log that must exist: the store has lost it. */
export const lost = (what: string): RegistryError =>
  new RegistryError('CORRUPT', `${what} is missing: restore the store from a backup`)
