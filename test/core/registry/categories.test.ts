import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { refused, withRegistry, type Fixture } from '../../support/registry-fixture.ts'

/** A category and a subcategory of it. */
async function tools({ registry: { categories }, scope }: Fixture) {
  const { id } = await categories.create(scope, { name: 'Tools' })
  const { id: sub } = await categories.createSubcategory(scope, id, { name: 'Drills' })
  return { id, sub }
}

describe('categories', () => {
  it('have what they were made with, and a path', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage } = fixture
      const image = await stage('png', 'tools.png', 'image/png')
      const { id } = await registry.categories.create(scope, { name: 'Tools', description: 'a\nb' }, image)
      const { id: sub } = await registry.categories.createSubcategory(scope, id, { name: 'Drills', description: '' })
      const file = {
        name: 'tools.png',
        overlayId: image.id,
        mimeType: 'image/png',
        title: 'tools',
        iconId: image.id,
        eventId: 0,
      }
      const category = {
        path: '/Tools',
        name: 'Tools',
        status: 'active',
        fileIds: [file],
        digitalTwinsCount: 0,
        imageId: image.id,
        description: 'a\nb',
      }
      const subcategory = { path: '/Tools/Drills', name: 'Drills', status: 'active', fileIds: [], digitalTwinsCount: 0 }
      assert.deepEqual(await registry.categories.get(scope, id), category)
      assert.deepEqual(await registry.categories.list(scope), {
        categories: [{ id, ...category, subcategories: [{ id: sub, ...subcategory }] }],
        count: 1,
      })
      assert.deepEqual(await registry.categories.subcategoryFiles(scope, id, sub), {
        dt: [],
        category: [file],
        subcategory: [],
      })
    }))

  it('hold their own and their subcategories’ files, and count evidences at both levels', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, evidence } = fixture
      const { id, sub } = await tools(fixture)
      const [own, subs, subs2] = [await stage('1', '1.png'), await stage('2', '2.png'), await stage('3', '3.png')]
      const other = await registry.categories.createSubcategory(scope, id, { name: 'Saws' }, subs2)
      await registry.categories.update(scope, id, {}, own)
      await registry.categories.updateSubcategory(scope, id, sub, {}, subs)
      await evidence({ externalId: 'a' })
      await evidence({ externalId: 'b' }, { files: [await stage('of the evidence')] })
      await evidence({ externalId: 'c', subcategoryName: 'Saws' })
      const details = await registry.categories.get(scope, id)
      assert.deepEqual(details.fileIds.map(({ overlayId }) => overlayId).sort(), [own.id, subs.id, subs2.id].sort())
      assert.equal(details.digitalTwinsCount, 3)
      const [listed] = (await registry.categories.list(scope)).categories
      const counts = new Map(listed?.subcategories.map((each) => [each.id, each.digitalTwinsCount]))
      assert.deepEqual(
        counts,
        new Map([
          [sub, 2],
          [other.id, 1],
        ]),
      )
      const listing = await registry.categories.subcategoryFiles(scope, id, sub)
      assert.deepEqual(
        [listing.dt, listing.category[0]?.overlayId, listing.subcategory[0]?.overlayId],
        [[], own.id, subs.id],
      )
    }))

  it('have names that are unique among siblings, and only there', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
        system,
      } = fixture
      const { id, sub } = await tools(fixture)
      const { id: other } = await categories.create(scope, { name: 'Drills' })
      await categories.createSubcategory(scope, other, { name: 'Drills' })
      await assert.rejects(categories.create(scope, { name: 'Tools' }), refused('NAME_EXISTS'))
      await assert.rejects(categories.createSubcategory(scope, id, { name: 'Drills' }), refused('NAME_EXISTS'))
      await assert.rejects(categories.update(scope, other, { name: 'Tools' }), refused('NAME_EXISTS'))
      const { id: saws } = await categories.createSubcategory(scope, id, { name: 'Saws' })
      await assert.rejects(categories.updateSubcategory(scope, id, saws, { name: 'Drills' }), refused('NAME_EXISTS'))
      const { scope: foreign } = await system('I', 'other')
      await categories.create(foreign, { name: 'Tools' })
      // The own name is no clash.
      await categories.updateSubcategory(scope, id, sub, { name: 'Drills', description: 'new' })
    }))

  it('of the longest names are made and found', () =>
    withRegistry(async ({ registry: { categories }, scope, evidence }) => {
      const name = '😀'.repeat(256)
      const { id } = await categories.create(scope, { name })
      await categories.createSubcategory(scope, id, { name })
      await evidence({ externalId: 'é'.repeat(128), categoryName: name, subcategoryName: name })
      assert.equal((await categories.get(scope, id)).digitalTwinsCount, 1)
      await assert.rejects(categories.create(scope, { name }), refused('NAME_EXISTS'))
    }))

  it('take new names, and free the old ones', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
      } = fixture
      const { id, sub } = await tools(fixture)
      await categories.update(scope, id, { name: 'Machines', description: 'd' })
      await categories.updateSubcategory(scope, id, sub, { name: 'Borers' })
      const [listed] = (await categories.list(scope)).categories
      assert.deepEqual(
        [listed?.path, listed?.description, listed?.subcategories[0]?.path],
        ['/Machines', 'd', '/Machines/Borers'],
      )
      await categories.create(scope, { name: 'Tools' })
      await categories.createSubcategory(scope, id, { name: 'Drills' })
      await categories.update(scope, id, { description: '' })
      assert.equal('description' in (await categories.get(scope, id)), false)
    }))

  it('are the company’s own: another’s are not found', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        system,
      } = fixture
      const { id, sub } = await tools(fixture)
      const { scope: foreign } = await system('U', 'other')
      const { id: own } = await categories.create(foreign, { name: 'Own' })
      const gone: readonly [Promise<unknown>, string][] = [
        [categories.get(foreign, id), 'CATEGORY_NOT_FOUND'],
        [categories.update(foreign, id, { name: 'x' }), 'CATEGORY_NOT_FOUND'],
        [categories.createSubcategory(foreign, id, { name: 'x' }), 'CATEGORY_NOT_FOUND'],
        [categories.updateSubcategory(foreign, id, sub, {}), 'CATEGORY_NOT_FOUND'],
        [categories.updateSubcategory(foreign, own, sub, {}), 'SUBCATEGORY_NOT_FOUND'],
        [categories.subcategoryFiles(foreign, own, sub), 'SUBCATEGORY_NOT_FOUND'],
        [categories.get(foreign, 'no-id'), 'CATEGORY_NOT_FOUND'],
        [categories.get(foreign, 'x'.repeat(10_000)), 'CATEGORY_NOT_FOUND'],
      ]
      for (const [asked, code] of gone) await assert.rejects(asked, refused(code))
      assert.equal((await categories.list(foreign)).count, 1)
    }))

  it('find a subcategory only under its own category', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
      } = fixture
      const { sub } = await tools(fixture)
      const { id: other } = await categories.create(scope, { name: 'Other' })
      await assert.rejects(categories.updateSubcategory(scope, other, sub, {}), refused('SUBCATEGORY_NOT_FOUND'))
      await assert.rejects(categories.subcategoryFiles(scope, other, sub), refused('SUBCATEGORY_NOT_FOUND'))
    }))
})

describe('inactive categories', () => {
  it('take no new evidence, neither do those below them, until they are active again', () =>
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
        (action: 'ACTIVATE' | 'DEACTIVATE') => categories.update(scope, id, { action }),
        (action: 'ACTIVATE' | 'DEACTIVATE') => categories.updateSubcategory(scope, id, sub, { action }),
      ]) {
        await change('DEACTIVATE')
        await assert.rejects(evidence(input), refused('CATEGORY_INACTIVE'))
        await assert.rejects(evidences.createIn(scope, id, sub, [input]), refused('CATEGORY_INACTIVE'))
        // What is there stays, and goes on.
        await evidences.update(scope, 'before', { actionType: 'custom' })
        await change('ACTIVATE')
      }
      await categories.update(scope, id, { action: 'DEACTIVATE' })
      await assert.rejects(evidence({ ...input, subcategoryName: 'New' }), refused('CATEGORY_INACTIVE'))
      assert.equal((await categories.get(scope, id)).status, 'inactive')
      const [listed] = (await categories.list(scope)).categories
      assert.deepEqual([listed?.status, listed?.subcategories.map(({ status }) => status)], ['inactive', ['active']])
      await categories.update(scope, id, { action: 'ACTIVATE', name: 'Renamed with it' })
      await evidence({ ...input, categoryName: 'Renamed with it' })
    }))

  it('leave no half-made subcategory when they refuse', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
        evidence,
      } = fixture
      const { id } = await tools(fixture)
      await categories.update(scope, id, { action: 'DEACTIVATE' })
      await assert.rejects(evidence({ subcategoryName: 'New' }), refused('CATEGORY_INACTIVE'))
      assert.equal((await categories.list(scope)).categories[0]?.subcategories.length, 1)
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
      const remove = () => categories.update(scope, id, { action: 'REMOVE' })
      const removeSub = () => categories.updateSubcategory(scope, id, sub, { action: 'REMOVE' })
      await assert.rejects(remove(), refused('CATEGORY_NOT_EMPTY'))
      await evidence()
      await assert.rejects(removeSub(), refused('CATEGORY_NOT_EMPTY'))
      await assert.rejects(remove(), refused('CATEGORY_NOT_EMPTY'))
    }))

  it('are not found any more, in no list, their image destroyed, and their name free', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, world, evidence } = fixture
      const { categories, files } = registry
      const { id, sub } = await tools(fixture)
      const [image, subImage] = [await stage('1'), await stage('2')]
      await categories.update(scope, id, {}, image)
      await categories.updateSubcategory(scope, id, sub, {}, subImage)
      assert.deepEqual(await categories.updateSubcategory(scope, id, sub, { action: 'REMOVE' }), {})
      await assert.rejects(categories.updateSubcategory(scope, id, sub, {}), refused('SUBCATEGORY_NOT_FOUND'))
      assert.deepEqual((await categories.list(scope)).categories[0]?.subcategories, [])
      await categories.update(scope, id, { action: 'REMOVE' })
      for (const gone of [categories.get(scope, id), categories.update(scope, id, { action: 'ACTIVATE' })])
        await assert.rejects(gone, refused('CATEGORY_NOT_FOUND'))
      assert.deepEqual(await categories.list(scope), { categories: [], count: 0 })
      for (const fileId of [image.id, subImage.id])
        await assert.rejects(files.find(scope, { fileId }), refused('FILE_NOT_FOUND'))
      assert.deepEqual(await world.blobState(), { intents: 0, dooms: 0, files: [], stored: [] })
      await evidence()
      assert.notEqual((await categories.list(scope)).categories[0]?.id, id)
    }))

  it('are removed by a request that changes nothing else', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories },
        scope,
        stage,
        registry,
      } = fixture
      const { id } = await categories.create(scope, { name: 'Tools' })
      const file = await stage()
      for (const [change, image] of [[{ name: 'x' }], [{ description: 'x' }], [{}, file]] as const)
        await assert.rejects(
          categories.update(scope, id, { ...change, action: 'REMOVE' }, image),
          refused('VALIDATION_ERROR'),
        )
      await registry.files.discard([file])
    }))

  it('win or lose against what would go into them, and never both', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories, evidences },
        scope,
      } = fixture
      for (let i = 0; i < 8; i++) {
        const { id } = await categories.create(scope, { name: `C${i}` })
        const { id: sub } = await categories.createSubcategory(scope, id, { name: 'S' })
        const create = () => evidences.createIn(scope, id, sub, [{ externalId: `x${i}`, name: 'x' }])
        const remove = () => categories.updateSubcategory(scope, id, sub, { action: 'REMOVE' })
        const [one, other] = await Promise.allSettled(i % 2 === 0 ? [create(), remove()] : [remove(), create()])
        assert.notEqual(one.status, other.status)
        const addSub = () => categories.createSubcategory(scope, id, { name: 'T' })
        const results = await Promise.allSettled([addSub(), categories.update(scope, id, { action: 'REMOVE' })])
        assert.ok(results.some(({ status }) => status === 'rejected'))
      }
    }))

  it('do not catch an evidence that names one of them while it goes', () =>
    withRegistry(async (fixture) => {
      const {
        registry: { categories, evidences },
        scope,
        evidence,
      } = fixture
      for (let i = 0; i < 8; i++) {
        const { id } = await categories.create(scope, { name: 'Tools' })
        const externalId = `x${i}`
        const [, removed] = await Promise.allSettled([
          evidence({ externalId }),
          categories.update(scope, id, { action: 'REMOVE' }),
        ])
        // By name, it finds the category or makes another: it always has one that exists.
        const { object } = await evidences.get(scope, externalId)
        assert.equal((await categories.get(scope, object.categoryId)).digitalTwinsCount, 1)
        assert.equal(object.categoryId === id, removed.status === 'rejected')
        await categories.update(scope, object.categoryId, { name: `used ${i}` })
      }
    }))
})

describe('category images', () => {
  it('replace each other: the old one leaves every list, its bytes destroyed', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, world } = fixture
      const { id, sub } = await tools(fixture)
      const { categories, files } = registry
      for (const change of [
        (image?: Awaited<ReturnType<typeof stage>>) => categories.update(scope, id, {}, image),
        (image?: Awaited<ReturnType<typeof stage>>) => categories.updateSubcategory(scope, id, sub, {}, image),
      ]) {
        assert.deepEqual(await change(), {}, 'no image, no imageId')
        const [first, second] = [await stage('first'), await stage('second')]
        assert.deepEqual(await change(first), { imageId: first.id })
        assert.deepEqual(await change(), { imageId: first.id }, 'also where this request changed none')
        assert.deepEqual(await change(second), { imageId: second.id })
        await assert.rejects(files.find(scope, { fileId: first.id }), refused('FILE_NOT_FOUND'))
        assert.equal(world.stored.has(first.id), false)
        assert.equal(world.stored.has(second.id), true)
      }
      const { fileIds } = await categories.get(scope, id)
      assert.equal(fileIds.length, 2)
      const { intents, dooms, files: used, stored } = await world.blobState()
      assert.deepEqual([intents, dooms, used], [0, 0, stored])
    }))

  it('are deleted like files, without an event', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, world } = fixture
      const { id, sub } = await tools(fixture)
      const [image, subImage] = [await stage('1'), await stage('2')]
      await registry.categories.update(scope, id, {}, image)
      await registry.categories.updateSubcategory(scope, id, sub, {}, subImage)
      const logSize = await world.records.logSize()
      await registry.files.delete(scope, { fileId: image.id, categoryId: id })
      await registry.files.delete(scope, { fileId: subImage.id, categoryId: id, subcategoryId: sub })
      assert.equal(await world.records.logSize(), logSize)
      const details = await registry.categories.get(scope, id)
      assert.deepEqual([details.fileIds, 'imageId' in details], [[], false])
      assert.deepEqual(await world.blobState(), { intents: 0, dooms: 0, files: [], stored: [] })
    }))

  it('are one, of those that race to replace it', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, world } = fixture
      const { id } = await tools(fixture)
      const images = await Promise.all(['1', '2', '3', '4', '5'].map((content) => stage(content)))
      await Promise.all(images.map((image) => registry.categories.update(scope, id, {}, image)))
      const { imageId, fileIds } = await registry.categories.get(scope, id)
      assert.deepEqual(
        fileIds.map(({ overlayId }) => overlayId),
        [imageId],
      )
      assert.deepEqual(await world.blobState(), { intents: 0, dooms: 0, files: [imageId], stored: [imageId] })
    }))
})

describe('races on category names', () => {
  it('have one winner', () =>
    withRegistry(async ({ registry: { categories }, scope }) => {
      const made = await Promise.allSettled([1, 2, 3, 4, 5].map(() => categories.create(scope, { name: 'Same' })))
      assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal((await categories.list(scope)).count, 1)
      const { id: a } = await categories.create(scope, { name: 'A' })
      const { id: b } = await categories.create(scope, { name: 'B' })
      const renamed = await Promise.allSettled([a, b].map((id) => categories.update(scope, id, { name: 'C' })))
      assert.equal(renamed.filter(({ status }) => status === 'fulfilled').length, 1)
    }))
})
