import type { ClientBase } from 'pg'
import { systemClock, untilAborted } from '../kit/index.ts'
import type { Database } from './database.ts'
import type { Statements } from './statements.ts'

/** Engines that speak the protocol but have no VACUUM: a syntax error, an unsupported feature, an unknown function. */
const NOT_SUPPORTED: ReadonlySet<unknown> = new Set(['42601', '0A000', '42883'])

/** How long it waits for older transactions. Those of reads and commits are over by then. */
const OLDER_READERS_MS = 5_000
const POLL_MS = 100

/**
 * Removes dead versions of rows from the table of records (VACUUM), so that their space is used again. It runs on a
 * connection of its own, and blocks neither reads nor commits.
 *
 * @param signal ends the wait; a vacuum that has begun goes on in the server
 * @returns false if a transaction that began before the call and is still open may keep dead rows alive
 */
export async function vacuumRecords(database: Database, signal?: AbortSignal): Promise<boolean> {
  const client = await database.retry(() => database.connect())
  const vacuumed = database.retry(async () => {
    if (!(await olderReadersEnd(client, database.sql, signal))) return false
    await client.query('set statement_timeout = 0')
    await client.query(database.sql.vacuum)
    return true
  })
  try {
    return await untilAborted(vacuumed, signal)
  } catch (error) {
    if (NOT_SUPPORTED.has(sqlStateOf(error))) return true
    throw error
  } finally {
    // Closed, because its settings were changed.
    client.release(true)
  }
}

/**
 * Waits until no transaction is open that began before the call, so that VACUUM removes every row that is dead now.
 * Returns false if one stays open.
 */
async function olderReadersEnd(client: ClientBase, sql: Statements, signal?: AbortSignal): Promise<boolean> {
  const { rows } = await client.query<{ readonly id: string }>(sql.nextTransactionId)
  const isOlderOpen = async (): Promise<boolean> => {
    const found = await client.query<{ readonly older: boolean }>({ ...sql.hasOlderReader, values: [rows[0]?.id] })
    return found.rows[0]?.older !== false
  }
  const end = performance.now() + OLDER_READERS_MS
  // Asked twice, because the server does not look at all sessions at the same moment: one that it has looked at may
  // still take a snapshot with an older transaction in it. When the first question finds none, they have all ended.
  while ((await isOlderOpen()) || (await isOlderOpen())) {
    if (performance.now() >= end) return false
    await systemClock.sleep(POLL_MS, signal)
  }
  return true
}

/** The SQLSTATE of an error or of its cause. */
function sqlStateOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error ? error.code : undefined
  return NOT_SUPPORTED.has(code) ? code : sqlStateOf(error.cause)
}
