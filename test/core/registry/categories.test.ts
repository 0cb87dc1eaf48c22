import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fsck, type CategoryChange, type StagedFile } from '../../../core/index.ts'
import { withCode, withRegistry, type Fixture } from '../../support/registry-fixture.ts'

/** A category and a subcategory of it. */
async function tools({ registry: { categories }, scope }: Fixture) {
  const { id } = await categories.create(scope, { name: 'Tools' })
  const { id: sub } = await categories.createSubcategory(scope, id, { name: 'Drills' })
  return { id, sub }
}

describe('categories', () => {
  it('return what they were created with, and a path', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage } = fixture
      const image = await stage('png', 'tools.png', 'image/png')
      const { id } = await registry.categories.create(scope, { name: 'Tools', description: 'a\nb', image })
      const { id: sub } = await registry.categories.createSubcategory(scope, id, { name: 'Drills', description: '' })
      const file = {
        name: 'tools.png',
        id: image.id,
        mimeType: 'image/png',
        title: 'tools',
        eventVersion: 0,
      }
      const category = {
        id,
        path: '/Tools',
        name: 'Tools',
        status: 'active',
        files: [file],
        evidenceCount: 0,
        imageId: image.id,
        description: 'a\nb',
      }
      const subcategory = {
        id: sub,
        categoryId: id,
        path: '/Tools/Drills',
        name: 'Drills',
        status: 'active',
        files: [],
        evidenceCount: 0,
      }
      const expected = { ...category, subcategories: [subcategory] }
      assert.deepEqual(await registry.categories.get(scope, id), expected)
      assert.deepEqual(await registry.categories.list(scope), [expected])
      assert.deepEqual(await registry.categories.files(scope, { categoryId: id, subcategoryId: sub }), {
        category: [file],
        subcategory: [],
      })
    }))

  it('list their files, and count evidences in categories and in subcategories', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, evidence } = fixture
      const { id, sub } = await tools(fixture)
      const [own, subs, subs2] = [await stage('1', '1.png'), await stage('2', '2.png'), await stage('3', '3.png')]
      const other = await registry.categories.createSubcategory(scope, id, { name: 'Saws', image: subs2 })
      await registry.categories.update(scope, id, { image: own })
      await registry.categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, { image: subs })
      await evidence({ externalId: 'a' })
      await evidence({ externalId: 'b', files: [await stage('of the evidence')] })
      await evidence({ externalId: 'c', subcategory: { name: 'Saws' } })
      const details = await registry.categories.get(scope, id)
      assert.deepEqual(
        details.files.map((file) => file.id),
        [own.id],
      )
      assert.deepEqual(
        details.subcategories.flatMap(({ files }) => files.map((file) => file.id)).sort(),
        [subs.id, subs2.id].sort(),
      )
      assert.equal(details.evidenceCount, 3)
      const [listed] = await registry.categories.list(scope)
      const counts = new Map(listed?.subcategories.map((each) => [each.id, each.evidenceCount]))
      assert.deepEqual(
        counts,
        new Map([
          [sub, 2],
          [other.id, 1],
        ]),
      )
      const listing = await registry.categories.files(scope, { categoryId: id, subcategoryId: sub })
      assert.deepEqual([listing.category[0]?.id, listing.subcategory[0]?.id], [own.id, subs.id])
    }))

  it('have names that are unique among siblings only', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
        system,
      } = fixture
      const { id, sub } = await tools(fixture)
      const { id: other } = await categories.create(scope, { name: 'Drills' })
      await categories.createSubcategory(scope, other, { name: 'Drills' })
      await assert.rejects(categories.create(scope, { name: 'Tools' }), withCode('NAME_EXISTS'))
      await assert.rejects(categories.createSubcategory(scope, id, { name: 'Drills' }), withCode('NAME_EXISTS'))
      await assert.rejects(categories.update(scope, other, { name: 'Tools' }), withCode('NAME_EXISTS'))
      const { id: saws } = await categories.createSubcategory(scope, id, { name: 'Saws' })
      await assert.rejects(
        categories.updateSubcategory(scope, { categoryId: id, subcategoryId: saws }, { name: 'Drills' }),
        withCode('NAME_EXISTS'),
      )
      const { scope: foreign } = await system('I', 'other')
      await categories.create(foreign, { name: 'Tools' })
      // Its own name does not conflict.
      await categories.updateSubcategory(
        scope,
        { categoryId: id, subcategoryId: sub },
        { name: 'Drills', description: 'new' },
      )
    }))

  it('can have names of the maximum length', () =>
    withRegistry(async ({ registry: { categories }, scope, evidence }) => {
      const name = '😀'.repeat(256)
      const { id } = await categories.create(scope, { name })
      await categories.createSubcategory(scope, id, { name })
      await evidence({ externalId: 'é'.repeat(128), category: { name: name }, subcategory: { name: name } })
      assert.equal((await categories.get(scope, id)).evidenceCount, 1)
      await assert.rejects(categories.create(scope, { name }), withCode('NAME_EXISTS'))
    }))

  it('can be renamed, which frees the old name', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
      } = fixture
      const { id, sub } = await tools(fixture)
      await categories.update(scope, id, { name: 'Machines', description: 'd' })
      await categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, { name: 'Borers' })
      const [listed] = await categories.list(scope)
      assert.deepEqual(
        [listed?.path, listed?.description, listed?.subcategories[0]?.path],
        ['/Machines', 'd', '/Machines/Borers'],
      )
      await categories.create(scope, { name: 'Tools' })
      await categories.createSubcategory(scope, id, { name: 'Drills' })
      await categories.update(scope, id, { description: '' })
      assert.equal((await categories.get(scope, id)).description, 'd')
      const both = { description: 'e', clear: ['description'] } as const
      await assert.rejects(categories.update(scope, id, both), withCode('VALIDATION_ERROR'))
      await categories.update(scope, id, { clear: ['description'] })
      assert.equal('description' in (await categories.get(scope, id)), false)
    }))

  it('are not found by another company', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        system,
      } = fixture
      const { id, sub } = await tools(fixture)
      const { scope: foreign } = await system('U', 'other')
      const { id: own } = await categories.create(foreign, { name: 'Own' })
      const rejected: readonly [Promise<unknown>, string][] = [
        [categories.get(foreign, id), 'CATEGORY_NOT_FOUND'],
        [categories.update(foreign, id, { name: 'x' }), 'CATEGORY_NOT_FOUND'],
        [categories.createSubcategory(foreign, id, { name: 'x' }), 'CATEGORY_NOT_FOUND'],
        [categories.updateSubcategory(foreign, { categoryId: id, subcategoryId: sub }, {}), 'CATEGORY_NOT_FOUND'],
        [categories.updateSubcategory(foreign, { categoryId: own, subcategoryId: sub }, {}), 'SUBCATEGORY_NOT_FOUND'],
        [categories.files(foreign, { categoryId: own, subcategoryId: sub }), 'SUBCATEGORY_NOT_FOUND'],
        [categories.get(foreign, 'no-id'), 'CATEGORY_NOT_FOUND'],
        [categories.get(foreign, 'x'.repeat(10_000)), 'CATEGORY_NOT_FOUND'],
      ]
      for (const [request, code] of rejected) await assert.rejects(request, withCode(code))
      assert.equal((await categories.list(foreign)).length, 1)
    }))

  it('contain their own subcategories only', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
      } = fixture
      const { sub } = await tools(fixture)
      const { id: other } = await categories.create(scope, { name: 'Other' })
      await assert.rejects(
        categories.updateSubcategory(scope, { categoryId: other, subcategoryId: sub }, {}),
        withCode('SUBCATEGORY_NOT_FOUND'),
      )
      await assert.rejects(
        categories.files(scope, { categoryId: other, subcategoryId: sub }),
        withCode('SUBCATEGORY_NOT_FOUND'),
      )
    }))
})

describe('inactive categories', () => {
  it('accept no new evidence until they are active again, and neither do their subcategories', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories, evidences },
        scope,
        evidence,
      } = fixture
      const { id, sub } = await tools(fixture)
      const input = { externalId: 'b', name: 'b' }
      await evidence({ externalId: 'before' })
      for (const change of [
        (status: 'active' | 'inactive') => categories.update(scope, id, { status }),
        (status: 'active' | 'inactive') =>
          categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, { status }),
      ]) {
        await change('inactive')
        await assert.rejects(evidence(input), withCode('CATEGORY_INACTIVE'))
        await assert.rejects(
          evidences.createMany(scope, { categoryId: id, subcategoryId: sub, evidences: [input] }),
          withCode('CATEGORY_INACTIVE'),
        )
        // Existing evidences can still be updated.
        await evidences.update(scope, 'before', { updateType: 'custom' })
        await change('active')
      }
      await categories.update(scope, id, { status: 'inactive' })
      await assert.rejects(evidence({ ...input, subcategory: { name: 'New' } }), withCode('CATEGORY_INACTIVE'))
      assert.equal((await categories.get(scope, id)).status, 'inactive')
      const [listed] = await categories.list(scope)
      assert.deepEqual([listed?.status, listed?.subcategories.map(({ status }) => status)], ['inactive', ['active']])
      await categories.update(scope, id, { status: 'active', name: 'Renamed with it' })
      await evidence({ ...input, category: { name: 'Renamed with it' } })
    }))

  it('create no subcategory when they reject an evidence', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
        evidence,
      } = fixture
      const { id } = await tools(fixture)
      await categories.update(scope, id, { status: 'inactive' })
      await assert.rejects(evidence({ subcategory: { name: 'New' } }), withCode('CATEGORY_INACTIVE'))
      assert.equal((await categories.list(scope))[0]?.subcategories.length, 1)
    }))
})

describe('removed categories', () => {
  it('must be empty', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
        evidence,
      } = fixture
      const { id, sub } = await tools(fixture)
      const remove = () => categories.remove(scope, id)
      const removeSub = () => categories.removeSubcategory(scope, { categoryId: id, subcategoryId: sub })
      await assert.rejects(remove(), withCode('CATEGORY_NOT_EMPTY'))
      await evidence()
      await assert.rejects(removeSub(), withCode('CATEGORY_NOT_EMPTY'))
      await assert.rejects(remove(), withCode('CATEGORY_NOT_EMPTY'))
    }))

  it('are not found or listed, their image is destroyed, and their name is free', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, stores, evidence } = fixture
      const { categories, files } = registry
      const { id, sub } = await tools(fixture)
      const [image, subImage] = [await stage('1'), await stage('2')]
      await categories.update(scope, id, { image })
      await categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, { image: subImage })
      await categories.removeSubcategory(scope, { categoryId: id, subcategoryId: sub })
      await assert.rejects(
        categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, {}),
        withCode('SUBCATEGORY_NOT_FOUND'),
      )
      assert.deepEqual((await categories.list(scope))[0]?.subcategories, [])
      await categories.remove(scope, id)
      for (const request of [categories.get(scope, id), categories.update(scope, id, { status: 'active' })])
        await assert.rejects(request, withCode('CATEGORY_NOT_FOUND'))
      assert.deepEqual(await categories.list(scope), [])
      for (const fileId of [image.id, subImage.id])
        await assert.rejects(files.find(scope, { fileId }), withCode('FILE_NOT_FOUND'))
      assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [], stored: [] })
      await evidence()
      assert.notEqual((await categories.list(scope))[0]?.id, id)
    }))

  it('cannot be removed by an update', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
        stage,
        registry,
      } = fixture
      const { id } = await categories.create(scope, { name: 'Tools' })
      const file = await stage()
      for (const change of [{ name: 'x' }, { description: 'x' }, { image: file }])
        await assert.rejects(
          categories.update(scope, id, { ...change, status: 'removed' as 'active' }),
          withCode('VALIDATION_ERROR'),
        )
      await registry.files.discard([file])
    }))

  it('race with creates in them: exactly one succeeds', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories, evidences },
        scope,
      } = fixture
      for (let i = 0; i < 8; i++) {
        const { id } = await categories.create(scope, { name: `C${i}` })
        const { id: sub } = await categories.createSubcategory(scope, id, { name: 'S' })
        const create = () =>
          evidences.createMany(scope, {
            categoryId: id,
            subcategoryId: sub,
            evidences: [{ externalId: `x${i}`, name: 'x' }],
          })
        const remove = () => categories.removeSubcategory(scope, { categoryId: id, subcategoryId: sub })
        const [one, other] = await Promise.allSettled(i % 2 === 0 ? [create(), remove()] : [remove(), create()])
        assert.notEqual(one.status, other.status)
        const addSub = () => categories.createSubcategory(scope, id, { name: 'T' })
        const results = await Promise.allSettled([addSub(), categories.remove(scope, id)])
        assert.ok(results.some(({ status }) => status === 'rejected'))
      }
    }))

  it('never contain an evidence that is created by name at the same time', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories, evidences },
        scope,
        evidence,
      } = fixture
      for (let i = 0; i < 8; i++) {
        const { id } = await categories.create(scope, { name: 'Tools' })
        const externalId = `x${i}`
        const [, removed] = await Promise.allSettled([evidence({ externalId }), categories.remove(scope, id)])
        // The create by name finds the category or creates another one, so its category always exists.
        const { evidence: stored } = await evidences.get(scope, externalId)
        assert.equal((await categories.get(scope, stored.categoryId)).evidenceCount, 1)
        assert.equal(stored.categoryId === id, removed.status === 'rejected')
        await categories.update(scope, stored.categoryId, { name: `used ${i}` })
      }
    }))
})

describe('category images', () => {
  it('replace each other, and the earlier one stays a file', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, stores } = fixture
      const { id, sub } = await tools(fixture)
      const { categories, files } = registry
      for (const update of [
        (change: CategoryChange) => categories.update(scope, id, change),
        (change: CategoryChange) => categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, change),
      ]) {
        assert.deepEqual(await update({}), {}, 'no imageId without an image')
        const [first, second] = [await stage('first'), await stage('second')]
        assert.deepEqual(await update({ image: first }), { imageId: first.id })
        assert.deepEqual(await update({}), { imageId: first.id }, 'also if the update changed no image')
        assert.deepEqual(await update({ image: second }), { imageId: second.id })
        assert.deepEqual(await update({ files: [await stage('text')] }), { imageId: second.id })
        for (const { id: fileId } of [first, second]) assert.equal((await files.find(scope, { fileId })).id, fileId)
        await files.delete(scope, { fileId: first.id })
        assert.deepEqual(await update({}), { imageId: second.id })
      }
      const category = await categories.get(scope, id)
      assert.deepEqual([category.files.length, category.subcategories[0]?.files.length], [2, 2])
      const differences: unknown[] = []
      await registry.sealNow()
      await fsck({ records: stores.records }, { onDifference: (difference) => differences.push(difference) })
      assert.deepEqual(differences, [])
      const { intents, pendingDeletions, files: used, stored } = await stores.blobState()
      assert.deepEqual([intents, pendingDeletions, used], [0, 0, stored])
    }))

  it('count among at most 1,000 files, which go with the category', () =>
    withRegistry(async (fixture) => {
      const { registry: { categories }, scope, stage, stores } = fixture // prettier-ignore
      const { id } = await categories.create(scope, { name: 'Full' })
      const staged: StagedFile[] = []
      for (let i = 0; i < 1_001; i++) staged.push(await stage('x'))
      await categories.update(scope, id, { files: staged.slice(0, 999) })
      const [last, extra] = staged.slice(999)
      assert.ok(last && extra)
      await assert.rejects(categories.update(scope, id, { files: [last, extra] }), withCode('TOO_MANY_FILES'))
      await categories.update(scope, id, { image: last })
      await assert.rejects(categories.update(scope, id, { files: [extra] }), withCode('TOO_MANY_FILES'))
      await fixture.registry.files.discard([extra])
      await categories.remove(scope, id)
      assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [], stored: [] })
    }))

  it('are deleted like files, without an event', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, stores } = fixture
      const { id, sub } = await tools(fixture)
      const [image, subImage] = [await stage('1'), await stage('2')]
      await registry.categories.update(scope, id, { image })
      await registry.categories.updateSubcategory(scope, { categoryId: id, subcategoryId: sub }, { image: subImage })
      const logSize = await stores.records.logSize()
      await registry.files.delete(scope, { fileId: image.id, categoryId: id })
      await registry.files.delete(scope, { fileId: subImage.id, categoryId: id, subcategoryId: sub })
      assert.equal(await stores.records.logSize(), logSize)
      const details = await registry.categories.get(scope, id)
      assert.deepEqual([details.files, 'imageId' in details, details.subcategories[0]?.files], [[], false, []])
      assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [], stored: [] })
    }))

  it('are replaced one after the other by updates that race', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage } = fixture
      const { id } = await tools(fixture)
      const images = await Promise.all(['1', '2', '3', '4', '5'].map((content) => stage(content)))
      await Promise.all(images.map((image) => registry.categories.update(scope, id, { image })))
      const { imageId, files } = await registry.categories.get(scope, id)
      assert.deepEqual(files.map((file) => file.id).sort(), images.map((image) => image.id).sort())
      assert.ok(images.some((image) => image.id === imageId))
    }))
})

describe('races on category names', () => {
  it('let exactly one of several requests succeed', () =>
    withRegistry(async ({ registry: { categories }, scope }) => {
      const made = await Promise.allSettled([1, 2, 3, 4, 5].map(() => categories.create(scope, { name: 'Same' })))
      assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal((await categories.list(scope)).length, 1)
      const { id: a } = await categories.create(scope, { name: 'A' })
      const { id: b } = await categories.create(scope, { name: 'B' })
      const renamed = await Promise.allSettled([a, b].map((id) => categories.update(scope, id, { name: 'C' })))
      assert.equal(renamed.filter(({ status }) => status === 'fulfilled').length, 1)
    }))
})
