import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import { openPostgresRecords, type OpenPostgresOptions } from '../../../adapters/postgres/index.ts'
import { countOf } from '../../../core/store/counter.ts'
import type { RecordStore } from '../../../core/ports.ts'
import { PostgresProxy } from '../../support/postgres-proxy.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { assertSteps, load, stepOf, type Step } from '../../support/postgres-steps.ts'

let server: PostgresServer
let proxy: PostgresProxy
let schemas = 0
before(async () => {
  server = await PostgresServer.start({ settings: ['deadlock_timeout=100ms'] })
  proxy = await PostgresProxy.start(server.port)
})
after(async () => {
  await proxy.stop()
  await server.stop()
})
afterEach(() => {
  proxy.disarm()
  proxy.target = server.port
})

async function open(
  t: TestContext,
  options: OpenPostgresOptions = {},
): Promise<RecordStore & { readonly schema: string }> {
  const schema = options.schema ?? `faults_${(schemas += 1)}`
  const store = await openPostgresRecords({ url: proxy.url(), schema, retryForMs: 5_000, ...options })
  t.after(() => store.close())
  return Object.assign(store, { schema })
}

describe('a connection that is lost at a statement', () => {
  for (const when of ['before', 'after'] as const) {
    it(`${when} it was done: every commit is there once`, async (t) => {
      const store = await open(t)
      // The block is filled at the 256th entry, which is a statement more.
      await store.commit({
        ...stepOf('first'),
        append: new Uint8Array(randomBytes(32 * 253)),
        adds: [],
        checks: [],
        writes: [],
      })
      const done: Step[] = []
      for (let i = 0; i < 2; i += 1) assert.ok((await store.commit(stepOf(`warm ${i}`))).ok)
      assert.equal(await store.logSize(), 255)
      let statement = 1
      for (; ; statement += 1) {
        proxy.cut(statement, when)
        const one = stepOf(`${statement}`)
        const result = await store.commit(one)
        assert.ok(result.ok, `statement ${statement}`)
        done.push(one)
        const [position] = await store.positionsOf([one.append])
        assert.equal(position, 254 + statement)
        assert.equal(result.firstPosition, position)
        if (proxy.isArmed) break
      }
      // begin and lock, read, append, apply, commit; and what reads positions.
      assert.ok(statement > 5, `only ${statement - 1} statements were cut`)
      const [counter] = await store.get(['steps'])
      assert.equal(countOf(counter), done.length + 2)
    })

    it(`${when} it was done: a conflict is answered as one`, async (t) => {
      const store = await open(t)
      const one = stepOf('once')
      assert.ok((await store.commit(one)).ok)
      for (let statement = 1; statement <= 3; statement += 1) {
        proxy.cut(statement, when)
        assert.deepEqual(await store.commit(one), { ok: false, conflicts: ['step/once'] })
        assert.ok(!proxy.isArmed)
      }
      await assertSteps(store, [one])
    })

    it(`${when} it was done: reads are read again`, async (t) => {
      const store = await open(t)
      const one = stepOf('read')
      await store.commit(one)
      const reads = [
        async () => assert.equal(countOf((await store.get(['steps']))[0]), 1),
        async () => assert.equal(await store.logSize(), 1),
        async () => assert.deepEqual(await store.positionsOf([one.append]), [0]),
        async () => assert.deepEqual(await store.readLog(0, 5), one.append),
        async () => {
          for await (const { key } of store.list({ gte: 'step/', lt: 'step0' })) assert.equal(key, 'step/read')
        },
      ]
      for (const read of reads) {
        proxy.cut(1, when)
        await read()
        assert.ok(!proxy.isArmed)
      }
    })
  }

  it('throws UNKNOWN_OUTCOME where the database stays away after a COMMIT, and goes on when it is back', async (t) => {
    for (const when of ['before', 'after'] as const) {
      const store = await open(t, { resolveForMs: 300 })
      const [lost, next] = [stepOf('lost'), stepOf('next')]
      proxy.cut(5, when, () => (proxy.target = undefined))
      await assert.rejects(store.commit(lost), { code: 'UNKNOWN_OUTCOME' })
      proxy.target = server.port
      assert.ok((await store.commit(next)).ok)
      await assertSteps(store, when === 'after' ? [lost, next] : [next])
    }
  })

  it('throws UNAVAILABLE where nothing was applied, and says nothing of the URL', async (t) => {
    const store = await open(t, { retryForMs: 200 })
    proxy.target = undefined
    proxy.cutAll()
    for (const call of [() => store.commit(stepOf('none')), () => store.get(['steps']), () => store.logSize()])
      await assert.rejects(call, { code: 'UNAVAILABLE' })
    proxy.target = server.port
    await assertSteps(store, [])
    const url = proxy.url('nowhere').replace('postgres@', 'postgres:hush@')
    await assert.rejects(openPostgresRecords({ url }), (error: Error) => {
      assert.equal((error as Error & { code?: string }).code, 'UNAVAILABLE')
      assert.match(error.message, /"nowhere" does not exist/)
      return !JSON.stringify([error.message, error.cause, String(error.cause)]).includes('hush')
    })
  })
})

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

it('reads under way when it is closed are answered, and refused as closed where that fails', async (t) => {
  for (const isAway of [false, true]) {
    const store = await open(t)
    if (isAway) {
      proxy.target = undefined
      proxy.cutAll()
    }
    // More than there are connections, and joined ones that wait for others.
    const reads: Promise<unknown>[] = Array.from({ length: 60 }, () => store.logSize())
    for (let i = 0; i < 20; i += 1) {
      reads.push(store.get([`key ${i}`]))
      await Promise.resolve()
    }
    const begun = performance.now()
    const [settled] = await Promise.all([Promise.allSettled(reads), store.close()])
    for (const read of settled)
      if (isAway) assert.equal(read.status === 'rejected' && (read.reason as { code?: string }).code, 'CLOSED')
      else assert.equal(read.status, 'fulfilled', String(read.status === 'rejected' && read.reason))
    assert.ok(performance.now() - begun < 2_500, `it took ${performance.now() - begun} ms`)
  }
})

it('a read that was called just before it is closed is answered', async (t) => {
  const store = await open(t)
  await store.commit(stepOf('one'))
  const [read, positions] = [store.get(['steps']), store.positionsOf([new Uint8Array(32)])]
  await store.close()
  assert.equal(countOf((await read)[0]), 1)
  assert.deepEqual(await positions, [undefined])
})

describe('under load', () => {
  it('killed backends cost nothing', async (t) => {
    const [store, peer] = await Promise.all([open(t, { schema: 'killed' }), open(t, { schema: 'killed' })])
    const [one, two] = [load(store, 8), load(peer, 8, 'peer')]
    let killed = 0
    while (killed <= 40) {
      const rows = await server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'evidence-registry'`,
      )
      killed += rows.length
      await sleep(15)
    }
    const done = [...(await one.stop()), ...(await two.stop())]
    assert.ok(done.length > 20, `only ${done.length} commits`)
    await assertSteps(store, done)
  })

  it('a crash and a restart of the database lose nothing', async (t) => {
    const store = await open(t)
    const running = load(store, 8)
    for (const stop of [() => server.kill(), async () => undefined]) {
      await sleep(150)
      await stop()
      await server.restart()
      await sleep(150)
    }
    const done = await running.stop()
    assert.ok(done.length > 20)
    await assertSteps(store, done)
  })
})

it('a deadlock is tried again', async (t) => {
  const store = await open(t)
  await store.commit({ writes: [{ key: 'knot', value: new Uint8Array(1) }] })
  const other = new Client({ connectionString: server.url() })
  await other.connect()
  t.after(() => other.end())
  // The store is the one that looks for deadlocks first.
  await other.query(`set deadlock_timeout = '10s'; begin; update ${store.schema}.record set version = version`)
  const committing = store.commit({ writes: [{ key: 'knot', value: new Uint8Array(2) }] })
  await sleep(50)
  await other.query(`select from ${store.schema}.head for update`)
  await other.query('rollback')
  assert.ok((await committing).ok)
  assert.deepEqual((await store.get(['knot']))[0]?.value, new Uint8Array(2))
  const [row] = await server.query(`select deadlocks from pg_stat_database where datname = 'postgres'`)
  assert.ok(Number(row?.['deadlocks']) > 0, 'there was no deadlock')
})

it('requests of a sender are counted for all processes together, in windows by the database’s clock', async (t) => {
  const schema = 'counted'
  const stores = await Promise.all([1, 2].map(() => openPostgresRecords({ url: server.url(), schema })))
  t.after(() => Promise.all(stores.map((store) => store.close())))
  const counts = await Promise.all(Array.from({ length: 40 }, (_, i) => stores[i % 2]!.countRequest('one', 60_000)))
  assert.deepEqual(
    counts.map(({ requests }) => requests).sort((a, b) => a - b),
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
  for (const { resetsInMs } of counts) assert.ok(resetsInMs > 0 && resetsInMs <= 60_000, `${resetsInMs}`)
  assert.equal((await stores[0]!.countRequest('two', 20)).requests, 1)
  await sleep(40)
  assert.equal((await stores[1]!.countRequest('two', 60_000)).requests, 1)
})

describe('the schema', () => {
  it('is made once by those that start at the same time', async (t) => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => open(t, { schema: 'together' })))
    await Promise.all(stores.map((store, i) => store.commit(stepOf(`${i}`))))
    assert.equal(await stores[0]?.logSize(), 6)
    const migrations = await server.query('select version from together.migration order by version')
    assert.deepEqual(
      migrations.map(({ version }) => version),
      [1, 2],
    )
  })

  it('of a newer version is refused', async (t) => {
    const { schema } = await open(t)
    await server.query(`insert into ${schema}.migration (version) values (999)`)
    await assert.rejects(openPostgresRecords({ url: server.url(), schema }), { code: 'CONFIG_ERROR' })
  })

  it('that is up to date needs no right to create', async (t) => {
    const { schema } = await open(t)
    await server.query(
      `create role worker login; grant usage on schema ${schema} to worker; grant select, insert, update, delete on all tables in schema ${schema} to worker`,
    )
    const store = await openPostgresRecords({ url: server.url().replace('postgres@', 'worker@'), schema })
    t.after(() => store.close())
    assert.ok((await store.commit(stepOf('worker'))).ok)
  })

  it('and the URL are refused where they cannot be used', async () => {
    for (const options of [
      { url: server.url(), schema: 'a"b' },
      { url: 'mysql://me:hush@localhost/x' },
      { url: 'postgres://me:hush@local host/x' },
    ])
      await assert.rejects(
        openPostgresRecords(options),
        (error: Error & { code?: string }) => error.code === 'CONFIG_ERROR' && !error.message.includes('hush'),
      )
  })
})
