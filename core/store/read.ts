import { type RegistryError, corrupt } from '../errors.ts'
import type { Check, Entry, Key, Range, RecordStore } from '../ports/index.ts'
import { decodeRecord } from './record-codec.ts'

/** A decoded record, and the check that makes a commit fail if the record has changed since it was read. */
export interface Read<T> {
  readonly record: T
  readonly check: Check
}

/** Decodes an entry. Throws `CORRUPT` if its bytes are not a JSON object. */
export const readEntry = <T extends object>(entry: Entry): Read<T> => ({
  record: decodeRecord<T>(entry),
  check: { key: entry.key, version: entry.version },
})

/** Reads one record, `undefined` if it does not exist. */
export async function readRecord<T extends object>(records: RecordStore, key: Key): Promise<Read<T> | undefined> {
  const [entry] = await records.get([key])
  return entry && readEntry<T>(entry)
}

/** Reads one record. Throws what `notFound` returns if it does not exist. */
export async function requireRecord<T extends object>(
  records: RecordStore,
  key: Key,
  notFound: () => RegistryError,
): Promise<Read<T>> {
  const read = await readRecord<T>(records, key)
  if (read === undefined) throw notFound()
  return read
}

/** Every entry of a listing, in memory. Use it only for listings that are known to be small. */
export async function listEntries(records: RecordStore, range: Range): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of records.list(range)) entries.push(entry)
  return entries
}

/** The error for a record that another record refers to and that does not exist: the store has lost it. */
export const danglingReference = (from: string, to: string): RegistryError =>
  corrupt(`${from} refers to ${to}, which is missing`)

/**
 * The records to which the entries of a listing refer, in their order. One that was removed after the listing was read
 * is left out. Throws `CORRUPT` if a record is missing that is still listed.
 */
export async function listedRecords(
  records: RecordStore,
  listing: readonly Entry[],
  keyOf: (listed: Key) => Key,
): Promise<Entry[]> {
  const found = await records.get(listing.map(({ key }) => keyOf(key)))
  const entries: Entry[] = []
  for (const [i, { key }] of listing.entries()) {
    const entry = found[i] ?? (await readIfListed(records, key, keyOf(key)))
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

async function readIfListed(records: RecordStore, listed: Key, key: Key): Promise<Entry | undefined> {
  const [stillListed, entry] = await records.get([listed, key])
  if (stillListed !== undefined && entry === undefined) throw danglingReference(`The list entry ${listed}`, key)
  return entry
}

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
export const lost = (what: string): RegistryError => corrupt(`${what} is missing`)

/**
 * A record store that does the same as another one, except for the methods that are given. It has neither
 * `eraseHistory` nor `snapshot`: pass the other store as the option `eraser`, or old values of deleted files stay.
 *
 * @example
 * const readOnly = decorateRecords(records, {
 *   commit: async () => {
 *     throw new RegistryError('UNAVAILABLE', 'These records can only be read')
 *   },
 * })
 */
export const decorateRecords = (records: RecordStore, methods: Partial<RecordStore>): RecordStore => ({
  get: (keys) => records.get(keys),
  list: (range) => records.list(range),
  commit: (commit) => records.commit(commit),
  readLog: (from, count) => records.readLog(from, count),
  readPayloads: (from, count) => records.readPayloads(from, count),
  logSize: () => records.logSize(),
  positionsOf: (entries) => records.positionsOf(entries),
  close: () => records.close(),
  ...methods,
})
