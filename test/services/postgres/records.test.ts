import { before, describe } from 'node:test'
import { connectRecords } from '../../../adapters/postgres/records.ts'
import { recordSnapshotContract, recordStoreContract, type OpenedRecordStore } from '../../contract/index.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

describe('records in PostgreSQL', () => {
  let server: PostgresServer
  let schemas = 0
  // Its locale sorts `a` before `B` and ignores punctuation at first. Keys must sort bytewise nevertheless.
  before(async () => {
    server = await PostgresServer.shared()
  })

  async function open(schema = `contract_${(schemas += 1)}`): Promise<OpenedRecordStore> {
    const openOne = () => connectRecords({ url: server.url(), schema })
    const [store, peer] = await Promise.all([openOne(), openOne()])
    return { store, peer, reopen: () => open(schema), damage: (key) => damage(schema, key) }
  }

  /** Changes the last byte of a stored value. */
  const damage = async (schema: string, key: string): Promise<void> => {
    const flipped = 'set_byte(value, length(value) - 1, get_byte(value, length(value) - 1) # 1)'
    await server.query(`update ${schema}.record set value = ${flipped} where convert_from(key, 'UTF8') = '${key}'`)
  }

  recordStoreContract('two processes on one database', () => open())
  recordSnapshotContract('PostgreSQL', () =>
    connectRecords({ url: server.url(), schema: `snapshot_${(schemas += 1)}` }),
  )
})
