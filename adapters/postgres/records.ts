import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import { concatBytes, toHex } from '../../core/bytes.ts'
import {
  assertCommit,
  assertLogRange,
  keysToRead,
  LOG_ENTRY_BYTES,
  planGroup,
  versionNumber,
  versionOf,
  type GroupPlan,
} from '../../core/commit-plan.ts'
import { RegistryError } from '../../core/errors.ts'
import {
  appendRows,
  assertRow,
  EMPTY_TAIL,
  packRows,
  ROW_ENTRIES,
  type LogRow,
  type LogTail,
  type RowChanges,
} from '../../core/log-rows.ts'
import type { Commit, CommitResult, Entry, Key, Range, RecordStore } from '../../core/ports.ts'
import { Database, pause, type OpenPostgresOptions } from './database.ts'
import { JoinedLookups } from './joined-lookups.ts'
import { faultOf, isPassing, isRolledBack, reasonOf } from './faults.ts'

/** Commits of one group; what waits beyond joins the next. It bounds the size of one transaction. */
const MAX_GROUP = 1024
const LIST_PAGE = 128
/** How many of the requests that are counted also delete the counts of windows that are over. */
const FORGET_SHARE = 1 / 1_000
/** Rows of the log in one read: 512 KiB of entries, twice that on the wire. */
const LOG_PAGE_ROWS = 64

interface Waiting {
  readonly commit: Commit
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

interface Head {
  readonly lastVersion: number
  readonly logSize: number
}

/** A COMMIT was sent, and its answer did not come. */
class LostCommit extends Error {
  readonly plan: GroupPlan

  constructor(plan: GroupPlan, cause: unknown) {
    super('The answer to a COMMIT was lost', { cause })
    this.plan = plan
  }
}

/** Opens a record store in a PostgreSQL database, and makes or migrates its schema. Throws as `Database.open`. */
export async function openPostgresRecords(options: OpenPostgresOptions): Promise<PostgresRecords> {
  return new PostgresRecords(await Database.open(options))
}

/**
 * A RecordStore in PostgreSQL, for any number of processes. The commits that wait in a process are one transaction, and
 * the lock on the head's row puts the transactions of all processes in a line, so READ COMMITTED is serializable here, and log
 * positions are dense and in the order of the commits.
 *
 * What is cut before its COMMIT is done again. Where the answer to a COMMIT is lost, the number of the group shows whether it came
 * through: it is written with the group, and read under the same lock, so not before the lost transaction has ended.
 */
export class PostgresRecords implements RecordStore {
  readonly #database: Database
  readonly #records: JoinedLookups<RecordRow>
  readonly #positions: JoinedLookups<number>
  /** This process, among those that write. */
  readonly #writer = randomUUID()
  #lastGroup = 0
  #waiting: Waiting[] = []
  #draining: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(database: Database) {
    this.#database = database
    const { sql } = database
    this.#records = new JoinedLookups(async (keys) => {
      const rows = await database.rows<RecordRow>(sql.get, [keys.map(keyBytes)])
      return new Map(rows.map((row) => [keyText(row[0]), row]))
    })
    this.#positions = new JoinedLookups(async (entries) => {
      const rows = await database.rows<[Buffer, string]>(sql.positions, [entries.map((hex) => Buffer.from(hex, 'hex'))])
      return new Map(rows.map(([entry, position]) => [toHex(entry), Number(position)]))
    })
  }

  async get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    this.#assertOpen()
    if (keys.length === 0) return []
    const found = await this.#records.find(keys)
    return keys.map((key) => {
      const row = found.get(key)
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
    return new Promise<CommitResult>((resolve, reject) => {
      this.#waiting.push({ commit: ownBytes(commit), resolve, reject })
      this.#draining ??= this.#drain()
    })
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
    const found = await this.#positions.find(names)
    return names.map((name) => found.get(name))
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

  async #close(): Promise<void> {
    await this.#draining
    await this.#database.close()
  }

  async #drain(): Promise<void> {
    // Callers of the same turn join one group, also those that the last group woke and that await other things first.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP)
      try {
        const { outcomes } = await this.#commitGroup(group.map(({ commit }) => commit))
        for (const [index, { resolve, reject }] of group.entries()) {
          const outcome = outcomes[index] as GroupPlan['outcomes'][number]
          if (outcome instanceof RegistryError) reject(outcome)
          else resolve(outcome)
        }
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#draining = undefined
  }

  async #commitGroup(commits: readonly Commit[]): Promise<GroupPlan> {
    const end = performance.now() + this.#database.retryForMs
    for (let attempt = 0; ; attempt += 1) {
      const group = (this.#lastGroup += 1)
      try {
        return await this.#database.writing((client) => this.#tryGroup(client, commits, group))
      } catch (error) {
        if (error instanceof LostCommit) {
          if (await this.#wasApplied(group, error)) return error.plan
        } else if (!isPassing(error)) throw faultOf(error)
        if (performance.now() >= end) throw faultOf(error)
      }
      await pause(attempt)
    }
  }

  async #tryGroup(client: PoolClient, commits: readonly Commit[], group: number): Promise<GroupPlan> {
    const head = await this.#beginGroup(client)
    const entries = await this.#currentEntries(client, commits)
    const plan = planGroup(commits, { entries, ...head })
    const changes = plan.lastVersion !== head.lastVersion
    if (changes) await this.#apply(client, plan, head, group)
    try {
      await commitReplicated(client)
    } catch (error) {
      // A group that changes nothing is simply done again.
      if (!changes || isRolledBack(error)) throw error
      throw new LostCommit(plan, error)
    }
    return plan
  }

  /** Whether the group of a lost COMMIT is there. Throws `UNKNOWN_OUTCOME` where the database does not say in time. */
  async #wasApplied(group: number, lost: LostCommit): Promise<boolean> {
    const { database, logger } = { database: this.#database, logger: this.#database.logger }
    const end = performance.now() + database.resolveForMs
    for (let attempt = 0; ; attempt += 1) {
      try {
        const applied = await database.writing(async (client) => {
          // The lock waits for the lost transaction's end. This COMMIT comes after that one's, so what is answered is replicated
          // where the server replicates synchronously, even if that one's own wait was cut short.
          await this.#beginGroup(client)
          const { rows } = await client.query<[string]>({ ...database.sql.lastGroup, values: [this.#writer] })
          await commitReplicated(client)
          return Number(rows[0]?.[0] ?? 0) === group
        })
        logger.info({ applied, reason: reasonOf(lost.cause) }, 'the answer to a COMMIT was lost, and its outcome found')
        return applied
      } catch (error) {
        if (!isPassing(error) || performance.now() >= end)
          throw new RegistryError(
            'UNKNOWN_OUTCOME',
            'The connection was lost during a COMMIT, and the database does not say whether it was done',
            { cause: error },
          )
      }
      await pause(attempt)
    }
  }

  async #beginGroup(client: PoolClient): Promise<Head> {
    // Two statements, so two answers.
    const answers = (await client.query(this.#database.sql.beginGroup)) as unknown as readonly {
      readonly rows: [string, string][]
    }[]
    const row = answers[1]?.rows[0]
    if (row === undefined) throw headIsGone()
    return { lastVersion: Number(row[0]), logSize: Number(row[1]) }
  }

  async #currentEntries(client: PoolClient, commits: readonly Commit[]): Promise<Map<Key, Entry>> {
    const keys = new Set(commits.flatMap(keysToRead))
    if (keys.size === 0) return new Map()
    const { rows } = await client.query<RecordRow>({ ...this.#database.sql.get, values: [Array.from(keys, keyBytes)] })
    return new Map(
      rows.map(([key, value, version]) => [
        keyText(key),
        { key: keyText(key), value, version: versionOf(Number(version)) },
      ]),
    )
  }

  async #apply(client: PoolClient, plan: GroupPlan, head: Head, group: number): Promise<void> {
    const { sql } = this.#database
    if (plan.appended.length > 0) {
      const { puts, deletes } = await this.#rowChanges(client, head.logSize, plan.appended)
      const rows = [puts.map(({ start }) => start), puts.map(({ entries }) => bufferOf(entries)), deletes]
      await client.query({ ...sql.append, values: [...rows, bufferOf(plan.appended), head.logSize] })
    }
    await client.query({
      ...sql.apply,
      values: [
        plan.puts.map(({ key }) => keyBytes(key)),
        plan.puts.map(({ value }) => bufferOf(value)),
        plan.puts.map(({ version }) => versionNumber(version)),
        plan.deletes.map(keyBytes),
        this.#writer,
        group,
        plan.lastVersion,
        plan.logSize,
      ],
    })
  }

  /** The tail is read only where the block is filled, and never kept: another process may have appended, or the database been set back. */
  async #rowChanges(
    client: PoolClient,
    logSize: number,
    appended: Uint8Array,
  ): Promise<Pick<RowChanges, 'puts' | 'deletes'>> {
    const inBlock = logSize % ROW_ENTRIES
    if (inBlock + appended.length / LOG_ENTRY_BYTES < ROW_ENTRIES)
      return { puts: [{ start: logSize, entries: appended }], deletes: [] }
    return appendRows(inBlock === 0 ? EMPTY_TAIL : await this.#tail(client, logSize), logSize, appended)
  }

  async #tail(client: PoolClient, logSize: number): Promise<LogTail> {
    const start = logSize - (logSize % ROW_ENTRIES)
    const { rows } = await client.query<LogRowRow>({ ...this.#database.sql.logRows, values: [start, logSize] })
    const found = rowsFrom(start, rows)
    const tail = { starts: found.map((row) => row.start), entries: packRows(found, start, logSize - start) }
    if (tail.entries.length !== (logSize - start) * LOG_ENTRY_BYTES)
      throw new RegistryError(
        'CORRUPT',
        `The log has fewer than its ${logSize} entries: restore the database from a backup`,
      )
    return tail
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new RegistryError('CLOSED', 'The record store is closed')
  }
}

/**
 * COMMIT. Where somebody cancels the wait for a synchronous standby, the server answers COMMIT all the same, with a warning: the
 * transaction is there, and lost by a fail-over. So a warning counts as a lost answer; finding the outcome then waits for the standby.
 */
async function commitReplicated(client: PoolClient): Promise<void> {
  let warning: Error | undefined
  const onNotice = (notice: {
    readonly severity?: string | undefined
    readonly message?: string | undefined
  }): void => {
    if (notice.severity === 'WARNING') warning = new Error(notice.message)
  }
  client.on('notice', onNotice)
  try {
    const { command } = await client.query('commit')
    if (warning !== undefined) throw warning
    if (command !== 'COMMIT') throw new Error(`the server answered ${command} to a COMMIT`)
  } finally {
    client.off('notice', onNotice)
  }
}

type RecordRow = [key: Buffer, value: Buffer, version: string]
type LogRowRow = [start: string, entries: Buffer]

/** Printable ASCII, which a key is, and the zero byte. */
const keyBytes = (key: Key): Buffer => Buffer.from(key, 'latin1')
const keyText = (bytes: Buffer): Key => bytes.toString('latin1')

/** A view: `pg` sends a Buffer as bytes, and any other typed array as something else. */
const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The values are copied when the commit is called: what a caller does to them while it waits must not reach the store. */
const ownBytes = (commit: Commit): Commit => ({
  ...commit,
  ...(commit.writes && { writes: commit.writes.map(({ key, value }) => ({ key, value: value && value.slice() })) }),
  ...(commit.append && { append: commit.append.slice() }),
})

/** Rows as they are read, from the block that begins at `start`, checked to be consecutive. */
function rowsFrom(start: number, rows: readonly LogRowRow[]): LogRow[] {
  let expected = start
  return rows.map(([rowStart, entries]) => {
    const row = { start: Number(rowStart), entries }
    assertRow(row, expected)
    expected += entries.length / LOG_ENTRY_BYTES
    return row
  })
}

const headIsGone = (): RegistryError =>
  new RegistryError('CORRUPT', 'The head row of the record store is gone: restore the database from a backup')
