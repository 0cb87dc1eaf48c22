import { concatBytes, toHex } from '../../core/bytes.ts'
import { assertCommit, assertLogRange, LOG_ENTRY_BYTES, versionOf } from '../../core/store/commit-plan.ts'
import { CommitQueue } from '../../core/store/commit-queue.ts'
import { RegistryError } from '../../core/errors.ts'
import { packRows, ROW_ENTRIES } from '../../core/store/log-rows.ts'
import type { Commit, CommitResult, Entry, Key, Range, RecordStore } from '../../core/ports.ts'
import { byteaArray } from './bytea-array.ts'
import { Database, type OpenPostgresOptions } from './database.ts'
import { GroupWriter } from './group-writer.ts'
import { ReadBatcher, type Found, type Wanted } from './read-batcher.ts'
import { headIsGone, keyBytes, keyText, rowsFrom, type FoundRow, type LogRowRow, type RecordRow } from './rows.ts'

const LIST_PAGE = 128
/** How many of the requests that are counted also delete the counts of windows that are over. */
const FORGET_SHARE = 1 / 1_000
/** Rows of the log in one read: 512 KiB of entries, twice that on the wire. */
const LOG_PAGE_ROWS = 64

/** Opens a record store in a PostgreSQL database, and makes or migrates its schema. Throws as `Database.open`. */
export async function openPostgresRecords(options: OpenPostgresOptions): Promise<PostgresRecords> {
  return new PostgresRecords(await Database.open(options))
}

/** A RecordStore in PostgreSQL, for any number of processes. The commits that wait in a process are one group: `GroupWriter`. */
export class PostgresRecords implements RecordStore {
  readonly #database: Database
  readonly #reads: ReadBatcher
  readonly #queue: CommitQueue
  #closing: Promise<void> | undefined

  constructor(database: Database) {
    this.#database = database
    const groups = new GroupWriter(database)
    this.#queue = new CommitQueue((commits) => groups.commitGroup(commits))
    this.#reads = new ReadBatcher((wanted) => this.#look(wanted))
  }

  async get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    this.#assertOpen()
    if (keys.length === 0) return []
    const { records } = await this.#reads.find({ keys, entries: [] })
    return keys.map((key) => {
      const row = records.get(key)
      // Each its own bytes, also where a key is asked for twice.
      return row && { key, value: new Uint8Array(row[1]), version: versionOf(Number(row[2])) }
    })
  }

  async *list(range: Range): AsyncIterable<Entry> {
    let { gte, lt } = range
    let left = range.limit ?? Infinity
    const { list, listReverse } = this.#database.sql
    while (left > 0) {
      this.#assertOpen()
      const size = Math.min(LIST_PAGE, left)
      const page = await this.#database.rows<RecordRow>(range.reverse === true ? listReverse : list, [
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
      else gte = `${keyText(last[0])}\0` // the least key above it
    }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#assertOpen()
    assertCommit(commit)
    return this.#queue.add(ownBytes(commit))
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    this.#assertOpen()
    assertLogRange(from, count)
    const end = Math.min(from + count, Number.MAX_SAFE_INTEGER)
    const pages: Uint8Array[] = []
    // A page ends at a block's end, and is one snapshot: the rows of a block that is filled meanwhile are seen before or after.
    for (let at = from; at < end;) {
      const start = at - (at % ROW_ENTRIES)
      const pageEnd = Math.min(end, start + LOG_PAGE_ROWS * ROW_ENTRIES)
      const rows = await this.#database.rows<LogRowRow>(this.#database.sql.logRows, [start, pageEnd])
      const page = packRows(rowsFrom(start, rows), at, pageEnd - at)
      pages.push(page)
      at += page.length / LOG_ENTRY_BYTES
      if (at < pageEnd) break
    }
    return pages.length === 1 ? (pages[0] as Uint8Array) : concatBytes(...pages)
  }

  async logSize(): Promise<number> {
    this.#assertOpen()
    const [row] = await this.#database.rows<[string]>(this.#database.sql.head)
    if (row === undefined) throw headIsGone()
    return Number(row[0])
  }

  async positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    this.#assertOpen()
    if (entries.length === 0) return []
    const names = entries.map(toHex)
    const { positions } = await this.#reads.find({ keys: [], entries: names })
    return names.map((name) => positions.get(name))
  }

  /**
   * One more request of a sender: how many there are in its window now, and in how many ms that ends. By the database's clock, for all
   * processes together. A crash of the database forgets them.
   */
  async countRequest(
    sender: string,
    windowMs: number,
  ): Promise<{ readonly requests: number; readonly resetsInMs: number }> {
    this.#assertOpen()
    const { sql } = this.#database
    if (Math.random() < FORGET_SHARE) await this.#database.rows(sql.forgetRequests)
    const [row] = await this.#database.rows<[string, string]>(sql.countRequest, [sender, windowMs])
    return { requests: Number(row?.[0]), resetsInMs: Number(row?.[1]) }
  }

  /** The database's clock, ms since 1970: what the clocks of several processes can be compared with. */
  async databaseNow(): Promise<number> {
    this.#assertOpen()
    const [row] = await this.#database.rows<[string]>(this.#database.sql.now)
    return Number(row?.[0])
  }

  /** Writes what waits, then ends the connections. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /** One statement, so one snapshot. */
  async #look({ keys, entries }: Wanted): Promise<Found> {
    const { get, positions, getAndPositions } = this.#database.sql
    const values = [keys.map(keyBytes), entries.map(entryBytes)].filter(({ length }) => length > 0).map(byteaArray)
    const statement = entries.length === 0 ? get : keys.length === 0 ? positions : getAndPositions
    return foundIn(await this.#database.rows<FoundRow>(statement, values))
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

function foundIn(rows: readonly FoundRow[]): Found {
  const records = new Map<Key, RecordRow>()
  const positions = new Map<string, number>()
  for (const [key, value, number] of rows)
    if (value === null) positions.set(toHex(key), Number(number))
    else records.set(keyText(key), [key, value, number])
  return { records, positions }
}

/** The values are copied when the commit is called: what a caller does to them while it waits must not reach the store. */
const ownBytes = (commit: Commit): Commit => ({
  ...commit,
  ...(commit.writes && { writes: commit.writes.map(({ key, value }) => ({ key, value: value && value.slice() })) }),
  ...(commit.append && { append: commit.append.slice() }),
})
