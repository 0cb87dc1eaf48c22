import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { LOG_ENTRY_BYTES } from '../../../adapters/kit/index.ts'
import { connectRecords } from '../../../adapters/postgres/records.ts'
import { recordStoreContract } from '../../contract/index.ts'
import { PgBouncer, withoutPgBouncer } from '../../support/pgbouncer.ts'
import { stepOf } from '../../support/postgres-steps.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

const PASSED_OVER = 'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout'

describe('records behind PgBouncer', { skip: withoutPgBouncer }, () => {
  let server: PostgresServer
  let schemas = 0
  before(async () => {
    server = await PostgresServer.shared()
  })

  const start = async (t: Pick<TestContext, 'after'>, settings: readonly string[]): Promise<PgBouncer> => {
    const pooler = await PgBouncer.start(server.port, settings)
    t.after(() => pooler.stop())
    return pooler
  }
  const open = (pooler: PgBouncer, schema = `pooled_${(schemas += 1)}`, retryForMs = 15_000) =>
    connectRecords({ url: pooler.url(), schema, retryForMs })

  describe('in transaction mode, with prepared statements', () => {
    let pooler: PgBouncer
    before(async () => {
      pooler = await PgBouncer.start(server.port, [
        'pool_mode = transaction',
        'max_prepared_statements = 100',
        PASSED_OVER,
      ])
    })
    after(() => pooler.stop())

    recordStoreContract('two processes on one database', async () => {
      const schema = `pooled_${(schemas += 1)}`
      const [store, peer] = await Promise.all([open(pooler, schema), open(pooler, schema)])
      return { store, peer, reopen: async () => ({ store: await open(pooler, schema) }) }
    })

    it('are written and read', async () => assert.deepEqual(await use(pooler), [20, 20]))
  })

  /** Commits and reads on several connections at a time. Returns the size of the log, alone and in a snapshot. */
  async function use(pooler: PgBouncer, retryForMs?: number): Promise<readonly number[]> {
    const store = await open(pooler, undefined, retryForMs)
    try {
      const steps = Array.from({ length: 20 }, (_, i) => stepOf(`step ${i}`))
      await Promise.all(steps.map((step) => store.commit(step)))
      await Promise.all(steps.map(({ entry }) => Promise.all([store.positionsOf([entry]), store.readLog(0, 20)])))
      const snapshot = await store.snapshot()
      await store.commit(stepOf('later'))
      const entries = await snapshot.readLog(0, 100)
      await snapshot.close()
      return [(await store.logSize()) - 1, entries.length / LOG_ENTRY_BYTES]
    } finally {
      await store.close()
    }
  }

  it('in session mode are written and read', async (t) => {
    assert.deepEqual(await use(await start(t, ['pool_mode = session', PASSED_OVER])), [20, 20])
  })

  it('that does not keep prepared statements, or refuses a parameter, name the remedy', async (t) => {
    const forgetting = await start(t, ['pool_mode = transaction', 'max_prepared_statements = 0', PASSED_OVER])
    await assert.rejects(use(forgetting), {
      code: 'UNAVAILABLE',
      message:
        /SQLSTATE (42P05|26000).*PgBouncer 1\.21 or newer with max_prepared_statements = 100, or pool_mode = session/,
    })
    await assert.rejects(use(await start(t, ['pool_mode = session']), 0), {
      code: 'UNAVAILABLE',
      message: /startup parameter.*ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout/,
    })
  })
})
