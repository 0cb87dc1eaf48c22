import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SourceSystem } from '../../../core/index.ts'
import { countCommits } from '../../support/count-commits.ts'
import { assertIntact, COMPANY, openFixture, Stores, it, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const NEW_KEY = 'the-key-that-replaces-the-first'
const THIRD_KEY = 'the-key-that-replaces-the-second'
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

const works = async ({ registry }: Fixture, apiKey: string): Promise<boolean> =>
  (await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey })) !== undefined

async function listed({ registry, scope }: Fixture, id: string): Promise<SourceSystem> {
  const system = (await registry.sourceSystems.list(scope)).find((each) => each.id === id)
  assert.ok(system)
  return system
}

describe('a replaced key', () => {
  it('works during its grace period, and not after it', async (fixture) => {
    const { registry, scope, system, clock } = fixture
    const { id, apiKey } = await system('U')
    const endsAt = new Date(clock.now() + 3_600 * SECOND_MS)
    await registry.sourceSystems.update(scope, id, { apiKey: NEW_KEY, graceSeconds: 3_600 })
    assert.deepEqual((await listed(fixture, id)).replacedKeyEndsAt, endsAt)
    const principals = await Promise.all(
      [apiKey, NEW_KEY].map((key) => registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: key })),
    )
    assert.deepEqual(principals[0], principals[1])
    await rejectsWith('KEY_EXISTS', registry.sourceSystems.create(scope, { name: 'thief', apiKey }))
    await assertIntact(fixture)
    clock.set(endsAt.getTime() - 1)
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [true, true])
    clock.set(endsAt.getTime())
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [false, true])
    assert.equal((await listed(fixture, id)).replacedKeyEndsAt, undefined)
    // The next change forgets it.
    await registry.sourceSystems.update(scope, id, { name: 'renamed' })
    await registry.sourceSystems.create(scope, { name: 'next', apiKey })
    await assertIntact(fixture)
  })

  it('stops working at once without a grace period, and so do those that were replaced before', async (fixture) => {
    const { registry, scope, system } = fixture
    const { id, apiKey } = await system('U')
    await registry.sourceSystems.update(scope, id, { apiKey: NEW_KEY, graceSeconds: 3_600 })
    await registry.sourceSystems.update(scope, id, { apiKey: THIRD_KEY })
    const working = await Promise.all([apiKey, NEW_KEY, THIRD_KEY].map((key) => works(fixture, key)))
    assert.deepEqual(working, [false, false, true])
    await assertIntact(fixture)
  })

  it('stops working if its source system is sent the key that it has, without a grace period', async (fixture) => {
    const { registry, scope, system } = fixture
    const { id, apiKey } = await system('U')
    const update = (graceSeconds?: number) =>
      registry.sourceSystems.update(scope, id, { apiKey: NEW_KEY, ...(graceSeconds && { graceSeconds }) })
    const working = () => Promise.all([apiKey, NEW_KEY].map((key) => works(fixture, key)))
    await update(3_600)
    await update(60)
    assert.deepEqual(await working(), [true, true])
    await update()
    assert.deepEqual(await working(), [false, true])
    await assertIntact(fixture)
  })

  it('stops working at once in every process, also where it was used before', async (fixture) => {
    const { scope, system, stores } = fixture
    const { id, apiKey } = await system('U')
    const other = await openFixture({ stores })
    assert.deepEqual([await works(fixture, apiKey), await works(other, apiKey)], [true, true])
    await other.registry.sourceSystems.update(scope, id, { apiKey: NEW_KEY })
    for (const process of [fixture, other, fixture])
      assert.deepEqual([await works(process, apiKey), await works(process, NEW_KEY)], [false, true])
    await other.registry.sourceSystems.update(scope, id, { apiKey })
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [true, false])
    await other.close()
  })

  it('has the level of its source system, and stops working with it', async (fixture) => {
    const { registry, scope, system } = fixture
    const { id, apiKey } = await system('A')
    await registry.sourceSystems.update(scope, id, { apiKey: NEW_KEY, graceSeconds: 3_600 })
    await registry.sourceSystems.update(scope, id, { permissions: 'R' })
    for (const key of [apiKey, NEW_KEY]) {
      const principal = await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: key })
      assert.deepEqual(principal, { kind: 'sourceSystem', id, companyId: COMPANY, permissions: 'R' })
    }
    await registry.sourceSystems.update(scope, id, { active: false })
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [false, false])
    await registry.sourceSystems.update(scope, id, { active: true })
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [true, true])
  })

  it('is one of at most 16', async (fixture) => {
    const { registry, scope, system } = fixture
    const { id, apiKey } = await system('U')
    const rotate = (i: number) =>
      registry.sourceSystems.update(scope, id, { apiKey: `${NEW_KEY}-${i}`, graceSeconds: 604_800 })
    for (let i = 0; i < 16; i++) await rotate(i)
    await assert.rejects(rotate(16), { code: 'VALIDATION_ERROR', field: 'graceSeconds' })
    assert.ok(await works(fixture, apiKey))
    await assertIntact(fixture)
  })

  it('requires a new key, and a period of up to a week', async ({ registry, scope, system }) => {
    const { id } = await system('U')
    const change = (graceSeconds: number) => registry.sourceSystems.update(scope, id, { apiKey: NEW_KEY, graceSeconds })
    for (const graceSeconds of [-1, 604_801, 0.5])
      await assert.rejects(change(graceSeconds), { code: 'VALIDATION_ERROR', field: 'graceSeconds' })
    await assert.rejects(registry.sourceSystems.update(scope, id, { graceSeconds: 60 }), {
      code: 'VALIDATION_ERROR',
      field: 'graceSeconds',
    })
  })
})

describe('a source system that expires', () => {
  it('cannot authenticate from then on, with none of its keys', async (fixture) => {
    const { registry, scope, clock } = fixture
    const expiresAt = new Date(clock.now() + MINUTE_MS)
    const { id, apiKey = '' } = await registry.sourceSystems.create(scope, { name: 'a', expiresAt })
    await registry.sourceSystems.update(scope, id, { apiKey: NEW_KEY, graceSeconds: 604_800 })
    assert.deepEqual((await listed(fixture, id)).expiresAt, expiresAt)
    await assertIntact(fixture)
    clock.set(expiresAt.getTime() - 1)
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [true, true])
    clock.set(expiresAt.getTime())
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [false, false])
    await registry.sourceSystems.update(scope, id, { expiresAt: new Date(clock.now() + MINUTE_MS) })
    assert.deepEqual([await works(fixture, apiKey), await works(fixture, NEW_KEY)], [true, true])
  })

  it('does so in the future', async ({ registry, scope, system, clock }) => {
    const { id } = await system('U')
    for (const expiresAt of [new Date(clock.now()), new Date(NaN), '2030-01-01' as unknown as Date]) {
      const error = { code: 'VALIDATION_ERROR', field: 'expiresAt' }
      await assert.rejects(registry.sourceSystems.create(scope, { name: 'x', expiresAt }), error)
      await assert.rejects(registry.sourceSystems.update(scope, id, { expiresAt }), error)
    }
  })
})

describe('the last use of a source system', () => {
  test('is known to the minute, and costs one write a minute at most', async (t) => {
    const stores = new Stores()
    const commits = countCommits(stores.records)
    const fixture = await openFixture({ stores })
    const { registry, scope, clock, system } = fixture
    const { id, apiKey } = await system('U')
    const { id: unused } = await registry.sourceSystems.create(scope, { name: 'unused' })
    const minute = clock.now()
    const before = commits.count
    for (let i = 0; i < 50; i++) assert.ok(await works(fixture, apiKey))
    assert.deepEqual((await listed(fixture, id)).lastUsedAt, new Date(minute))
    assert.equal((await listed(fixture, unused)).lastUsedAt, undefined)
    assert.equal(commits.count, before)
    await clock.advance(MINUTE_MS)
    assert.equal(commits.count, before + 1)
    await works(fixture, 'a-key-of-no-source-system')
    assert.deepEqual((await listed(fixture, id)).lastUsedAt, new Date(minute))
    await clock.advance(30 * SECOND_MS)
    await works(fixture, apiKey)
    assert.deepEqual((await listed(fixture, id)).lastUsedAt, new Date(minute + MINUTE_MS))
    await assertIntact(fixture)
    // The close writes what is noted.
    await fixture.close()
    const again = await openFixture({ t, stores })
    assert.deepEqual((await listed(again, id)).lastUsedAt, new Date(minute + MINUTE_MS))
  })

  test('is not written by a read-only registry, which authenticates', async (t) => {
    const stores = new Stores()
    const first = await openFixture({ stores })
    const { apiKey } = await first.system('R')
    await first.registry.sealNow()
    await first.close()
    const commits = countCommits(stores.records)
    const fixture = await openFixture({ t, stores, registry: { readOnly: true } })
    assert.ok(await works(fixture, apiKey))
    await fixture.clock.advance(MINUTE_MS)
    assert.equal(commits.count, 0)
  })
})
