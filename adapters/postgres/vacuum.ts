import { DatabaseError } from 'pg'
import { untilAborted } from '../kit/index.ts'
import type { Database } from './database.ts'
import { toRegistryError } from './errors.ts'

/** Engines that speak the protocol but have no VACUUM: a syntax error, an unsupported feature, an unknown function. */
const NOT_SUPPORTED: ReadonlySet<unknown> = new Set(['42601', '0A000', '42883'])

/**
 * Removes dead versions of rows from the table of records (VACUUM), so that their space is used again. It runs on a
 * connection of its own, and blocks neither reads nor commits. Rows that an open transaction may still read stay.
 *
 * @param signal ends the wait; a vacuum that has begun goes on in the server
 */
export async function vacuumRecords(database: Database, signal?: AbortSignal): Promise<void> {
  const client = await database.retry(() => database.connect())
  const vacuum = async (): Promise<void> => {
    await client.query('set statement_timeout = 0')
    await client.query(database.sql.vacuum)
  }
  try {
    await untilAborted(vacuum(), signal)
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof DatabaseError && NOT_SUPPORTED.has(error.code))) throw toRegistryError(error)
  } finally {
    // Closed, because its settings were changed.
    client.release(true)
  }
}
