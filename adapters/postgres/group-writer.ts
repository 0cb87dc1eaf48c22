import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import {
  keysToRead,
  LOG_ENTRY_BYTES,
  planGroup,
  versionNumber,
  versionOf,
  type GroupPlan,
} from '../../core/store/commit-plan.ts'
import { RegistryError } from '../../core/errors.ts'
import {
  appendRows,
  EMPTY_TAIL,
  packRows,
  ROW_ENTRIES,
  type LogTail,
  type RowChanges,
} from '../../core/store/log-rows.ts'
import type { Commit, Entry, Key } from '../../core/ports.ts'
import { byteaArray } from './bytea-array.ts'
import { pause, type Database } from './database.ts'
import { toRegistryError, isPassing, isRolledBack, reasonOf } from './errors.ts'
import { bufferOf, headIsGone, keyBytes, keyText, rowsFrom, type LogRowRow, type RecordRow } from './rows.ts'

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

/**
 * Writes groups of commits, each as one transaction. The lock on the head's row puts the transactions of all processes in a line, so
 * READ COMMITTED is serializable here, and log positions are dense and in the order of the commits.
 *
 * What is cut before its COMMIT is done again. Where the answer to a COMMIT is lost, the number of the group shows whether it came
 * through: it is written with the group, and read under the same lock, so not before the lost transaction has ended.
 */
export class GroupWriter {
  readonly #database: Database
  /** This process, among those that write. */
  readonly #writer = randomUUID()
  #lastGroup = 0

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * Decides and writes commits that passed `assertCommit`. Throws `UNAVAILABLE` where nothing was applied, `UNKNOWN_OUTCOME` where that
   * could not be learnt. Not to be called twice at a time.
   */
  async commitGroup(commits: readonly Commit[]): Promise<GroupPlan> {
    const end = performance.now() + this.#database.retryForMs
    for (let attempt = 0; ; attempt += 1) {
      const group = (this.#lastGroup += 1)
      try {
        return await this.#database.writing((client) => this.#tryGroup(client, commits, group))
      } catch (error) {
        if (error instanceof LostCommit) {
          if (await this.#wasApplied(group, error)) return error.plan
        } else if (!isPassing(error)) throw toRegistryError(error)
        if (performance.now() >= end) throw toRegistryError(error)
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
    const database = this.#database
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
        database.logger.info(
          { applied, reason: reasonOf(lost.cause) },
          'the answer to a COMMIT was lost, and its outcome found',
        )
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
    const { rows } = await client.query<RecordRow>({
      ...this.#database.sql.get,
      values: [byteaArray(Array.from(keys, keyBytes))],
    })
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
      const rows = [puts.map(({ start }) => start), byteaArray(puts.map(({ entries }) => entries)), deletes]
      await client.query({ ...sql.append, values: [...rows, bufferOf(plan.appended), head.logSize] })
    }
    await client.query({
      ...sql.apply,
      values: [
        byteaArray(plan.puts.map(({ key }) => keyBytes(key))),
        byteaArray(plan.puts.map(({ value }) => value)),
        plan.puts.map(({ version }) => versionNumber(version)),
        byteaArray(plan.deletes.map(keyBytes)),
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
