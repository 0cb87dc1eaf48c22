import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Scope } from '../../../core/index.ts'
import { inCategory, openFixture, it, Stores, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

/** The categories of recent evidences are cached. The checks of a commit notice if a cached record has changed. */

const NAMES = inCategory('C', 'S')

/** Creates a category, and uses it by name and by id once, so that it is cached. */
async function cacheCategory({ registry, scope, evidence }: Fixture) {
  await evidence({ externalId: 'made', ...NAMES })
  await evidence({ externalId: 'found', ...NAMES })
  const { evidence: stored } = await registry.evidences.get(scope, 'found')
  const { categoryId, subcategoryId } = stored
  await registry.evidences.createMany(scope, {
    categoryId,
    subcategoryId,
    evidences: [{ externalId: 'by-id', name: 'x' }],
  })
  return { categoryId, subcategoryId }
}

describe('a cached category', () => {
  it('is used without a read', async (fixture) => {
    const { registry, process } = fixture
    const { categoryId, subcategoryId } = await cacheCategory(fixture)
    const { scope } = await fixture.system('I')
    const read: string[] = []
    const get = process.records.get.bind(process.records)
    process.records.get = (keys) => {
      read.push(...keys)
      return get(keys)
    }
    await registry.evidences.create(scope, { ...NAMES, externalId: 'a', name: 'a' })
    await registry.evidences.createMany(scope, {
      categoryId,
      subcategoryId,
      evidences: [{ externalId: 'b', name: 'b' }],
    })
    assert.deepEqual(read, [])
  })

  const changes: readonly [string, (at: Fixture, category: string, subcategory: string) => Promise<unknown>][] = [
    [
      'its category',
      ({ registry, scope }, id) => registry.categories.update(scope, { categoryId: id }, { status: 'inactive' }),
    ],
    [
      'its subcategory',
      ({ registry, scope }, id, sub) =>
        registry.categories.update(scope, { categoryId: id, subcategoryId: sub }, { status: 'inactive' }),
    ],
  ]
  for (const [what, deactivate] of changes)
    test(`accepts no evidence after another process has deactivated ${what}, until it is active again`, async (t) => {
      const stores = new Stores()
      const here = await openFixture({ t, stores })
      const { categoryId, subcategoryId } = await cacheCategory(here)
      const there = await openFixture({ t, stores })
      const create = (externalId: string) => here.evidence({ externalId, ...NAMES })
      const createIn = (externalId: string) =>
        here.registry.evidences.createMany(here.scope, {
          categoryId,
          subcategoryId,
          evidences: [{ externalId, name: 'x' }],
        })
      await deactivate(there, categoryId, subcategoryId)
      await rejectsWith('CATEGORY_INACTIVE', create('a'))
      await rejectsWith('CATEGORY_INACTIVE', createIn('a'))
      const status = 'active'
      if (what === 'its category') await there.registry.categories.update(there.scope, { categoryId }, { status })
      else await there.registry.categories.update(there.scope, { categoryId, subcategoryId }, { status })
      await create('a')
      await createIn('b')
    })

  it('is not confused with a new category that has its former name', async (fixture) => {
    const { registry, scope, evidence } = fixture
    const { categoryId } = await cacheCategory(fixture)
    await registry.categories.update(scope, { categoryId }, { name: 'Old' })
    const { id } = await registry.categories.create(scope, { name: 'C' })
    await evidence({ externalId: 'new', ...NAMES })
    const { evidence: stored } = await registry.evidences.get(scope, 'new')
    assert.equal(stored.categoryId, id)
  })

  it('belongs to one company', async (fixture) => {
    const { registry } = fixture
    const { categoryId, subcategoryId } = await cacheCategory(fixture)
    const { scope: other } = await fixture.system('U', 'other')
    const createIn = (scope: Scope) =>
      registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences: [{ externalId: 'x', name: 'x' }] })
    await rejectsWith('CATEGORY_NOT_FOUND', createIn(other))
    await registry.evidences.create(other, { ...NAMES, externalId: 'x', name: 'x' })
    const { evidence: stored } = await registry.evidences.get(other, 'x')
    assert.notEqual(stored.categoryId, categoryId)
  })

  it('is found only by the same selectors', async (fixture) => {
    const { registry, scope } = fixture
    const { categoryId, subcategoryId } = await cacheCategory(fixture)
    const mixed = { category: { id: categoryId }, subcategory: { name: 'S' } }
    const wrong = { category: { id: categoryId, name: 'D' }, subcategory: { id: subcategoryId } }
    await registry.evidences.create(scope, { ...mixed, externalId: 'x', name: 'x' })
    await rejectsWith('CATEGORY_MISMATCH', registry.evidences.create(scope, { ...wrong, externalId: 'y', name: 'y' }))
    const { evidence: stored } = await registry.evidences.get(scope, 'x')
    assert.equal(stored.subcategoryId, subcategoryId)
  })

  it('is read again after the cache was full', async ({ registry, evidence, scope }) => {
    for (let i = 0; i <= 1_025; i++) {
      const names = inCategory('C', `S ${i}`)
      await evidence({ externalId: `made ${i}`, ...names })
      await evidence({ externalId: `found ${i}`, ...names })
    }
    await evidence({ externalId: 'again', ...inCategory('C', 'S 0') })
    const [first, again] = await Promise.all(
      ['made 0', 'again'].map((externalId) => registry.evidences.get(scope, externalId)),
    )
    assert.equal(again?.evidence.subcategoryId, first?.evidence.subcategoryId)
  })
})
