import { randomUUID } from 'node:crypto'
import type { PoolClient, QueryArrayResult } from 'pg'
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
import type { Commit, Entry, Key } from '../../core/ports/index.ts'
import { byteaArray } from './bytea-array.ts'
import { pause, type Database } from './database.ts'
import { toRegistryError, isTransient, isRolledBack, reasonOf } from './errors.ts'
import { bufferOf, missingHeadError, keyBytes, keyText, rowsFrom, type LogRowRow, type RecordRow } from './rows.ts'

interface Head {
  readonly lastVersion: number
  readonly logSize: number
}

/** A COMMIT was sent, and its response was lost. */
class LostCommit extends Error {
  readonly plan: GroupPlan

  constructor(plan: GroupPlan, cause: unknown) {
    super('The response to a COMMIT was lost', { cause })
    this.plan = plan
  }
}

/**
 * Writes groups of commits, each as one transaction. The lock on the row of `head` makes the transactions of all
 * processes serial. So READ COMMITTED is serializable here, and log positions are dense and in the order of the
 * commits.
 *
 * A transaction that fails before its COMMIT is repeated. If the response to a COMMIT is lost, the number of the group
 * shows whether it was applied: the group writes its number, and this process reads it under the same lock, so not
 * before the lost transaction has ended.
 */
export class GroupWriter {
  readonly #database: Database
  /** Identifies this process among those that write. */
  readonly #writerId = randomUUID()
  #lastGroup = 0

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * Decides and writes commits that passed `assertCommit`. Do not call it again before it has settled.
   * Throws `UNAVAILABLE` if nothing was applied, `UNKNOWN_OUTCOME` if that could not be found out.
   */
  async commitGroup(commits: readonly Commit[]): Promise<GroupPlan> {
    const end = performance.now() + this.#database.retryForMs
    for (let attempt = 0; ; attempt += 1) {
      const group = (this.#lastGroup += 1)
      try {
        return await this.#database.withWriter((client) => this.#attemptGroup(client, commits, group))
      } catch (error) {
        if (error instanceof LostCommit) {
          if (await this.#wasApplied(group, error)) return error.plan
        } else if (!isTransient(error)) throw toRegistryError(error)
        if (performance.now() >= end) throw toRegistryError(error)
      }
      await pause(attempt)
    }
  }

  async #attemptGroup(client: PoolClient, commits: readonly Commit[], group: number): Promise<GroupPlan> {
    const head = await this.#beginGroup(client)
    const entries = await this.#currentEntries(client, commits)
    const plan = planGroup(commits, { entries, ...head })
    const hasChanges = plan.lastVersion !== head.lastVersion
    if (hasChanges) await this.#apply(client, plan, head, group)
    try {
      await commitReplicated(client)
    } catch (error) {
      // A group that changes nothing can simply be repeated.
      if (!hasChanges || isRolledBack(error)) throw error
      throw new LostCommit(plan, error)
    }
    return plan
  }

  /**
   * Whether a group was applied although the response to its COMMIT was lost. Throws `UNKNOWN_OUTCOME` after
   * `resolveForMs`.
   */
  async #wasApplied(group: number, lost: LostCommit): Promise<boolean> {
    const database = this.#database
    const end = performance.now() + database.resolveForMs
    for (let attempt = 0; ; attempt += 1) {
      try {
        const applied = await database.withWriter(async (client) => {
          // The lock waits for the end of the lost transaction. This COMMIT comes after the lost one, so with
          // synchronous replication the result is replicated as well, even if the wait of the lost COMMIT was
          // cancelled.
          await this.#beginGroup(client)
          const { rows } = await client.query<[string]>({ ...database.sql.lastGroup, values: [this.#writerId] })
          await commitReplicated(client)
          return Number(rows[0]?.[0] ?? 0) === group
        })
        database.logger.info(
          { applied, reason: reasonOf(lost.cause) },
          'the response to a COMMIT was lost, and its outcome found',
        )
        return applied
      } catch (error) {
        if (!isTransient(error) || performance.now() >= end)
          throw new RegistryError(
            'UNKNOWN_OUTCOME',
            'The connection was lost during a COMMIT, and whether it was applied could not be found out',
            { cause: error },
          )
      }
      await pause(attempt)
    }
  }

  async #beginGroup(client: PoolClient): Promise<Head> {
    // Two statements in one query have two results, which the types of `pg` do not know.
    const results: unknown = await client.query<[string, string]>(this.#database.sql.beginGroup)
    const [, locked] = results as readonly QueryArrayResult<[string, string]>[]
    const [row] = locked?.rows ?? []
    if (row === undefined) throw missingHeadError()
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
        this.#writerId,
        group,
        plan.lastVersion,
        plan.logSize,
      ],
    })
  }

  /**
   * Reads the tail of the log only if the new entries fill its block. It is never cached: another process may have
   * appended, or the database may have been set back.
   */
  async #rowChanges(
    client: PoolClient,
    logSize: number,
    appended: Uint8Array,
  ): Promise<Pick<RowChanges, 'puts' | 'deletes'>> {
    const tailEntries = logSize % ROW_ENTRIES
    if (tailEntries + appended.length / LOG_ENTRY_BYTES < ROW_ENTRIES)
      return { puts: [{ start: logSize, entries: appended }], deletes: [] }
    return appendRows(tailEntries === 0 ? EMPTY_TAIL : await this.#tail(client, logSize), logSize, appended)
  }

  async #tail(client: PoolClient, logSize: number): Promise<LogTail> {
    const start = logSize - (logSize % ROW_ENTRIES)
    const result = await client.query<LogRowRow>({ ...this.#database.sql.logRows, values: [start, logSize] })
    const rows = rowsFrom(start, result.rows)
    const tail = { starts: rows.map((row) => row.start), entries: packRows(rows, start, logSize - start) }
    if (tail.entries.length !== (logSize - start) * LOG_ENTRY_BYTES)
      throw new RegistryError(
        'CORRUPT',
        `The log has fewer entries than the ${logSize} in its head: restore the database from a backup`,
      )
    return tail
  }
}

/**
 * Sends COMMIT. If the wait for a synchronous standby is cancelled, the server still responds COMMIT, with a warning:
 * the transaction is applied, but a fail-over loses it. So a warning counts as a lost response; finding the outcome
 * then waits for the standby.
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
    if (command !== 'COMMIT') throw new Error(`The server responded ${command} to a COMMIT`)
  } finally {
    client.off('notice', onNotice)
  }
}
