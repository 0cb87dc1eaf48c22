import { randomUUID } from 'node:crypto'
import type { PoolClient, QueryArrayResult } from 'pg'
import {
  appendRows,
  concatBytes,
  EMPTY_TAIL,
  keysToRead,
  LOG_ENTRY_BYTES,
  packRows,
  payloadsOfRows,
  planGroup,
  RegistryError,
  ROW_ENTRIES,
  rowOf,
  withChecksum,
  type Commit,
  type Stored,
  type GroupPlan,
  type Key,
  type LogAppend,
  type LogTail,
  type RowChanges,
} from '../kit/index.ts'
import { pause, type Database } from './database.ts'
import { toRegistryError, isTransient, isRolledBack, reasonOf } from './errors.ts'
import {
  bufferOf,
  byteaArray,
  encodeHead,
  encodePosition,
  encodeRecordValue,
  entriesName,
  entryRowsFrom,
  headOf,
  keyBytes,
  payloadRowOf,
  payloadsName,
  recordOf,
  type Head,
  type LogRowRow,
  type RecordRow,
} from './rows.ts'

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
    const results: unknown = await client.query<[Buffer]>(this.#database.sql.beginGroup)
    const [, locked]: readonly QueryArrayResult<[Buffer]>[] = Array.isArray(results) ? results : []
    return this.#database.checked(() => headOf(locked?.rows ?? []))
  }

  async #currentEntries(client: PoolClient, commits: readonly Commit[]): Promise<Map<Key, Stored>> {
    const keys = new Set(commits.flatMap(keysToRead))
    if (keys.size === 0) return new Map()
    const { rows } = await client.query<RecordRow>({
      ...this.#database.sql.get,
      values: [byteaArray(Array.from(keys, keyBytes))],
    })
    return this.#database.checked(() => new Map(rows.map(recordOf).map((entry) => [entry.key, entry])))
  }

  async #apply(client: PoolClient, plan: GroupPlan, head: Head, group: number): Promise<void> {
    const { sql } = this.#database
    if (plan.appended.length > 0) {
      const { puts, deletes } = await this.#rowChanges(client, head.logSize, plan.appended)
      const values = [
        puts.map(({ start }) => start),
        byteaArray(puts.map(({ start, entries }) => withChecksum(entriesName(start), entries))),
        byteaArray(puts.map(({ start, payloads }) => withChecksum(payloadsName(start), payloads))),
        deletes,
        byteaArray(plan.appended.map(({ entry }) => entry)),
        byteaArray(plan.appended.map(({ entry }, i) => encodePosition(entry, head.logSize + i))),
      ]
      await client.query({ ...sql.append, values })
    }
    await client.query({
      ...sql.apply,
      values: [
        byteaArray(plan.puts.map(({ key }) => keyBytes(key))),
        byteaArray(plan.puts.map(encodeRecordValue)),
        byteaArray(plan.deletes.map(keyBytes)),
        this.#writerId,
        group,
        bufferOf(encodeHead(plan)),
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
    appended: readonly LogAppend[],
  ): Promise<Pick<RowChanges, 'puts' | 'deletes'>> {
    const tailEntries = logSize % ROW_ENTRIES
    if (tailEntries + appended.length < ROW_ENTRIES) return { puts: [rowOf(logSize, appended)], deletes: [] }
    return appendRows(tailEntries === 0 ? EMPTY_TAIL : await this.#tail(client, logSize), logSize, appended)
  }

  async #tail(client: PoolClient, logSize: number): Promise<LogTail> {
    const start = logSize - (logSize % ROW_ENTRIES)
    const result = await client.query<LogRowRow>({ ...this.#database.sql.logRows, values: [start, logSize] })
    return this.#database.checked(() => tailOf(result.rows, start, logSize))
  }
}

/** The tail of a log that ends at `logSize`, from the rows of its last block, which begins at `start`. */
function tailOf(rows: readonly LogRowRow[], start: number, logSize: number): LogTail {
  const entryRows = entryRowsFrom(start, rows)
  const entries = packRows(entryRows, start, logSize - start)
  const payloadRows = rows.map(([rowStart, , payloads]) => payloadRowOf([rowStart, payloads]))
  const payloads = payloadsOfRows(payloadRows, start, logSize - start)
  const count = logSize - start
  if (entries.length !== count * LOG_ENTRY_BYTES || payloads.length !== count)
    throw new RegistryError(
      'CORRUPT',
      `The log has fewer entries than the ${logSize} in its head: restore the database from a backup`,
    )
  return {
    starts: entryRows.map((row) => row.start),
    entries,
    payloads: concatBytes(...payloadRows.map((row) => row.payloads)),
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
