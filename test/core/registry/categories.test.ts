import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { CategoryChange, CategoryPath, ErrorCode, Scope, StagedFile } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { it, type Fixture, assertIntact } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

/** A category and a subcategory of it, and their paths. */
async function tools({ categories, scope }: Fixture) {
  const { id } = await categories.create(scope, { name: 'Tools' })
  const { id: sub } = await categories.create(scope, { name: 'Drills' }, { parent: id })
  const path = { categoryId: id }
  return { id, sub, path, subPath: { ...path, subcategoryId: sub } }
}

const idsOf = (files: readonly { readonly id: string }[] = []): readonly string[] => files.map(({ id }) => id)

describe('categories', () => {
  it('list their files, and count evidences in categories and in subcategories', async (fixture) => {
    const { categories, scope, stage, evidence } = fixture
    const { id, path, subPath } = await tools(fixture)
    const [own, ofDrills, ofSaws] = [await stage('1', '1.png'), await stage('2', '2.png'), await stage('3', '3.png')]
    await categories.create(scope, { name: 'Saws', image: ofSaws }, { parent: id })
    await categories.update(scope, path, { image: own })
    await categories.update(scope, subPath, { image: ofDrills })
    await evidence({ externalId: 'a' })
    await evidence({ externalId: 'b', files: [await stage('of the evidence')] })
    await evidence({ externalId: 'c', subcategory: { name: 'Saws' } })
    const details = await categories.get(scope, path)
    assert.deepEqual(await categories.list(scope), [details])
    assert.deepEqual([idsOf(details.files), details.evidenceCount], [[own.id], 3])
    const shown = details.subcategories.map(({ name, files, evidenceCount }) => [name, idsOf(files), evidenceCount])
    assert.deepEqual(shown, [
      ['Drills', [ofDrills.id], 2],
      ['Saws', [ofSaws.id], 1],
    ])
    const listing = await categories.files(scope, subPath)
    assert.deepEqual([idsOf(listing.category), idsOf(listing.subcategory)], [[own.id], [ofDrills.id]])
  })

  it('list the files of 16 at a time, however many there are, and notice a lost counter', async (fixture) => {
    const { categories, scope, stage, process } = fixture
    const { id, path } = await tools(fixture)
    for (let i = 0; i < 20; i++) await categories.create(scope, { name: `Empty ${i}` }, { parent: id })
    const saws = await categories.create(scope, { name: 'Saws', image: await stage('1', '1.png') }, { parent: id })
    const list = process.records.list.bind(process.records)
    let [open, most] = [0, 0]
    process.records.list = async function* (range) {
      most = Math.max(most, ++open)
      yield* list(range)
      open -= 1
    }
    assert.equal((await categories.get(scope, path)).subcategories.length, 22)
    assert.equal((await categories.list(scope))[0]?.subcategories.length, 22)
    assert.equal(most, 16)
    await process.records.commit({ writes: [{ key: keys.fileCount(scope.companyId, saws.id), value: null }] })
    await rejectsWith('CORRUPT', categories.get(scope, path))
  })

  it('have names that are unique among siblings only', async (fixture) => {
    const { categories, scope, system } = fixture
    const { id, subPath } = await tools(fixture)
    const { id: other } = await categories.create(scope, { name: 'Drills' })
    await categories.create(scope, { name: 'Drills' }, { parent: other })
    const { id: saws } = await categories.create(scope, { name: 'Saws' }, { parent: id })
    for (const taken of [
      () => categories.create(scope, { name: 'Tools' }),
      () => categories.create(scope, { name: 'Drills' }, { parent: id }),
      () => categories.update(scope, { categoryId: other }, { name: 'Tools' }),
      () => categories.update(scope, { categoryId: id, subcategoryId: saws }, { name: 'Drills' }),
    ])
      await rejectsWith('NAME_EXISTS', taken())
    const { scope: foreign } = await system('I', 'other')
    await categories.create(foreign, { name: 'Tools' })
    // Its own name does not conflict.
    await categories.update(scope, subPath, { name: 'Drills', description: 'new' })
  })

  it('have one name however its characters are composed, and keep what was sent', async (fixture) => {
    const { categories, evidences, scope } = fixture
    const [composed, decomposed] = ['M\u00f6bel', ' Mo\u0308bel']
    const { id } = await categories.create(scope, { name: decomposed })
    await rejectsWith('NAME_EXISTS', categories.create(scope, { name: composed }))
    await categories.update(scope, { categoryId: id }, { name: composed })
    assert.equal((await categories.get(scope, { categoryId: id })).name, composed)
    const category = { id, name: decomposed }
    await evidences.create(scope, { externalId: 'a', name: 'n', category, subcategory: { name: composed } })
    await evidences.create(scope, {
      externalId: 'b',
      name: 'n',
      category: { name: decomposed },
      subcategory: { name: decomposed },
    })
    assert.equal((await categories.list(scope)).length, 1)
  })

  it('can have names of the maximum length', async ({ categories, scope, evidence }) => {
    const name = '😀'.repeat(256)
    const { id } = await categories.create(scope, { name })
    await categories.create(scope, { name }, { parent: id })
    await evidence({ externalId: 'é'.repeat(128), category: { name }, subcategory: { name } })
    assert.equal((await categories.get(scope, { categoryId: id })).evidenceCount, 1)
    await rejectsWith('NAME_EXISTS', categories.create(scope, { name }))
  })

  it('can be renamed, which frees the old name', async (fixture) => {
    const { categories, scope } = fixture
    const { id, path, subPath } = await tools(fixture)
    await categories.update(scope, path, { name: 'Machines', description: 'd' })
    await categories.update(scope, subPath, { name: 'Borers' })
    const [listed] = await categories.list(scope)
    const paths = ['/Machines', 'd', '/Machines/Borers']
    assert.deepEqual([listed?.path, listed?.description, listed?.subcategories[0]?.path], paths)
    await categories.create(scope, { name: 'Tools' })
    await categories.create(scope, { name: 'Drills' }, { parent: id })
    await categories.update(scope, path, { description: '' })
    assert.equal((await categories.get(scope, path)).description, 'd')
    const both = { description: 'e', clear: ['description'] } as const
    await rejectsWith('VALIDATION_ERROR', categories.update(scope, path, both))
    await categories.update(scope, path, { clear: ['description'] })
    assert.equal('description' in (await categories.get(scope, path)), false)
  })

  it('are not found by another company, in another category, or at the other level', async (fixture) => {
    const { categories, scope, system } = fixture
    const { id, sub, path, subPath } = await tools(fixture)
    const { scope: foreign } = await system('U', 'other')
    const { id: own } = await categories.create(foreign, { name: 'Own' })
    const { id: other } = await categories.create(scope, { name: 'Other' })
    const cases: readonly [Scope, CategoryPath, ErrorCode][] = [
      [foreign, path, 'CATEGORY_NOT_FOUND'],
      [foreign, subPath, 'CATEGORY_NOT_FOUND'],
      [foreign, { categoryId: own, subcategoryId: sub }, 'SUBCATEGORY_NOT_FOUND'],
      [foreign, { categoryId: 'no-id' }, 'CATEGORY_NOT_FOUND'],
      [foreign, { categoryId: 'x'.repeat(10_000) }, 'CATEGORY_NOT_FOUND'],
      [scope, { categoryId: sub }, 'CATEGORY_NOT_FOUND'],
      [scope, { categoryId: sub, subcategoryId: sub }, 'CATEGORY_NOT_FOUND'],
      [scope, { categoryId: id, subcategoryId: other }, 'SUBCATEGORY_NOT_FOUND'],
      [scope, { categoryId: other, subcategoryId: sub }, 'SUBCATEGORY_NOT_FOUND'],
    ]
    for (const [at, named, code] of cases) {
      await rejectsWith(code, categories.get(at, named))
      await rejectsWith(code, categories.update(at, named, { name: 'x' }))
      await rejectsWith(code, categories.remove(at, named))
      const { categoryId, subcategoryId } = named
      if (subcategoryId !== undefined) await rejectsWith(code, categories.files(at, { categoryId, subcategoryId }))
      else await rejectsWith(code, categories.create(at, { name: 'x' }, { parent: categoryId }))
    }
    assert.equal((await categories.list(foreign)).length, 1)
  })
})

describe('inactive categories', () => {
  it('accept no new evidence until they are active again, and neither do their subcategories', async (fixture) => {
    const { categories, evidences, scope, evidence } = fixture
    const { path, subPath } = await tools(fixture)
    const input = { externalId: 'b', name: 'b' }
    await evidence({ externalId: 'before' })
    for (const at of [path, subPath]) {
      await categories.update(scope, at, { status: 'inactive' })
      await rejectsWith('CATEGORY_INACTIVE', evidence(input))
      const many = evidences.createMany(scope, { ...subPath, evidences: [input] })
      await rejectsWith('CATEGORY_INACTIVE', many)
      // Existing evidences can still be updated.
      await evidences.update(scope, 'before', { updateType: 'custom' })
      await categories.update(scope, at, { status: 'active' })
    }
    await categories.update(scope, path, { status: 'inactive' })
    await rejectsWith('CATEGORY_INACTIVE', evidence({ ...input, subcategory: { name: 'New' } }))
    const { status, subcategories } = await categories.get(scope, path)
    assert.deepEqual([status, subcategories.map((each) => each.status)], ['inactive', ['active']])
    await categories.update(scope, path, { status: 'active', name: 'Renamed with it' })
    await evidence({ ...input, category: { name: 'Renamed with it' } })
  })
})

describe('removed categories', () => {
  it('must be empty', async (fixture) => {
    const { categories, scope, evidence } = fixture
    const { path, subPath } = await tools(fixture)
    await rejectsWith('CATEGORY_NOT_EMPTY', categories.remove(scope, path))
    await evidence()
    for (const at of [path, subPath]) await rejectsWith('CATEGORY_NOT_EMPTY', categories.remove(scope, at))
  })

  it('are not found or listed, their image is destroyed, and their name is free', async (fixture) => {
    const { categories, files, scope, stage, stores, evidence } = fixture
    const { id, path, subPath } = await tools(fixture)
    const images = [await stage('1'), await stage('2')] as const
    await categories.update(scope, path, { image: images[0] })
    await categories.update(scope, subPath, { image: images[1] })
    await categories.remove(scope, subPath)
    await rejectsWith('SUBCATEGORY_NOT_FOUND', categories.get(scope, subPath))
    assert.deepEqual((await categories.list(scope))[0]?.subcategories, [])
    await categories.remove(scope, path)
    await rejectsWith('CATEGORY_NOT_FOUND', categories.get(scope, path))
    assert.deepEqual(await categories.list(scope), [])
    for (const fileId of idsOf(images)) await rejectsWith('FILE_NOT_FOUND', files.find(scope, { fileId }))
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [], stored: [] })
    await evidence()
    assert.notEqual((await categories.list(scope))[0]?.id, id)
  })
})

describe('category images', () => {
  it('replace each other, and the earlier one stays a file', async (fixture) => {
    const { registry, scope, stage, stores } = fixture
    const { path, subPath } = await tools(fixture)
    const { categories, files } = registry
    for (const at of [path, subPath]) {
      const update = (change: CategoryChange) => categories.update(scope, at, change)
      assert.deepEqual(await update({}), {}, 'no imageId without an image')
      const [first, second] = [await stage('1', '1.png', 'image/png'), await stage('2', '2.png', 'image/png')]
      assert.deepEqual(await update({ image: first }), { imageId: first.id })
      assert.deepEqual(await update({}), { imageId: first.id }, 'also if the update changed no image')
      assert.deepEqual(await update({ image: second }), { imageId: second.id })
      assert.deepEqual(await update({ image: await stage('text') }), { imageId: second.id }, 'a text is a file')
      for (const { id: fileId } of [first, second]) assert.equal((await files.find(scope, { fileId })).id, fileId)
      await files.delete(scope, { fileId: first.id })
      assert.deepEqual(await update({}), { imageId: second.id })
    }
    const category = await categories.get(scope, path)
    assert.deepEqual([category.files.length, category.subcategories[0]?.files.length], [2, 2])
    const { id: categoryId } = await categories.create(scope, { name: 'Saws', image: await stage('text') })
    const created = await categories.get(scope, { categoryId })
    assert.deepEqual([created.files.length, created.imageId], [1, undefined], 'also of a new category')
    await registry.sealNow()
    await assertIntact(fixture)
    const { intents, pendingDeletions, files: used, stored } = await stores.blobState()
    assert.deepEqual([intents, pendingDeletions, used], [0, 0, stored])
  })

  it('count among at most 1,000 files, which go with the category', async (fixture) => {
    const { categories, scope, stage, stores } = fixture
    const path = { categoryId: (await categories.create(scope, { name: 'Full' })).id }
    const staged: StagedFile[] = []
    for (let i = 0; i < 1_001; i++) staged.push(await stage('x'))
    await categories.update(scope, path, { files: staged.slice(0, 999) })
    const [last, extra] = staged.slice(999)
    assert.ok(last && extra)
    await rejectsWith('TOO_MANY_FILES', categories.update(scope, path, { files: [last, extra] }))
    await categories.update(scope, path, { image: last })
    await rejectsWith('TOO_MANY_FILES', categories.update(scope, path, { files: [extra] }))
    await fixture.registry.files.discard([extra])
    await categories.remove(scope, path)
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [], stored: [] })
  })

  it('are deleted like files, without an event', async (fixture) => {
    const { registry, scope, stage, stores } = fixture
    const { path, subPath } = await tools(fixture)
    const logSize = await stores.records.logSize()
    for (const at of [path, subPath]) {
      const image = await stage('image', 'a.png', 'image/png')
      await registry.categories.update(scope, at, { image })
      await registry.files.delete(scope, { fileId: image.id, ...at })
      const details = await registry.categories.get(scope, at)
      assert.deepEqual([details.files, 'imageId' in details], [[], false])
    }
    assert.equal(await stores.records.logSize(), logSize)
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [], stored: [] })
  })

  it('are replaced one after the other by updates that race', async (fixture) => {
    const { registry, scope, stage } = fixture
    const { path } = await tools(fixture)
    const images = await Promise.all(['1', '2', '3'].map((content) => stage(content, 'a.png', 'image/png')))
    await Promise.all(images.map((image) => registry.categories.update(scope, path, { image })))
    const { imageId, files } = await registry.categories.get(scope, path)
    assert.deepEqual(idsOf(files).toSorted(), idsOf(images).toSorted())
    assert.ok(images.some(({ id }) => id === imageId))
  })
})
