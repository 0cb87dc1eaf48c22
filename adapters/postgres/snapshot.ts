import type { PoolClient, QueryConfig } from 'pg'
import { RegistryError, type RecordSnapshot } from '../kit/index.ts'
import type { Database } from './database.ts'
import { toRegistryError } from './errors.ts'
import { PostgresReader } from './reader.ts'

/**
 * Without the limit of an idle transaction, because the reader may wait for a slow disk between two statements. The
 * first statement takes the snapshot: `begin` alone does not.
 */
const BEGIN =
  'begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0; select 1'

/**
 * Begins a transaction on a connection of its own and reads in it. A connection that is lost loses the snapshot, so no
 * statement is repeated. Throws `UNAVAILABLE`.
 */
export async function openSnapshot(database: Database): Promise<RecordSnapshot> {
  const client = await database.retry(() => database.connect())
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw toRegistryError(error)
    }
  }
  try {
    await run(() => client.query(BEGIN))
  } catch (error) {
    client.release(true)
    throw error
  }
  let isOpen = true
  const reader = new PostgresReader(async <Row extends unknown[]>(statement: Statement, values?: unknown[]) => {
    if (!isOpen) throw new RegistryError('CLOSED', 'The snapshot is closed')
    return run(async () => (await client.query<Row>({ ...statement, values })).rows)
  }, database)
  return {
    list: (range) => reader.list(range),
    readLog: (from, count) => reader.readLog(from, count),
    readPayloads: (from, count) => reader.readPayloads(from, count),
    logSize: () => reader.logSize(),
    async close() {
      if (!isOpen) return
      isOpen = false
      await end(client)
    },
  }
}

type Statement = QueryConfig & { readonly rowMode: 'array' }

/** Ends the transaction and returns the connection to the pool. A connection that fails is closed instead. */
async function end(client: PoolClient): Promise<void> {
  try {
    await client.query('commit')
    client.release()
  } catch {
    client.release(true)
  }
}
