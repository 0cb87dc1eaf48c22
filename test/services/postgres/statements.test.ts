import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { Client, DatabaseError } from 'pg'
import { byteaArray } from '../../../adapters/postgres/rows.ts'
import { openPostgresRecords, type PostgresRecords } from '../../../adapters/postgres/index.ts'
import { connectRecords } from '../../../adapters/postgres/records.ts'
import { isRegistryError } from '../../../core/errors.ts'
import type { Logger } from '../../../core/index.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { stepOf } from '../../support/postgres-steps.ts'

describe('the statements of a store', () => {
  let server: PostgresServer
  let schemas = 0
  before(async () => {
    server = await PostgresServer.shared()
  })

  /** Opens a store in a schema of its own, whose connections the test can inspect. */
  async function open(
    t: TestContext,
    ConnectionClass: typeof Client = Client,
    { url = server.url(), logger }: { url?: string; logger?: Logger } = {},
  ) {
    const schema = `statements_${(schemas += 1)}`
    const connections: Client[] = []
    class Connection extends ConnectionClass {
      constructor(...args: ConstructorParameters<typeof Client>) {
        super(...args)
        connections.push(this)
      }
    }
    // `Client` is an option of `pg.Pool` that the types of this adapter do not name.
    const pool = { host: '127.0.0.1', Client: Connection }
    const store = await connectRecords({ url, schema, pool, ...(logger && { logger }) })
    t.after(() => store.close())
    return { store, schema, connections }
  }

  /** A client of a server that speaks the protocol but does not know the planner settings. */
  class WithoutSettings extends Client {
    constructor(...args: ConstructorParameters<typeof Client>) {
      super(...args)
      // eslint-disable-next-line typescript/unbound-method -- the proxy passes `this`
      this.query = new Proxy(this.query, {
        apply: (query, _, parameters) =>
          String(parameters[0]).startsWith('set plan_cache_mode')
            ? Promise.reject(Object.assign(new DatabaseError('unrecognized', 1, 'error'), { code: '42704' }))
            : Reflect.apply(query, this, parameters),
      })
    }
  }

  async function commitAndRead(store: PostgresRecords): Promise<void> {
    for (let i = 0; i < 20; i += 1) {
      const step = stepOf(`step ${i}`)
      assert.ok((await store.commit(step)).ok)
      const [entries, positions] = await Promise.all([
        store.get([`step/step ${i}`, 'nowhere']),
        store.positionsOf([step.entry, new Uint8Array(randomBytes(32))]),
      ])
      assert.deepEqual(
        entries.map((entry) => entry && Buffer.from(entry.value).toString()),
        [`step ${i}`, undefined],
      )
      assert.deepEqual(positions, [i, undefined])
    }
  }

  describe('statements', () => {
    it('are planned once per connection, whatever their parameters are', async (t) => {
      const { store, connections } = await open(t)
      await commitAndRead(store)
      for await (const _ of store.list({ gte: 'step/', lt: 'step0' }));
      const plans = await Promise.all(
        connections.map(async (connection) => {
          const { rows } = await connection.query<{ name: string; custom: number; generic: number }>(
            `select name, custom_plans::int as custom, generic_plans::int as generic
              from pg_prepared_statements where name like 'er_%'`,
          )
          return rows
        }),
      )
      const names = new Set(plans.flat().map(({ name }) => name))
      for (const name of ['er_get', 'er_get_and_positions', 'er_list', 'er_apply', 'er_append'])
        assert.ok(names.has(name), name)
      for (const { name, custom, generic } of plans.flat()) {
        assert.equal(custom, 0, name)
        assert.ok(generic > 0, name)
      }
    })

    it('return the same on a server without the planner settings', async (t) => {
      const { store } = await open(t, WithoutSettings)
      await commitAndRead(store)
    })

    it('that find damage fail only the reads of the damaged record', async (t) => {
      const { store, schema } = await open(t)
      const keys = ['a', 'damaged', 'z']
      await store.commit({ writes: keys.map((key) => ({ key, value: Buffer.from(key) })) })
      const one = stepOf('one')
      await store.commit(one)
      // Fails like a damaged page, for one record.
      await server.query(`
      alter table ${schema}.record rename to whole;
      create function ${schema}.damage() returns bytea language plpgsql as
        $$ begin raise exception 'invalid page' using errcode = 'XX001'; end $$;
      create view ${schema}.record as
        select key, case when key = 'damaged' then ${schema}.damage() else value end as value from ${schema}.whole`)
      const [whole, damaged, other, positions] = await Promise.allSettled([
        store.get(['a']),
        store.get(['damaged']),
        store.get(['z']),
        store.positionsOf([one.entry]),
      ])
      assert.ok(damaged.status === 'rejected' && isRegistryError(damaged.reason, 'CORRUPT'))
      for (const read of [whole, other, positions]) assert.equal(read.status, 'fulfilled')
    })
  })

  it('do not lose a group to a default of the database, and say what else the server may lose', async (t) => {
    await server.query('create database careless')
    for (const setting of ['synchronous_commit', 'standard_conforming_strings'])
      await server.query(`alter database careless set ${setting} = off`)
    const committed: unknown[] = []
    class Observed extends Client {
      constructor(...args: ConstructorParameters<typeof Client>) {
        super(...args)
        // eslint-disable-next-line typescript/unbound-method -- the proxy passes `this`
        this.query = new Proxy(this.query, {
          apply: async (query, _, parameters) => {
            if (parameters[0] === 'commit')
              committed.push((await Reflect.apply(query, this, ['show synchronous_commit'])).rows[0])
            return Reflect.apply(query, this, parameters)
          },
        })
      }
    }
    const { logger, warnings } = recordingLogger()
    const { store } = await open(t, Observed, { url: server.url('careless'), logger })
    await commitAndRead(store)
    assert.deepEqual(committed.at(-1), { synchronous_commit: 'on' })
    assert.deepEqual(store.unsafeSettings, ['fsync', 'full_page_writes'])
    assert.deepEqual(warnings, ['these settings of the database are off: lost power can lose or damage records'])
  })

  it('that read need no database that accepts writes', async (t) => {
    await server.query('create database standby')
    const url = server.url('standby')
    await (await openPostgresRecords({ url })).close()
    await server.query('alter database standby set default_transaction_read_only = on')
    const store = await openPostgresRecords({ url, retryForMs: 0 })
    t.after(() => store.close())
    assert.equal(await store.logSize(), 0)
    await assert.rejects(store.commit(stepOf('a')), { code: 'UNAVAILABLE', message: /accepts no writes/ })
  })

  it('an array of bytes arrives unchanged', async (t) => {
    const client = new Client({ connectionString: server.url() })
    await client.connect()
    t.after(() => client.end())
    const element = fc.uint8Array({ maxLength: 300 })
    await fc.assert(
      fc.asyncProperty(fc.array(element, { maxLength: 40 }), async (elements) => {
        const { rows } = await client.query<{ element: Buffer }>(
          'select element from unnest($1::bytea[]) with ordinality as sent(element, n) order by n',
          [byteaArray(elements)],
        )
        const shown = rows.map((row) => new Uint8Array(row.element))
        assert.deepEqual(shown, elements)
      }),
      { numRuns: 100, examples: [[[]], [[new Uint8Array(0)]], [[new Uint8Array(100_000).fill(0x5c)]]] },
    )
  })
})
