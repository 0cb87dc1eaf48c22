import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { connectRecords } from '../../../adapters/postgres/records.ts'
import { eventually } from '../../support/eventually.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

/** Long enough for every other statement, also on a busy machine. */
const QUERY_TIMEOUT_MS = 8_000

describe('eraseHistory of PostgreSQL', () => {
  let server: PostgresServer
  before(async () => {
    server = await PostgresServer.shared()
  })

  it('vacuums the table of records, and asks to be called again, for rows that a reader still needs', async () => {
    const schema = 'erase'
    const records = await connectRecords({ url: server.url(), schema })
    const put = (value: Uint8Array | null) => records.commit({ writes: [{ key: 'k', value }] })
    const deadRows = async (): Promise<number> => {
      const [row] = await server.query(
        `select n_dead_tup::int as dead from pg_stat_all_tables where schemaname = '${schema}' and relname = 'record'`,
      )
      return Number(row?.['dead'])
    }
    for (let i = 0; i < 50; i += 1) await put(randomBytes(500))
    await eventually(async () => (await deadRows()) > 0)
    const snapshot = await records.snapshot()
    await put(null)
    assert.equal(await records.eraseHistory(['k']), false)
    await snapshot.close()
    assert.equal(await records.eraseHistory(['k']), true)
    await eventually(async () => (await deadRows()) === 0)
    assert.equal(await records.eraseHistory(['other']), false)
    await records.close()
  })

  it('rebuilds the index without deleted keys, also after a run that was interrupted', async () => {
    const schema = 'keys'
    const records = await connectRecords({ url: server.url(), schema })
    const mark = randomBytes(12).toString('hex')
    const keys = Array.from({ length: 300 }, (_, i) => `ex/${mark}/${i}`)
    await records.commit({ writes: keys.map((key) => ({ key, value: Buffer.from('x') })) })
    await records.commit({
      writes: [...keys.map((key) => ({ key, value: null })), { key: 'k', value: Buffer.from('x') }],
    })
    const isInIndex = async (): Promise<boolean> => {
      await server.query('checkpoint')
      const [row] = await server.query(`select pg_relation_filepath('${schema}.record_pkey') as path`)
      return (await readFile(join(server.directory, String(row?.['path'])))).includes(mark)
    }
    assert.ok(await isInIndex())
    await server.query(`create index record_pkey_ccnew on ${schema}.record (key)`)
    assert.deepEqual([await records.eraseHistory(keys), await records.eraseHistory(keys)], [false, true])
    await records.eraseKeys?.()
    assert.ok(!(await isInIndex()))
    const indexes = await server.query(
      `select indexname from pg_indexes where schemaname = '${schema}' and tablename = 'record'`,
    )
    assert.deepEqual(indexes, [{ indexname: 'record_pkey' }])
    const [kept] = await records.get(['k'])
    assert.equal(kept?.value.length, 1)
    await records.close()
  })

  /** Locks the table of records, so that a vacuum waits. */
  async function locked(schema: string): Promise<Client> {
    const client = new Client({ connectionString: server.url() })
    await client.connect()
    await client.query(`begin; lock table ${schema}.record in share update exclusive mode`)
    return client
  }

  const isVacuumed = async (schema: string): Promise<boolean> => {
    const rows = await server.query(`select 1 from pg_stat_activity where query like 'vacuum% ${schema}.record'`)
    return rows.length > 0
  }

  it('waits for a vacuum that takes longer than any other statement may', async () => {
    const schema = 'slow'
    // An option of `pg` that the public type does not name.
    const pool: object = { query_timeout: QUERY_TIMEOUT_MS }
    const records = await connectRecords({ url: server.url(), schema, pool, retryForMs: 1 })
    const client = await locked(schema)
    const erasing = records.eraseHistory(['k'])
    erasing.catch(() => undefined)
    await eventually(() => isVacuumed(schema))
    await delay(QUERY_TIMEOUT_MS + 1_000)
    await client.end()
    assert.equal(await erasing, false)
    await records.close()
  })

  it('does not wait for a vacuum once its caller stops', async (t) => {
    const schema = 'stopped'
    const records = await connectRecords({ url: server.url(), schema })
    const client = await locked(schema)
    t.after(() => client.end())
    const aborter = new AbortController()
    const erasing = records.eraseHistory(['k'], aborter.signal)
    erasing.catch(() => undefined)
    await eventually(() => isVacuumed(schema))
    aborter.abort(new Error('stopped'))
    await assert.rejects(erasing, /stopped/)
    await records.close()
  })
})
