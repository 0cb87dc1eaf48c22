import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import type { DatabaseOptions } from '../../../adapters/postgres/database.ts'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { connectRecords } from '../../../adapters/postgres/records.ts'
import { countOf } from '../../../core/store/counter.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { appendsOf } from '../../contract/index.ts'
import { until } from '../../support/manual-clock.ts'
import { PostgresProxy } from '../../support/postgres-proxy.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { assertSteps, startLoad, stepOf, type Step } from '../../support/postgres-steps.ts'
import { ofSuite } from '../../support/of-suite.ts'

/** For conditions that hold sooner or later, however slow the machine is. */
const DEADLINE_MS = 120_000

describe('a store on PostgreSQL, when calls fail', () => {
  let schemas = 0
  const server = ofSuite(() => PostgresServer.start({ settings: ['deadlock_timeout=100ms'] }))
  const proxy = ofSuite(() => PostgresProxy.start(server().port))
  afterEach(() => {
    proxy().disarm()
    proxy().target = server().port
  })

  async function open(
    t: TestContext,
    options: Partial<DatabaseOptions> = {},
  ): Promise<RecordStore & { readonly schema: string }> {
    const schema = options.schema ?? `faults_${(schemas += 1)}`
    const store = await connectRecords({ url: proxy().url(), schema, retryForMs: DEADLINE_MS, ...options })
    t.after(() => store.close())
    return Object.assign(store, { schema })
  }

  describe('a connection that is lost during a statement', () => {
    for (const when of ['before', 'after'] as const) {
      it(`${when} it is applied: every commit is applied once`, async (t) => {
        const store = await open(t)
        // The 256th entry fills the block, which needs one more statement.
        await store.commit({
          ...stepOf('first'),
          append: appendsOf(new Uint8Array(randomBytes(32 * 253))),
          adds: [],
          checks: [],
          writes: [],
        })
        const done: Step[] = []
        for (let i = 0; i < 2; i += 1) assert.ok((await store.commit(stepOf(`warm ${i}`))).ok)
        assert.equal(await store.logSize(), 255)
        let statement = 1
        for (; ; statement += 1) {
          proxy().cut(statement, when)
          const step = stepOf(`${statement}`)
          const result = await store.commit(step)
          assert.ok(result.ok, `statement ${statement}`)
          done.push(step)
          const [position] = await store.positionsOf([step.entry])
          assert.equal(position, 254 + statement)
          assert.equal(result.firstPosition, position)
          if (proxy().isArmed) break
        }
        // begin and lock, read, append, apply, commit, and the read of positions.
        assert.ok(statement > 5, `only ${statement - 1} statements were cut`)
        const [counter] = await store.get(['steps'])
        assert.equal(countOf(counter), done.length + 2)
      })

      it(`${when} it is applied: a conflict is returned as a conflict`, async (t) => {
        const store = await open(t)
        const step = stepOf('once')
        assert.ok((await store.commit(step)).ok)
        for (let statement = 1; statement <= 3; statement += 1) {
          proxy().cut(statement, when)
          assert.deepEqual(await store.commit(step), { ok: false, conflicts: ['step/once'] })
          assert.ok(!proxy().isArmed)
        }
        await assertSteps(store, [step])
      })

      it(`${when} it is applied: reads are repeated`, async (t) => {
        const store = await open(t)
        const step = stepOf('read')
        await store.commit(step)
        const reads = [
          async () => assert.equal(countOf((await store.get(['steps']))[0]), 1),
          async () => assert.equal(await store.logSize(), 1),
          async () => assert.deepEqual(await store.positionsOf([step.entry]), [0]),
          async () => assert.deepEqual(await store.readLog(0, 5), step.entry),
          async () => {
            for await (const { key } of store.list({ gte: 'step/', lt: 'step0' })) assert.equal(key, 'step/read')
          },
        ]
        for (const read of reads) {
          proxy().cut(1, when)
          await read()
          assert.ok(!proxy().isArmed)
        }
      })
    }

    it('throws UNKNOWN_OUTCOME if no database responds after a COMMIT, and works again when it is back', async (t) => {
      for (const when of ['before', 'after'] as const) {
        const store = await open(t, { resolveForMs: 300 })
        const [lost, next] = [stepOf('lost'), stepOf('next')]
        proxy().cut(5, when, () => (proxy().target = undefined))
        await assert.rejects(store.commit(lost), { code: 'UNKNOWN_OUTCOME' })
        proxy().target = server().port
        assert.ok((await store.commit(next)).ok)
        await assertSteps(store, when === 'after' ? [lost, next] : [next])
      }
    })

    it('throws UNAVAILABLE if nothing was applied, without the password of the URL', async (t) => {
      const store = await open(t, { retryForMs: 200 })
      proxy().target = undefined
      proxy().cutAll()
      for (const call of [() => store.commit(stepOf('none')), () => store.get(['steps']), () => store.logSize()])
        await assert.rejects(call, { code: 'UNAVAILABLE' })
      proxy().target = server().port
      await assertSteps(store, [])
      const url = proxy().url('nowhere').replace('postgres@', 'postgres:secret-password@')
      await assert.rejects(openPostgresRecords({ url }), (error: Error) => {
        assert.ok(isRegistryError(error, 'UNAVAILABLE'))
        assert.match(error.message, /"nowhere" does not exist/)
        return !JSON.stringify([error.message, error.cause, String(error.cause)]).includes('secret-password')
      })
    })
  })

  it('reads in progress finish when the store is closed, or throw CLOSED if the database is unreachable', async (t) => {
    for (const isUnreachable of [false, true]) {
      // If close waited for retries, this test would not end.
      const store = await open(t, { retryForMs: 2 ** 31 })
      if (isUnreachable) {
        proxy().target = undefined
        proxy().cutAll()
      }
      // More reads than connections, and joined reads that wait for others.
      const reads: Promise<unknown>[] = Array.from({ length: 60 }, () => store.logSize())
      for (let i = 0; i < 20; i += 1) {
        reads.push(store.get([`key ${i}`]))
        await Promise.resolve()
      }
      const [settled] = await Promise.all([Promise.allSettled(reads), store.close()])
      for (const read of settled)
        if (isUnreachable) assert.ok(read.status === 'rejected' && isRegistryError(read.reason, 'CLOSED'))
        else assert.equal(read.status, 'fulfilled', String(read.status === 'rejected' && read.reason))
    }
  })

  it('reads that wait for a connection when the store is closed return their results', async (t) => {
    const store = await open(t)
    const sizes = Array.from({ length: 60 }, () => store.logSize())
    await store.close()
    assert.equal(new Set(await Promise.all(sizes)).size, 1)
  })

  it('a read that is called just before the store is closed returns its result', async (t) => {
    const store = await open(t)
    await store.commit(stepOf('one'))
    const [read, positions] = [store.get(['steps']), store.positionsOf([new Uint8Array(32)])]
    await store.close()
    assert.equal(countOf((await read)[0]), 1)
    assert.deepEqual(await positions, [undefined])
  })

  describe('under load', () => {
    it('killing the connections loses nothing', async (t) => {
      const [store, peer] = await Promise.all([open(t, { schema: 'killed' }), open(t, { schema: 'killed' })])
      const loads = [startLoad(store, 8), startLoad(peer, 8, 'peer')] as const
      const countDone = (): number => loads[0].done.length + loads[1].done.length
      let rounds = 0
      for (let killed = 0; killed <= 40; rounds += 1) {
        const rows = await server().query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'evidence-registry'`,
        )
        killed += rows.length
        const previous = countDone()
        await until(() => countDone() > previous, DEADLINE_MS)
      }
      const done = [...(await loads[0].stop()), ...(await loads[1].stop())]
      assert.ok(done.length >= rounds, `only ${done.length} commits in ${rounds} rounds`)
      await assertSteps(store, done)
    })

    it('a crash and a restart of the database lose nothing', async (t) => {
      const store = await open(t)
      const load = startLoad(store, 8)
      const moreCommits = async (count: number): Promise<void> => {
        const previous = load.done.length
        await until(() => load.done.length >= previous + count, DEADLINE_MS)
      }
      for (const stop of [() => server().kill(), async () => undefined]) {
        await moreCommits(10)
        await stop()
        await server().restart()
        await moreCommits(10)
      }
      const done = await load.stop()
      assert.ok(done.length > 20)
      await assertSteps(store, done)
    })
  })

  it('a transaction that is rolled back after a deadlock is repeated', async (t) => {
    const store = await open(t)
    await store.commit({ writes: [{ key: 'knot', value: new Uint8Array(1) }] })
    const other = new Client({ connectionString: server().url() })
    await other.connect()
    t.after(() => other.end())
    const waiting = `select 1 from pg_stat_activity
      where application_name = 'evidence-registry' and wait_event_type = 'Lock'`
    // The store looks for a deadlock once, 100 ms after it began to wait. If the other one was not waiting by then,
    // none is found and the store's statement ends by its timeout, so it is tried again.
    for (let round = 2; !server().log.includes('deadlock detected'); round++) {
      const value = new Uint8Array(round)
      await other.query(`set deadlock_timeout = '600s'; begin; update ${store.schema}.record set value = value`)
      const committing = store.commit({ writes: [{ key: 'knot', value }] })
      await until(async () => (await other.query(waiting)).rows.length > 0, DEADLINE_MS)
      await other.query(`select from ${store.schema}.head for update`)
      await other.query('rollback')
      assert.ok((await committing).ok)
      assert.deepEqual((await store.get(['knot']))[0]?.value, value)
    }
  })

  describe('the schema', () => {
    it('is created once by stores that open at the same time', async (t) => {
      const stores = await Promise.all(Array.from({ length: 6 }, () => open(t, { schema: 'together' })))
      await Promise.all(stores.map((store, i) => store.commit(stepOf(`${i}`))))
      assert.equal(await stores[0]?.logSize(), 6)
    })

    it('is rejected if its format is older or newer', async (t) => {
      const { schema } = await open(t)
      for (const format of [1, 999]) {
        await server().query(`update ${schema}.head set format = ${format}`)
        await assert.rejects(connectRecords({ url: server().url(), schema }), {
          code: 'CONFIG_ERROR',
          message: new RegExp(`store format ${format}; this version needs`),
        })
      }
    })

    it('needs no permission to create if it is up to date', async (t) => {
      const { schema } = await open(t)
      await server().query(
        `create role worker login; grant usage on schema ${schema} to worker;
          grant select, insert, update, delete on all tables in schema ${schema} to worker`,
      )
      const store = await connectRecords({ url: server().url().replace('postgres@', 'worker@'), schema })
      t.after(() => store.close())
      assert.ok((await store.commit(stepOf('worker'))).ok)
    })
  })

  it('rejects an invalid URL, and does not show it', async () => {
    for (const url of ['mysql://me:secret-password@localhost/x', 'postgres://me:secret-password@local host/x'])
      await assert.rejects(
        openPostgresRecords({ url }),
        (error: Error & { code?: string }) =>
          error.code === 'CONFIG_ERROR' && !error.message.includes('secret-password'),
      )
  })
})
