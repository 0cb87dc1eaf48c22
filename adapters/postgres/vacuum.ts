import { untilAborted } from '../kit/index.ts'
import type { Database } from './database.ts'

/** Engines that speak the protocol but have no VACUUM: a syntax error, or a feature that is not supported. */
const NOT_SUPPORTED: ReadonlySet<unknown> = new Set(['42601', '0A000'])

/**
 * Removes dead versions of rows from the table of records (VACUUM), so that their space is used again. It runs on a
 * connection of its own, and blocks neither reads nor commits.
 *
 * @param signal ends the wait; a vacuum that has begun goes on in the server
 * @returns false if a transaction that is open for long may keep dead rows alive
 */
export async function vacuumRecords(database: Database, signal?: AbortSignal): Promise<boolean> {
  const client = await database.retry(() => database.connect())
  const vacuumed = database.retry(async () => {
    const { rows } = await client.query<{ readonly old: boolean }>(database.sql.hasOldTransaction)
    if (rows[0]?.old === true) return false
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

/** The SQLSTATE of an error or of its cause. */
function sqlStateOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error ? error.code : undefined
  return NOT_SUPPORTED.has(code) ? code : sqlStateOf(error.cause)
}
