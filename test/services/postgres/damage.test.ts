import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { connectRecords } from '../../../adapters/postgres/records.ts'
import { isRegistryError } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ports/index.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { resultsOf, SMALL_STORE } from '../../support/store-contents.ts'

describe('damage in PostgreSQL', () => {
  let server: PostgresServer
  before(async () => {
    server = await PostgresServer.shared()
  })

  /** The columns that hold values, and what their rows are selected by. */
  const COLUMNS = [
    ['head', 'id', 'value'],
    ['record', 'key', 'value'],
    ['log_row', 'start', 'entries'],
    ['log_row', 'start', 'payloads'],
    ['log_position', 'entry', 'value'],
  ] as const

  // That every byte counts is tested for the envelope of values (core/store) and for LevelDB: here each column once.
  it('damage to a stored value is CORRUPT with an error line, and never another result', async () => {
    let lines = 0
    const logger: Logger = { debug() {}, info() {}, warn() {}, error: () => void (lines += 1) }
    const store = await connectRecords({ url: server.url(), schema: 'damage', logger })
    for (const commit of SMALL_STORE) assert.ok((await store.commit(commit)).ok)
    const sound = await resultsOf(store)
    assert.equal(lines, 0)
    let values = 0
    for (const [table, id, column] of COLUMNS) {
      const rows = await server.query(`select ${id}::text as id, ${column} as value from damage.${table}`)
      for (const row of rows as { readonly id: string; readonly value: Uint8Array }[]) {
        values += 1
        const write = (value: Uint8Array): Promise<unknown> =>
          server.query(
            `update damage.${table} set ${column} = '\\x${Buffer.from(value).toString('hex')}'
              where ${id}::text = '${row.id}'`,
          )
        await write(row.value.length === 0 ? new Uint8Array(1) : row.value.with(0, (row.value[0] ?? 0) ^ 1))
        lines = 0
        const wrong = [...(await resultsOf(store))].filter(([read, result]) => result !== sound.get(read))
        const name = `${table} ${row.id}.${column}`
        assert.ok(wrong.length > 0, `${name} was not noticed`)
        for (const [read, result] of wrong) assert.equal(result, 'CORRUPT', `${read} with ${name}`)
        assert.equal(lines, wrong.length, name)
        if (table === 'head')
          await assert.rejects(store.commit({ append: SMALL_STORE[0]?.append ?? [] }), (error) =>
            isRegistryError(error, 'CORRUPT'),
          )
        await write(row.value)
      }
    }
    // Head, 3 records, 2 rows of each kind, 5 positions.
    assert.equal(values, 13)
    assert.deepEqual(await resultsOf(store), sound)
    await store.close()
  })
})
