import { DatabaseError, type QueryConfig } from 'pg'
import {
  assertCommit,
  CommitQueue,
  RegistryError,
  toHex,
  untilAborted,
  type Commit,
  type CommitResult,
  type Stored,
  type Key,
  type Range,
  type RecordSnapshot,
} from '../kit/index.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { toRegistryError } from './errors.ts'
import { GroupWriter } from './group-writer.ts'
import type { PostgresRecords } from './options.ts'
import { JoinedLookups, type Lookup, type LookupResult } from './joined-lookups.ts'
import { PostgresReader } from './reader.ts'
import { byteaArray, keyBytes, keyText, positionOf, recordOf, type LookupRow, type RecordRow } from './rows.ts'
import { openSnapshot } from './snapshot.ts'

/** Connects to the database and opens the store; see `openPostgresRecords`. */
export const connectRecords = async (options: DatabaseOptions): Promise<PostgresRecords> =>
  new PostgresRecordStore(await Database.open(options))

/**
 * A RecordStore in PostgreSQL, for any number of processes. The commits that wait in a process form one group:
 * `GroupWriter`.
 */
class PostgresRecordStore implements PostgresRecords {
  readonly snapshots = this
  readonly eraser = this
  readonly fileChecker = null
  readonly isShared = true
  readonly #database: Database
  readonly #reader: PostgresReader
  readonly #reads: JoinedLookups
  readonly #queue: CommitQueue
  /** The keys of the last `eraseHistory`. */
  #vacuumed: ReadonlySet<Key> = new Set()
  #closing: Promise<void> | undefined

  constructor(database: Database) {
    this.#database = database
    this.#reader = new PostgresReader((statement, values) => database.query(statement, values), database)
    const groups = new GroupWriter(database)
    this.#queue = new CommitQueue((commits) => groups.commitGroup(commits))
    this.#reads = new JoinedLookups((lookup) => this.#runLookup(lookup))
  }

  isPoisoned(): boolean {
    return false
  }

  get unsafeSettings(): readonly string[] {
    return this.#database.unsafeSettings
  }

  async get(keys: readonly Key[]): Promise<readonly (Stored | undefined)[]> {
    this.#assertOpen()
    if (keys.length === 0) return []
    const { records } = await this.#reads.lookup({ keys, entries: [] })
    return keys.map((key) => {
      const row = records.get(key)
      return row && this.#database.checked(() => recordOf(row))
    })
  }

  list(range: Range): AsyncIterable<Stored> {
    this.#assertOpen()
    return this.#reader.list(range)
  }

  async snapshot(): Promise<RecordSnapshot> {
    this.#assertOpen()
    return openSnapshot(this.#database)
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#assertOpen()
    assertCommit(commit)
    return this.#queue.add(copyCommit(commit))
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    this.#assertOpen()
    return this.#reader.readLog(from, count)
  }

  async readPayloads(from: number, count: number): Promise<readonly Uint8Array[]> {
    this.#assertOpen()
    return this.#reader.readPayloads(from, count)
  }

  async logSize(): Promise<number> {
    this.#assertOpen()
    return this.#reader.logSize()
  }

  async positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    this.#assertOpen()
    if (entries.length === 0) return []
    const named = entries.map((entry) => ({ entry, hex: toHex(entry) }))
    const { positions } = await this.#reads.lookup({ keys: [], entries: named.map(({ hex }) => hex) })
    return named.map(({ entry, hex }) => {
      const stored = positions.get(hex)
      return stored && this.#database.checked(() => positionOf(entry, stored))
    })
  }

  async databaseNow(): Promise<number> {
    this.#assertOpen()
    const [row] = await this.#database.query<[string]>(this.#database.sql.now)
    return Number(row?.[0])
  }

  /**
   * Removes the dead rows of all keys. Returns false the first time that it is called for a key: rows that a reader
   * still needed go when it is called again.
   */
  async eraseHistory(keys: readonly Key[], signal?: AbortSignal): Promise<boolean> {
    this.#assertOpen()
    await maintain(this.#database, [this.#database.sql.vacuum], signal)
    const isRepeated = keys.every((key) => this.#vacuumed.has(key))
    this.#vacuumed = new Set(keys)
    return isRepeated
  }

  /** Rebuilds the index of the records: pages of an index keep keys that were deleted. */
  async eraseKeys(signal?: AbortSignal): Promise<void> {
    this.#assertOpen()
    await maintain(this.#database, this.#database.sql.reindex, signal)
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
  const positions = new Map<string, Buffer>()
  for (const [key, value, isRecord] of rows)
    if (isRecord) records.set(keyText(key), [key, value])
    else positions.set(toHex(key), value)
  return { records, positions }
}

/** Copies the values when the commit is called, because the caller may change them while the commit waits. */
const copyCommit = (commit: Commit): Commit => ({
  ...commit,
  ...(commit.writes && {
    writes: commit.writes.map((write) => ({ ...write, value: write.value && write.value.slice() })),
  }),
  ...(commit.append && {
    append: commit.append.map(({ entry, payload }) => ({ entry: entry.slice(), payload: payload.slice() })),
  }),
})

/** Engines that speak the protocol but have no VACUUM: a syntax error, an unsupported feature, an unknown function. */
const NOT_SUPPORTED: ReadonlySet<unknown> = new Set(['42601', '0A000', '42883'])

/**
 * Maintains the table of records: VACUUM removes dead versions of rows, so that their space is used again, and REINDEX
 * rebuilds its index. It runs on a connection of its own, and blocks neither reads nor commits. Rows that an open
 * transaction may still read stay.
 *
 * @param signal ends the wait; a statement that has begun goes on in the server
 */
async function maintain(database: Database, statements: readonly QueryConfig[], signal?: AbortSignal): Promise<void> {
  const client = await database.retry(() => database.connect())
  const run = async (): Promise<void> => {
    await client.query('set statement_timeout = 0')
    for (const statement of statements) await client.query(statement)
  }
  try {
    await untilAborted(run(), signal)
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof DatabaseError && NOT_SUPPORTED.has(error.code))) throw toRegistryError(error)
  } finally {
    // Closed, because its settings were changed.
    client.release(true)
  }
}
