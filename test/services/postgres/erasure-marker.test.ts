import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import { MARK, markedFiles } from '../../support/erasure-marker.ts'
import { eventually } from '../../support/eventually.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { openFixture } from '../../support/registry-fixture.ts'

it('a mark in texts of an evidence is in no file of a database after its erasure and VACUUM FULL', async (t) => {
  const server = await PostgresServer.start()
  t.after(() => server.stop())
  const records = await openPostgresRecords({ url: server.url() })
  t.after(() => records.close())
  const inDatabase = async (): Promise<number> => {
    await server.query('checkpoint')
    return (await markedFiles(join(server.directory, 'base'))).length
  }
  const { clock, evidence, evidences, scope, stage } = await openFixture({
    t,
    registry: { records, smallFileBytes: 4_096 },
  })
  const files = [await stage(`${MARK} content`, `${MARK}.txt`)]
  // The description is long enough to be compressed.
  const texts = { name: `${MARK} n`, owner: `${MARK} o`, description: `${MARK} d`.repeat(400), meta: { [MARK]: MARK } }
  await evidence({ externalId: `${MARK}-id`, ...texts, files })
  const change = { owner: `${MARK} p`, persona: MARK, eventDescription: MARK }
  await evidences.update(scope, `${MARK}-id`, change, { idempotencyKey: MARK })
  assert.ok((await inDatabase()) > 0)
  await evidences.erase(scope, `${MARK}-id`, { content: true, reason: 'request' })
  // Until it is done, its own record names the keys.
  await eventually(async () => {
    await clock.advance(60_000)
    return (await listEntries(records, keys.pendingErasures())).length === 0
  })
  // VACUUM alone leaves the bytes in the free space of pages.
  await server.query('vacuum full evidence_registry.record')
  assert.equal(await inDatabase(), 0)
})
