import { concatBytes, toHex } from '../../core/bytes.ts'
import { assertCommit, assertLogRange, LOG_ENTRY_BYTES, versionOf } from '../../core/store/commit-plan.ts'
import { CommitQueue } from '../../core/store/commit-queue.ts'
import { RegistryError } from '../../core/errors.ts'
import { packRows, ROW_ENTRIES } from '../../core/store/log-rows.ts'
import type { Commit, CommitResult, Entry, Key, Range } from '../../core/ports/index.ts'
import { byteaArray } from './bytea-array.ts'
import { Database } from './database.ts'
import { GroupWriter } from './group-writer.ts'
import type { OpenPostgresOptions, PostgresRecords } from './options.ts'
import { ReadBatcher, type Lookup, type LookupResult } from './read-batcher.ts'
import {
  missingHeadError,
  keyBytes,
  keyText,
  rowsFrom,
  type LookupRow,
  type LogRowRow,
  type RecordRow,
} from './rows.ts'

const LIST_PAGE_SIZE = 128
/** The share of the counted requests that also delete the counts of windows that have ended. */
const PURGE_PROBABILITY = 1 / 1_000
/** Rows of the log in one read: 512 KiB of entries, twice that on the wire. */
const LOG_PAGE_ROWS = 64

/** Connects to the database and opens the store; see `openPostgresRecords`. */
export const connectRecords = async (options: OpenPostgresOptions): Promise<PostgresRecords> =>
  new PostgresRecordStore(await Database.open(options))

/**
 * A RecordStore in PostgreSQL, for any number of processes. The commits that wait in a process form one group:
 * `GroupWriter`.
 */
class PostgresRecordStore implements PostgresRecords {
  readonly #database: Database
  readonly #reads: ReadBatcher
  readonly #queue: CommitQueue
  #closing: Promise<void> | undefined

  constructor(database: Database) {
    this.#database = database
    const groups = new GroupWriter(database)
    this.#queue = new CommitQueue((commits) => groups.commitGroup(commits))
    this.#reads = new ReadBatcher((lookup) => this.#runLookup(lookup))
  }

  async get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    this.#assertOpen()
    if (keys.length === 0) return []
    const { records } = await this.#reads.lookup({ keys, entries: [] })
    return keys.map((key) => {
      const row = records.get(key)
      // Copied: several callers, or one caller twice, may have requested the same key.
      return row && { key, value: new Uint8Array(row[1]), version: versionOf(Number(row[2])) }
    })
  }

  async *list(range: Range): AsyncIterable<Entry> {
    let { gte, lt } = range
    let left = range.limit ?? Infinity
    const { list, listReverse } = this.#database.sql
    while (left > 0) {
      this.#assertOpen()
      const size = Math.min(LIST_PAGE_SIZE, left)
      const page = await this.#database.query<RecordRow>(range.reverse === true ? listReverse : list, [
        keyBytes(gte),
        keyBytes(lt),
        size,
      ])
      for (const [key, value, version] of page)
        yield { key: keyText(key), value: new Uint8Array(value), version: versionOf(Number(version)) }
      const last = page.at(-1)
      if (last === undefined || page.length < size) return
      left -= page.length
      if (range.reverse === true) lt = keyText(last[0])
      else gte = `${keyText(last[0])}\0` // the smallest key above it
    }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#assertOpen()
    assertCommit(commit)
    return this.#queue.add(copyCommit(commit))
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    this.#assertOpen()
    assertLogRange(from, count)
    const end = Math.min(from + count, Number.MAX_SAFE_INTEGER)
    const pages: Uint8Array[] = []
    // A page ends at the end of a block and is one snapshot, so it sees the rows of a block either before or after they
    // are joined.
    for (let at = from; at < end;) {
      const start = at - (at % ROW_ENTRIES)
      const pageEnd = Math.min(end, start + LOG_PAGE_ROWS * ROW_ENTRIES)
      const rows = await this.#database.query<LogRowRow>(this.#database.sql.logRows, [start, pageEnd])
      const page = packRows(rowsFrom(start, rows), at, pageEnd - at)
      pages.push(page)
      at += page.length / LOG_ENTRY_BYTES
      if (at < pageEnd) break
    }
    const [onlyPage] = pages
    return onlyPage !== undefined && pages.length === 1 ? onlyPage : concatBytes(...pages)
  }

  async logSize(): Promise<number> {
    this.#assertOpen()
    const [row] = await this.#database.query<[string]>(this.#database.sql.head)
    if (row === undefined) throw missingHeadError()
    return Number(row[0])
  }

  async positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    this.#assertOpen()
    if (entries.length === 0) return []
    const hexEntries = entries.map(toHex)
    const { positions } = await this.#reads.lookup({ keys: [], entries: hexEntries })
    return hexEntries.map((entry) => positions.get(entry))
  }

  async countRequest(
    sender: string,
    windowMs: number,
  ): Promise<{ readonly requests: number; readonly resetsInMs: number }> {
    this.#assertOpen()
    const { sql } = this.#database
    if (Math.random() < PURGE_PROBABILITY) await this.#database.query(sql.deleteExpiredRates)
    const [row] = await this.#database.query<[string, string]>(sql.countRequest, [sender, windowMs])
    return { requests: Number(row?.[0]), resetsInMs: Number(row?.[1]) }
  }

  async databaseNow(): Promise<number> {
    this.#assertOpen()
    const [row] = await this.#database.query<[string]>(this.#database.sql.now)
    return Number(row?.[0])
  }

  /** Writes the commits that wait, then ends the connections. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /** Runs one statement, so all its results are from one snapshot. */
  async #runLookup({ keys, entries }: Lookup): Promise<LookupResult> {
    const { get, positions, getAndPositions } = this.#database.sql
    const values = [keys.map(keyBytes), entries.map(entryBytes)].filter(({ length }) => length > 0).map(byteaArray)
    const statement = entries.length === 0 ? get : keys.length === 0 ? positions : getAndPositions
    return toLookupResult(await this.#database.query<LookupRow>(statement, values))
  }

  async #close(): Promise<void> {
    await this.#queue.emptied()
    await this.#database.close(() => this.#reads.settled())
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new RegistryError('CLOSED', 'The record store is closed')
  }
}

const entryBytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

function toLookupResult(rows: readonly LookupRow[]): LookupResult {
  const records = new Map<Key, RecordRow>()
  const positions = new Map<string, number>()
  for (const [key, value, number] of rows)
    if (value === null) positions.set(toHex(key), Number(number))
    else records.set(keyText(key), [key, value, number])
  return { records, positions }
}

/** Copies the values when the commit is called, because the caller may change them while the commit waits. */
const copyCommit = (commit: Commit): Commit => ({
  ...commit,
  ...(commit.writes && { writes: commit.writes.map(({ key, value }) => ({ key, value: value && value.slice() })) }),
  ...(commit.append && { append: commit.append.slice() }),
})
