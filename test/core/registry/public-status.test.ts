import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { rejectsWith } from '../../contract/blob-bodies.ts'
import { WatchedCalls } from '../../support/watched-calls.ts'
import { present } from '../../support/present.ts'
import { assertIntact, COMPANY, it, openFixture, Stores, type Fixture } from '../../support/registry-fixture.ts'

const UNKNOWN = { state: 'unknown' }

const statusOf = ({ registry }: Pick<Fixture, 'registry'>, externalId: string, companyId = COMPANY) =>
  registry.evidences.publicStatus({ companyId, externalId })

/** The category of the evidences of a fixture. */
async function toolsOf({ categories, scope }: Fixture) {
  const { id, subcategories } = present((await categories.list(scope))[0])
  return { path: { categoryId: id }, subPath: { categoryId: id, subcategoryId: present(subcategories[0]).id } }
}

describe('the public status', () => {
  it('is what the registry knows, since the first report of a theft', async (fixture) => {
    const { categories, evidences, scope, evidence, clock } = fixture
    await evidence()
    assert.deepEqual(await statusOf(fixture, 'e-1'), UNKNOWN)
    await categories.update(scope, (await toolsOf(fixture)).path, { publicStatus: true })
    assert.deepEqual(await statusOf(fixture, 'e-1'), { state: 'active' })
    const report = async (stolen: boolean) => {
      await clock.advance(60_000)
      await evidences.update(scope, 'e-1', { updateType: 'stolen', stolen })
      return new Date(clock.now())
    }
    const since = await report(true)
    assert.deepEqual(await statusOf(fixture, 'e-1'), { state: 'stolen', since })
    await report(true)
    await evidences.update(scope, 'e-1', { owner: 'Next' })
    assert.deepEqual(await statusOf(fixture, 'e-1'), { state: 'stolen', since })
    await report(false)
    assert.deepEqual(await statusOf(fixture, 'e-1'), { state: 'active' })
    const again = await report(true)
    assert.deepEqual(await statusOf(fixture, 'e-1'), { state: 'stolen', since: again })
    await assertIntact(fixture)

    await categories.update(scope, (await toolsOf(fixture)).path, { publicStatus: false })
    assert.deepEqual(await statusOf(fixture, 'e-1'), UNKNOWN)
  })

  it('is opened for a category with level A, and not for a subcategory', async (fixture) => {
    const { categories, scope, evidence, system } = fixture
    await evidence()
    const { path, subPath } = await toolsOf(fixture)
    const [{ scope: writer }, { scope: admin }] = [await system('U'), await system('A')]
    for (const publicStatus of [true, false])
      await rejectsWith('FORBIDDEN', categories.update(writer, path, { publicStatus }))
    await rejectsWith('VALIDATION_ERROR', categories.update(scope, subPath, { publicStatus: true }))
    const details = () => categories.get(scope, path)
    const { publicStatus, subcategories } = await details()
    assert.deepEqual([publicStatus, subcategories[0]?.publicStatus], [false, undefined])
    await categories.update(admin, path, { publicStatus: false })
    assert.equal((await details()).version, 1)
    await categories.update(admin, path, { publicStatus: true })
    await categories.update(writer, path, { name: 'Devices', description: 'All', clear: [] })
    const opened = await details()
    assert.deepEqual([opened.publicStatus, opened.version], [true, 3])
  })

  it('is unknown by the same calls for an id that does not exist and for a closed category', async () => {
    const stores = new Stores()
    const watched = new WatchedCalls()
    const fixture = await openFixture({ stores, records: watched.of(stores.records) })
    const { categories, evidences, scope, evidence, system, close } = fixture
    await evidence({ externalId: 'open' })
    await categories.update(scope, (await toolsOf(fixture)).path, { publicStatus: true })
    await evidence({ externalId: 'closed', category: { name: 'Watches' } })
    await evidences.update(scope, 'closed', { updateType: 'stolen' })
    await system('R', 'other')
    const asked = [
      ['none', COMPANY],
      ['closed', COMPANY],
      ['open', 'other'],
      ['open', 'no-company'],
    ] as const
    for (const [externalId, companyId] of asked) {
      const calls = await watched.during(async () =>
        assert.deepEqual(await statusOf(fixture, externalId, companyId), UNKNOWN),
      )
      assert.deepEqual(calls, ['get ex', 'get ev', 'get ca'], `${companyId} ${externalId}`)
    }
    for (const [externalId, companyId] of [
      ['', COMPANY],
      ['open', '..'],
    ] as const)
      await rejectsWith('VALIDATION_ERROR', statusOf(fixture, externalId, companyId))
    await close()
  })

  it('is an error, and not unknown, if the store has lost the evidence', async (fixture) => {
    const { evidence, stores } = fixture
    await evidence()
    const [key = ''] = await stores.keysOf('ev')
    await stores.records.commit({ writes: [{ key, value: null }] })
    await rejectsWith('CORRUPT', statusOf(fixture, 'e-1'))
  })
})
