import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ErrorCode, SourceSystemChange, StagedFile } from '../../../core/index.ts'
import { assertIntact, inCategory, it, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

/**
 * Another operation commits between the reads and the commit of an operation. The result must be the same as if the
 * operation had started after the other one.
 */

interface Race extends Fixture {
  readonly category: string
  readonly empty: string
  readonly bare: string
  readonly file: StagedFile
  readonly icon: StagedFile
}

/**
 * An evidence e-1 in C/S with a file, an icon of C, an empty subcategory C/Empty, and a category Bare without
 * subcategories.
 */
async function openRace(fixture: Fixture): Promise<Race> {
  const { registry, scope, stage, evidence } = fixture
  const icon = await stage()
  const { id: category } = await registry.categories.create(scope, { name: 'C', image: icon })
  await registry.categories.create(scope, { name: 'S' }, { parent: category })
  const { id: empty } = await registry.categories.create(scope, { name: 'Empty' }, { parent: category })
  const { id: bare } = await registry.categories.create(scope, { name: 'Bare' })
  const file = await stage()
  await evidence({ ...inCategory('C', 'S'), files: [file] })
  return { ...fixture, category, empty, bare, file, icon }
}

type Act = (race: Race) => Promise<unknown>

const createHere: Act = ({ registry, scope, category, empty }) =>
  registry.evidences.createMany(scope, {
    categoryId: category,
    subcategoryId: empty,
    evidences: [{ externalId: 'new', name: 'new' }],
  })
const createByName =
  (category: string): Act =>
  ({ evidence }) =>
    evidence({ externalId: 'new', ...inCategory(category, 'Empty') })
const removeEmpty: Act = ({ registry, scope, category, empty }) =>
  registry.categories.remove(scope, { categoryId: category, subcategoryId: empty })
const removeBare: Act = ({ registry, scope, bare }) => registry.categories.remove(scope, { categoryId: bare })
const deactivate: Act = ({ registry, scope, category }) =>
  registry.categories.update(scope, { categoryId: category }, { status: 'inactive' })
const deactivateEmpty: Act = ({ registry, scope, category, empty }) =>
  registry.categories.update(scope, { categoryId: category, subcategoryId: empty }, { status: 'inactive' })
const deleteFile: Act = ({ registry, scope, file }) => registry.files.delete(scope, { fileId: file.id })
const update: Act = ({ registry, scope }) => registry.evidences.update(scope, 'e-1', { description: 'x' })
const updateFirst: Act = ({ registry, scope }) =>
  registry.evidences.update(scope, 'e-1', { summary: 'x' }, { ifVersion: 1 })
const createSubcategory: Act = ({ registry, scope, category }) =>
  registry.categories.create(scope, { name: 'N' }, { parent: category })
const createInBare: Act = ({ registry, scope, bare }) =>
  registry.categories.create(scope, { name: 'N' }, { parent: bare })
const rename: Act = ({ registry, scope, category }) =>
  registry.categories.update(scope, { categoryId: category }, { name: 'N' })
const changeFirst: Act = ({ registry, scope, category }) =>
  registry.categories.update(scope, { categoryId: category }, { description: 'x' }, { ifVersion: 1 })
const removeFirst: Act = ({ registry, scope, category, empty }) =>
  registry.categories.remove(scope, { categoryId: category, subcategoryId: empty }, { ifVersion: 1 })
const deleteFirst: Act = ({ registry, scope, file }) =>
  registry.files.delete(scope, { fileId: file.id }, { ifVersion: 1 })
const deleteIconFirst: Act = ({ registry, scope, icon }) =>
  registry.files.delete(scope, { fileId: icon.id }, { ifVersion: 1 })
const eraseName: Act = ({ registry, scope }) =>
  registry.evidences.erase(scope, 'e-1', { fields: ['name'], reason: 'request' })
const createCategory =
  (name: string, idempotencyKey?: string): Act =>
  ({ registry, scope }) =>
    registry.categories.create(scope, { name }, idempotencyKey === undefined ? {} : { idempotencyKey })
const API_KEY = 'a-key-for-only-one'
const createSystem =
  (name: string, apiKey: string): Act =>
  ({ registry, scope }) =>
    registry.sourceSystems.create(scope, { name, apiKey })
const changeSystem =
  (change: SourceSystemChange): Act =>
  async ({ registry, scope }) => {
    const [first] = await registry.sourceSystems.list(scope)
    return registry.sourceSystems.update(scope, first?.id as string, change)
  }

const cases: readonly [string, Act, string, Act, ErrorCode | undefined][] = [
  ['creating an evidence', createHere, 'its subcategory is removed', removeEmpty, 'SUBCATEGORY_NOT_FOUND'],
  ['creating an evidence', createHere, 'its subcategory becomes inactive', deactivateEmpty, 'CATEGORY_INACTIVE'],
  ['creating an evidence', createHere, 'its category becomes inactive', deactivate, 'CATEGORY_INACTIVE'],
  ['creating an evidence', createHere, 'its external id is used', createHere, 'EXTERNAL_ID_EXISTS'],
  ['creating one by names', createByName('C'), 'its subcategory is removed', removeEmpty, undefined],
  ['creating one by names', createByName('Bare'), 'its category is removed', removeBare, undefined],
  ['creating one by names', createByName('C'), 'its category becomes inactive', deactivate, 'CATEGORY_INACTIVE'],
  ['removing a subcategory', removeEmpty, 'it gets an evidence', createHere, 'CATEGORY_NOT_EMPTY'],
  ['removing a subcategory', removeEmpty, 'it is removed', removeEmpty, 'SUBCATEGORY_NOT_FOUND'],
  ['deleting a file', deleteFile, 'it is deleted', deleteFile, 'FILE_NOT_FOUND'],
  ['deleting a file', deleteFile, 'its evidence is updated', update, undefined],
  ['updating an evidence', update, 'a file of it is deleted', deleteFile, undefined],
  ['updating an evidence', update, 'it gets the same value', update, 'VALIDATION_ERROR'],
  ['updating with ifVersion', updateFirst, 'it is updated', update, 'VERSION_CONFLICT'],
  ['changing a category with ifVersion', changeFirst, 'it is changed', rename, 'VERSION_CONFLICT'],
  ['changing a category with ifVersion', changeFirst, 'it gets a subcategory', createSubcategory, undefined],
  ['removing a subcategory with ifVersion', removeFirst, 'it is changed', deactivateEmpty, 'VERSION_CONFLICT'],
  ['deleting a file with ifVersion', deleteFirst, 'its evidence is updated', update, 'VERSION_CONFLICT'],
  ['deleting a file', deleteFile, 'its evidence is erased in part', eraseName, undefined],
  ['deleting an icon with ifVersion', deleteIconFirst, 'its category is changed', rename, 'VERSION_CONFLICT'],
  ['creating a subcategory', createSubcategory, 'its name is taken', createSubcategory, 'NAME_EXISTS'],
  ['creating a subcategory', createInBare, 'its category is removed', removeBare, 'CATEGORY_NOT_FOUND'],
  ['removing a category', removeBare, 'it gets a subcategory', createInBare, 'CATEGORY_NOT_EMPTY'],
  ['creating a category', createCategory('N'), 'its name is taken', createCategory('N'), 'NAME_EXISTS'],
  ['renaming a category', rename, 'the name is taken', createCategory('N'), 'NAME_EXISTS'],
  ['using an idempotency key', createCategory('A', 'k'), 'it is used for something else', createCategory('B', 'k'),
    'IDEMPOTENCY_KEY_REUSED'],
  ['changing a source system', changeSystem({ name: 'N' }), 'its name is taken', createSystem('N', API_KEY), 'NAME_EXISTS'],
  ['changing the key of a source system', changeSystem({ apiKey: API_KEY }), 'the key is taken',
    createSystem('N', API_KEY), 'KEY_EXISTS'],
  ['creating a source system', createSystem('N', `${API_KEY}-2`), 'its name is taken', createSystem('N', API_KEY),
    'NAME_EXISTS'],
  ['creating a source system', createSystem('M', API_KEY), 'its key is taken', createSystem('N', API_KEY),
    'KEY_EXISTS'],
] // prettier-ignore

describe('between reading and committing', () => {
  for (const [operation, act, event, other, code] of cases)
    it(`${operation}, when ${event}, ${code === undefined ? 'succeeds' : `throws ${code}`}`, async (fixture) => {
      const race = await openRace(fixture)
      let interleavedCalls = 0
      fixture.process.interleave(async () => {
        await other(race)
        interleavedCalls++
      })
      if (code === undefined) await act(race)
      else await rejectsWith(code, act(race))
      assert.equal(interleavedCalls, 1)
      // In every case counts, lists and histories agree.
      await assertIntact(fixture)
      const { registry, scope } = fixture
      const categories = await registry.categories.list(scope)
      for (const { id, evidenceCount, subcategories } of categories) {
        assert.equal((await registry.evidences.list(scope, { categoryId: id })).items.length, evidenceCount)
        for (const sub of subcategories)
          assert.equal(
            (await registry.evidences.list(scope, { subcategoryId: sub.id })).items.length,
            sub.evidenceCount,
          )
      }
      for (const item of (await registry.evidences.list(scope)).items) {
        assert.ok(categories.some(({ subcategories }) => subcategories.some(({ id }) => id === item.subcategoryId)))
        const { events } = await registry.evidences.get(scope, item.externalId)
        assert.deepEqual(
          events.map(({ version }) => version),
          Array.from(
            { length: item.eventCounts.create + item.eventCounts.update + item.eventCounts.transfer },
            (_, i) => i + 1,
          ),
        )
      }
    })

  it('a category that is renamed while it is looked up by its old name is not used', async (fixture) => {
    const { registry, scope, process, category, evidence } = await openRace(fixture)
    const get = process.records.get.bind(process.records)
    process.records.get = async (keys) => {
      const found = await get(keys)
      if (!keys.some((key) => key.startsWith('cn/'))) return found
      process.records.get = get
      await registry.categories.update(scope, { categoryId: category }, { name: 'Renamed' })
      return found
    }
    // Not the category of the fixture's evidence, which is cached.
    await evidence({ externalId: 'new', ...inCategory('C', 'Empty') })
    const { evidence: stored } = await registry.evidences.get(scope, 'new')
    assert.notEqual(stored.categoryId, category)
    assert.equal((await registry.categories.get(scope, { categoryId: stored.categoryId })).name, 'C')
  })
})
