import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { eventually } from '../../support/eventually.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

describe('eraseHistory of PostgreSQL', () => {
  let server: PostgresServer
  before(async () => {
    server = await PostgresServer.start()
  })
  after(() => server.stop())

  it('vacuums the table of records, and reports that an old transaction keeps them', async () => {
    const schema = 'erase'
    const records = await openPostgresRecords({ url: server.url(), schema })
    const put = (value: Uint8Array | null) => records.commit({ writes: [{ key: 'k', value }] })
    for (let i = 0; i < 50; i += 1) await put(randomBytes(500))
    assert.equal(await records.eraseHistory(['k']), true)
    const vacuums = async (): Promise<number> => {
      const [row] = await server.query(
        `select vacuum_count::int as count from pg_stat_all_tables where schemaname = '${schema}' and relname = 'record'`,
      )
      return Number(row?.['count'])
    }
    await eventually(async () => (await vacuums()) === 1)

    const snapshot = await records.snapshot()
    await put(null)
    await eventually(async () => !(await records.eraseHistory(['k'])))
    await snapshot.close()
    assert.equal(await records.eraseHistory(['k']), true)
    await records.close()
  })
})
