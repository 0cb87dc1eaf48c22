import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Scope } from '../../../core/index.ts'
import { inCategory, openFixture, refused, withRegistry, World, type Fixture } from '../../support/registry-fixture.ts'

/** Where the last evidences went is remembered, and a commit's checks see whether it is still so. */

const PLACE = inCategory('C', 'S')

/** By name and by id, each used once and so known. */
async function knownPlace({ registry, scope, evidence }: Fixture) {
  await evidence({ externalId: 'made', ...PLACE })
  await evidence({ externalId: 'found', ...PLACE })
  const { evidence: stored } = await registry.evidences.get(scope, 'found')
  const { categoryId, subcategoryId } = stored
  await registry.evidences.createMany(scope, {
    categoryId,
    subcategoryId,
    evidences: [{ externalId: 'by-id', name: 'x' }],
  })
  return { categoryId, subcategoryId }
}

describe('a place that is known', () => {
  it('needs no reading', () =>
    withRegistry(async (fixture) => {
      const { registry, process } = fixture
      const { categoryId, subcategoryId } = await knownPlace(fixture)
      const { scope } = await fixture.system('I')
      const read: string[] = []
      const get = process.records.get.bind(process.records)
      process.records.get = (keys) => {
        read.push(...keys)
        return get(keys)
      }
      await registry.evidences.create(scope, { ...PLACE, externalId: 'a', name: 'a' })
      await registry.evidences.createMany(scope, {
        categoryId,
        subcategoryId,
        evidences: [{ externalId: 'b', name: 'b' }],
      })
      assert.deepEqual(read, [])
    }))

  const changes: readonly [string, (at: Fixture, category: string, subcategory: string) => Promise<unknown>][] = [
    ['its category', ({ registry, scope }, id) => registry.categories.update(scope, id, { status: 'inactive' })],
    [
      'its subcategory',
      ({ registry, scope }, id, sub) =>
        registry.categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, { status: 'inactive' }),
    ],
  ]
  for (const [what, deactivate] of changes)
    it(`takes nothing once another process has deactivated ${what}, and again when it is active`, async () => {
      const world = new World()
      const here = await openFixture({ world })
      const { categoryId, subcategoryId } = await knownPlace(here)
      const there = await openFixture({ world })
      const create = (externalId: string) => here.evidence({ externalId, ...PLACE })
      const createIn = (externalId: string) =>
        here.registry.evidences.createMany(here.scope, {
          categoryId,
          subcategoryId,
          evidences: [{ externalId, name: 'x' }],
        })
      await deactivate(there, categoryId, subcategoryId)
      await assert.rejects(create('a'), refused('CATEGORY_INACTIVE'))
      await assert.rejects(createIn('a'), refused('CATEGORY_INACTIVE'))
      const status = 'active'
      if (what === 'its category') await there.registry.categories.update(there.scope, categoryId, { status })
      else await there.registry.categories.updateSubcategory(there.scope, { categoryId, subcategoryId }, { status })
      await create('a')
      await createIn('b')
      await there.close()
      await here.close()
    })

  it('is not taken for another that has its name now', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, evidence } = fixture
      const { categoryId } = await knownPlace(fixture)
      await registry.categories.update(scope, categoryId, { name: 'Old' })
      const { id } = await registry.categories.create(scope, { name: 'C' })
      await evidence({ externalId: 'new', ...PLACE })
      const { evidence: stored } = await registry.evidences.get(scope, 'new')
      assert.equal(stored.categoryId, id)
    }))

  it('is of one company', () =>
    withRegistry(async (fixture) => {
      const { registry } = fixture
      const { categoryId, subcategoryId } = await knownPlace(fixture)
      const { scope: other } = await fixture.system('U', 'other')
      const createIn = (scope: Scope) =>
        registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences: [{ externalId: 'x', name: 'x' }] })
      await assert.rejects(createIn(other), refused('CATEGORY_NOT_FOUND'))
      await registry.evidences.create(other, { ...PLACE, externalId: 'x', name: 'x' })
      const { evidence: stored } = await registry.evidences.get(other, 'x')
      assert.notEqual(stored.categoryId, categoryId)
    }))

  it('is found by what it was found by', () =>
    withRegistry(async (fixture) => {
      const { registry, scope } = fixture
      const { categoryId, subcategoryId } = await knownPlace(fixture)
      const mixed = { category: { id: categoryId }, subcategory: { name: 'S' } }
      const wrong = { category: { id: categoryId, name: 'D' }, subcategory: { id: subcategoryId } }
      await registry.evidences.create(scope, { ...mixed, externalId: 'x', name: 'x' })
      await assert.rejects(
        registry.evidences.create(scope, { ...wrong, externalId: 'y', name: 'y' }),
        refused('CATEGORY_MISMATCH'),
      )
      const { evidence: stored } = await registry.evidences.get(scope, 'x')
      assert.equal(stored.subcategoryId, subcategoryId)
    }))

  it('is forgotten with all others where there are too many, and found again', () =>
    withRegistry(async ({ registry, evidence, scope }) => {
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
    }))
})
