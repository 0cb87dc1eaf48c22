import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { it } from '../../support/registry-fixture.ts'

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
})
