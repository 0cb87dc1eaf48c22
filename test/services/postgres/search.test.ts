import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { checkScenario, scenario } from '../../support/evidence-model.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

describe('filtered and sorted lists in PostgreSQL', () => {
  let server: PostgresServer
  let schemas = 0
  before(async () => {
    server = await PostgresServer.shared()
  })

  it('return the same as a slow reference', () =>
    fc.assert(
      fc.asyncProperty(scenario, async (each) =>
        checkScenario(await openPostgresRecords({ url: server.url(), schema: `search_${(schemas += 1)}` }), each),
      ),
      { numRuns: 4 },
    ))
})
