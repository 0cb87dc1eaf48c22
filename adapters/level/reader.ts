import type { AbstractSnapshot } from 'abstract-level'
import {
  allocate,
  assertRow,
  keysToRead,
  LOG_ENTRY_BYTES,
  checked,
  decodedPages,
  payloadsOfRows,
  type RegistryError,
  ROW_ENTRIES,
  SecondUseMap,
  type Commit,
  type Stored,
  type EntryRow,
  type GroupPlan,
  type Key,
  type LogAppend,
  type PayloadRow,
  type Range,
} from '../kit/index.ts'
import { toRegistryError } from './errors.ts'
import {
  BY_TEXT,
  decodePosition,
  decodeRecordValue,
  endOfRows,
  ENTRY_ROWS,
  FIRST_RECORD_KEY,
  PAYLOAD_ROWS,
  positionKey,
  rowKey,
  rowStart,
  type LevelDatabase,
  type PositionRow,
} from './layout.ts'

/** Values of keys that were read, in the order of the keys. */
type Values = (Uint8Array | undefined)[]

/** A row is cached here, so that it does not take the place of ten blocks of records in LevelDB's cache. */
const ROW_BY_TEXT = { ...BY_TEXT, fillCache: false } as const
/** Some 25 rows of payloads. Nearly every bundle reads the one with the first checkpoint key. */
const MAX_CACHED_ROW_BYTES = 1024 * 1024

const NO_KEYS: ReadonlySet<Key> = new Set()

/**
 * Reads records and log positions from an open database, on this thread if the database can (`getSync`): 1 µs for a key
 * whose block is cached, where a `getMany` takes 10 to 20 µs and waits behind whatever else the event loop has to do.
 */
export class LevelReader {
  readonly #db: LevelDatabase
  readonly #cache = new EntryCache()
  /** A full row never changes. */
  readonly #fullRows = new SecondUseMap<string, Uint8Array>(MAX_CACHED_ROW_BYTES, ({ length }) => length)
  /** The keys that the batch in progress changes: it was handed to the database and is not done. */
  #changing: GroupPlan['changed'] = NO_KEYS
  /** Whether the database has `getSync`. abstract-level's types do not name this part of the manifest yet. */
  readonly #hasGetSync: boolean

  constructor(db: LevelDatabase) {
    this.#db = db
    this.#hasGetSync = Reflect.get(db.supports, 'getSync') === true
  }

  /**
   * Whether `readSync` of these keys returns one state of the database: only this store writes, and it starts no write
   * between two reads. A batch in progress may take effect between them, so it may change only one of the keys.
   */
  canReadSync(keys: readonly Key[]): boolean {
    if (!this.#hasGetSync || this.#changing.size === 0) return this.#hasGetSync
    return keys.filter((key) => this.#changing.has(key)).length <= 1
  }

  /** Reads records one after the other, through the cache. Requires `canReadSync`. */
  readSync(keys: readonly Key[]): (Stored | undefined)[] {
    return keys.map((key) => (this.#changing.has(key) ? this.#getSync(key) : this.#getCached(key)))
  }

  /** Notes the keys that a batch will change, before it is handed to the database. */
  beginChange({ changed, puts, deletes }: Pick<GroupPlan, 'changed' | 'puts' | 'deletes'>): void {
    this.#changing = changed
    for (const { key } of puts) this.#cache.delete(key)
    for (const key of deletes) this.#cache.delete(key)
  }

  /** The batch is done, or has failed. */
  endChange(): void {
    this.#changing = NO_KEYS
  }

  #getCached(key: Key): Stored | undefined {
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const entry = this.#getSync(key)
    if (entry !== undefined) this.#cache.set(entry)
    return entry
  }

  #getSync(key: Key): Stored | undefined {
    try {
      return decodeOptional(key, this.#db.getSync<Key, Uint8Array>(key, BY_TEXT))
    } catch (error) {
      throw toRegistryError(error)
    }
  }

  /** Reads records from one snapshot: up to `maxSyncKeys` keys one by one on this thread, more with one `getMany`. */
  async entries(keys: readonly Key[], maxSyncKeys: number): Promise<(Stored | undefined)[]> {
    const values = await this.values(keys, maxSyncKeys)
    return keys.map((key, index) => decodeOptional(key, values[index]))
  }

  /** The same as `entries`, but returns the stored bytes. */
  async values(keys: readonly Key[], maxSyncKeys: number): Promise<Values> {
    if (keys.length > maxSyncKeys || !this.#hasGetSync) return this.#db.getMany<Key, Uint8Array>([...keys], BY_TEXT)
    return keys.map((key) => this.#db.getSync<Key, Uint8Array>(key, BY_TEXT))
  }

  /** Reads one full row of the log on this thread; `undefined` if there is none, or the database cannot. */
  fullRowSync(key: string): Uint8Array | undefined {
    const cached = this.#fullRows.get(key)
    if (cached !== undefined) return cached
    const stored = this.#hasGetSync ? this.#db.getSync<string, Uint8Array>(key, ROW_BY_TEXT) : undefined
    const row = stored && checked(key, stored)
    if (row !== undefined) this.#fullRows.set(key, () => row)
    return row
  }

  /** Reads the positions under these keys (`positionKey`) one after the other; `undefined` if the database cannot. */
  positionsSync(keys: readonly string[]): (number | undefined)[] | undefined {
    if (!this.#hasGetSync) return undefined
    return keys.map((key) => decodeOptionalPosition(key, this.#db.getSync<string, Uint8Array>(key, BY_TEXT)))
  }

  /** Reads the positions under these keys with one `getMany`. */
  async positions(keys: readonly string[]): Promise<(number | undefined)[]> {
    const values = await this.values(keys, 1)
    return keys.map((key, i) => decodeOptionalPosition(key, values[i]))
  }
}

const decodeOptionalPosition = (key: string, value: Uint8Array | undefined): number | undefined =>
  value && decodePosition(key, value)

const decodeOptional = (key: Key, value: Uint8Array | undefined): Stored | undefined =>
  value && decodeRecordValue(key, value)

/**
 * Up to this many keys of a group are read one by one on this thread: 1 µs each if they are cached. A getMany takes
 * 1.4 µs each and lets the group wait behind whatever else the event loop has to do (256 in flight: 10,500 against
 * 8,500 creates a second).
 */
const MAX_SYNC_KEYS = 1024

/** Reads the current entries of all keys that decide these commits. */
export async function currentEntries(reader: LevelReader, commits: readonly Commit[]): Promise<Map<Key, Stored>> {
  const keys = [...new Set(commits.flatMap(keysToRead))]
  const entries = new Map<Key, Stored>()
  for (const entry of await reader.entries(keys, MAX_SYNC_KEYS)) if (entry !== undefined) entries.set(entry.key, entry)
  return entries
}

/** The index records of entries that are appended to a log of `logSize`. Of equal entries the last one stays. */
export const newPositions = (appended: readonly LogAppend[], logSize: number): readonly PositionRow[] =>
  appended.map(({ entry }, i) => [positionKey(entry), logSize + i])

/** All cached entries together have at most this many bytes: some 4,000 evidences. */
const MAX_CACHED_BYTES = 8 * 1024 * 1024

/**
 * Caches entries that are read again. Nearly every request reads the same few records (its API key, the operator's key,
 * the head of the anchors), and many evidences are read more than once; a cached entry takes less than a microsecond,
 * where LevelDB and the checksum take 3 to 10. Delete an entry from the cache before its key is written to.
 */
export class EntryCache {
  readonly #entries = new SecondUseMap<Key, Stored>(MAX_CACHED_BYTES, ({ key, value }) => key.length + value.length)

  /** Returns a copy of the cached entry. */
  get(key: Key): Stored | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const value = allocate(entry.value.length)
    value.set(entry.value)
    return { key, value, version: entry.version }
  }

  /** Stores a copy of the entry from the second time on. */
  set(entry: Stored): void {
    const { key, value, version } = entry
    // Memory of its own: a part of a shared buffer would keep the rest of the buffer as well.
    this.#entries.set(key, () => ({ key, value: new Uint8Array(value), version }))
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }
}

/**
 * Bytes of one page of the iterator: some 120 full rows of 8 KiB. classic-level's default of 16 KiB would return three
 * at a time.
 */
const ROW_PAGE_BYTES = 1024 * 1024

/**
 * Reads the rows that hold the entries at positions `from` to `end` (exclusive), in order and from one snapshot.
 * Returns fewer if the log ends before `end`.
 *
 * @throws RegistryError `CORRUPT` if a row is damaged, is missing between them, or has a wrong length
 */
export async function readRows(db: LevelDatabase, { from, end, snapshot }: RowRange): Promise<EntryRow[]> {
  const rows: EntryRow[] = []
  let expected = from - (from % ROW_ENTRIES)
  const range = { from: expected, end: from < end ? end : 0, snapshot }
  for await (const [start, entries] of rowsOf(db, ENTRY_ROWS, range)) {
    const row = { start, entries }
    assertRow(row, expected)
    expected += entries.length / LOG_ENTRY_BYTES
    if (expected > from) rows.push(row)
  }
  return rows
}

/**
 * Reads the payloads at positions `from` to `end` (exclusive), from one snapshot. Returns fewer if the log ends before.
 *
 * @throws RegistryError `CORRUPT` if a row is damaged, is missing between them, or has a wrong length
 */
export async function readPayloads(db: LevelDatabase, { from, end, snapshot }: RowRange): Promise<Uint8Array[]> {
  const rows: PayloadRow[] = []
  const block = from - (from % ROW_ENTRIES)
  for await (const [start, payloads] of rowsOf(db, PAYLOAD_ROWS, { from: block, end: from < end ? end : 0, snapshot }))
    rows.push({ start, payloads })
  return payloadsOfRows(rows, from, end - from)
}

/** Positions in the log. */
export interface RowRange {
  readonly from: number
  /** Exclusive. */
  readonly end: number
  /** Reads this state of the database instead of the current one. */
  readonly snapshot?: AbstractSnapshot | undefined
}

async function* rowsOf(
  db: LevelDatabase,
  prefix: string,
  { from, end, snapshot }: RowRange,
): AsyncGenerator<readonly [start: number, value: Uint8Array], void, undefined> {
  if (from >= end) return
  const lt = Number.isSafeInteger(end) ? rowKey(prefix, end) : endOfRows(prefix)
  const options = { gte: rowKey(prefix, from), lt, snapshot, ...BY_TEXT, highWaterMarkBytes: ROW_PAGE_BYTES }
  const iterator = db.iterator<string, Uint8Array>(options)
  try {
    for (;;) {
      const page = await iterator.nextv(ROW_ENTRIES)
      if (page.length === 0) return
      for (const [key, value] of page) yield [rowStart(key), checked(key, value)]
    }
  } finally {
    await iterator.close()
  }
}

const LIST_PAGE_SIZE = 128
/** Enough for a page of evidences. classic-level's default of 16 KiB would return a dozen at a time. */
const LIST_PAGE_BYTES = 256 * 1024

/** Returns the coded error for an error of the database. */
export type ToCoded = (error: unknown) => RegistryError

/** Yields pages of the records of a range, of the current state or of a snapshot. */
export async function* listPages(
  db: LevelDatabase,
  { gte, lt, reverse = false, limit = -1, snapshot }: Range & { readonly snapshot?: AbstractSnapshot },
  toCoded: ToCoded,
): AsyncGenerator<readonly Stored[], void, undefined> {
  const from = gte < FIRST_RECORD_KEY ? FIRST_RECORD_KEY : gte
  const page = { limit, highWaterMarkBytes: LIST_PAGE_BYTES }
  const iterator = db.iterator<Key, Uint8Array>({ gte: from, lt, reverse, ...page, snapshot, ...BY_TEXT })
  try {
    for (let left = limit < 0 ? Infinity : limit; left > 0;) {
      const entries = await iterator.nextv(LIST_PAGE_SIZE)
      if (entries.length === 0) return
      left -= entries.length
      yield* decodedPages(entries, ([key, value]) => decodeRecordValue(key, value))
    }
  } catch (error) {
    throw toCoded(error)
  } finally {
    await iterator.close()
  }
}
