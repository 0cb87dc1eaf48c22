import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RecordStore } from '../../../core/index.ts'
import { createMany, numbered } from '../../support/many-evidences.ts'
import { it, openFixture, Stores } from '../../support/registry-fixture.ts'

describe('the overview', () => {
  it('counts the events of the present day', async ({ registry, scope, evidence, wait }) => {
    const countToday = async () => (await registry.evidences.overview(scope)).eventsToday
    await evidence({ externalId: 'e-1' })
    await registry.evidences.update(scope, 'e-1', { updateType: 'repair' })
    assert.deepEqual(await countToday(), { count: 2, isMore: false })
    await wait(24)
    assert.deepEqual(await countToday(), { count: 0, isMore: false })
    await evidence({ externalId: 'e-2' })
    assert.deepEqual(await countToday(), { count: 1, isMore: false })
  })

  test('reads few entries of lists, however many evidences there are', async (t) => {
    const stores = new Stores()
    let listed = 0
    const list: RecordStore['list'] = async function* (range) {
      for await (const entry of stores.records.list(range)) {
        listed++
        yield entry
      }
    }
    const { registry, scope } = await openFixture({ t, stores, records: { list } })
    await createMany(registry, scope, numbered('e-', 1_000))
    listed = 0
    await registry.evidences.overview(scope)
    assert.ok(listed < 100, `${listed} entries`)
  })
})
