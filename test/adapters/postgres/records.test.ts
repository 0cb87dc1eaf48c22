import { after, before, describe } from 'node:test'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { recordStoreContract, type OpenedRecordStore } from '../../../adapters/kit/contract/index.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

describe('records in PostgreSQL', () => {
  let server: PostgresServer
  let schemas = 0
  // A locale that sorts `a` before `B` and ignores punctuation at first. Keys must sort bytewise nevertheless.
  before(async () => {
    server = await PostgresServer.start({ initdb: ['--locale=C', '--locale-provider=icu', '--icu-locale=en'] })
  })
  after(() => server.stop())

  async function open(schema = `contract_${(schemas += 1)}`): Promise<OpenedRecordStore> {
    const openOne = () => openPostgresRecords({ url: server.url(), schema })
    const [store, peer] = await Promise.all([openOne(), openOne()])
    return { store, peer, reopen: () => open(schema) }
  }

  recordStoreContract('two processes on one database', () => open())
})
