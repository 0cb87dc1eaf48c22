import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { timeOfId } from '../../../core/ids.ts'
import { CompanyRequests } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import { OPERATOR_KEY } from '../../support/service.ts'

const PNG = { mimeType: 'image/png', data: Buffer.from('not really a png').toString('base64') }
const NOTHING = '01890a5d-ac96-774b-bcce-b302099a8057'

const inCategory = (CATEGORY_ID: string) => ({ params: { CATEGORY_ID } })
const inSubcategory = (CATEGORY_ID: string, SUBCATEGORY_ID: string) => ({ params: { CATEGORY_ID, SUBCATEGORY_ID } })
const idsOf = (files: readonly { readonly overlayId: string }[]) => files.map(({ overlayId }) => overlayId)

describe('categories and subcategories', () => {
  const acme = new CompanyRequests()

  it('1, 2, 3, 5: are created, returned and listed with their evidences counted', async () => {
    const created = await acme.call('createCategory', { json: { name: 'Tools', description: 'Hand\nheld' } })
    assert.equal(created.status, 201)
    const { id } = created.body
    const json = { name: 'Hammers', description: 'heavy' }
    const { id: sub } = await acme.ok('createSubcategory', { ...inCategory(id), json })
    await acme.create('hammer-1', { categoryId: id, subcategoryId: sub, categoryName: '', subcategoryName: '' })
    const common = { status: 'active', fileIds: [], digitalTwinsCount: 1 }
    const category = { path: '/Tools', name: 'Tools', description: 'Hand\nheld', ...common }
    const subcategory = { path: '/Tools/Hammers', name: 'Hammers', description: 'heavy', ...common }
    assert.deepEqual(await acme.ok('getCategory', inCategory(id)), category)
    assert.deepEqual(await acme.ok('getSubcategory', inSubcategory(id, sub)), subcategory)
    const { categories, count } = await acme.ok('listCategories')
    assert.equal(count, categories.length)
    const listed = categories.find((each: { id: string }) => each.id === id)
    assert.deepEqual(listed, { id, ...category, subcategories: [{ id: sub, ...subcategory }] })
    const ofCategory = await acme.ok('listSubcategories', inCategory(id))
    assert.deepEqual(ofCategory, { subcategories: [{ id: sub, ...subcategory }], count: 1 })
    await acme.fails('listSubcategories', 404, 'CATEGORY_NOT_FOUND', inCategory(sub))
  })

  it('1: accepts an image in JSON and in a form, lists it and serves it', async () => {
    const bodies = [
      { json: { name: 'With image', image: { ...PNG, name: 'a/b/icon.png' } } },
      { json: { name: 'With URL', image: { name: 'icon.png', data: `data:image/png;base64,${PNG.data}` } } },
      // A browser that does not know the type of a file writes this.
      {
        json: {
          name: 'Typeless',
          image: { name: 'icon.png', data: `data:application/octet-stream;base64,${PNG.data}` },
        },
      },
      { form: formOf({ name: 'With form image' }, [['image', 'icon.png', 'bytes', 'image/png']]) },
    ]
    for (const body of bodies) {
      const { id } = await acme.ok('createCategory', body)
      const { imageId, fileIds } = await acme.ok('getCategory', inCategory(id))
      const downloaded = await acme.call('downloadFile', { query: { fileId: imageId, categoryId: id } })
      assert.equal(downloaded.status, 200)
      const bytes = Buffer.from(downloaded.text, 'latin1')
      const { createdAt, ...file } = fileIds[0]
      const names = { name: 'icon.png', mimeType: 'image/png', title: 'icon', eventId: 0 }
      const content = { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
      assert.deepEqual([file, fileIds.length], [{ ...names, ...content, overlayId: imageId, iconId: imageId }, 1])
      assert.equal(Date.parse(createdAt), timeOfId(imageId))
    }
    const images = [
      { ...PNG, data: 'not base64!' },
      { data: PNG.data },
      { data: `data:;base64,${PNG.data}` },
      { ...PNG, other: 1 },
      'text',
      [1],
    ]
    for (const image of images)
      await acme.fails('createCategory', 400, 'VALIDATION_ERROR', { json: { name: 'Bad image', image } })
    const data = Buffer.alloc(5 * 1024 * 1024 + 3).toString('base64')
    await acme.fails('createCategory', 413, 'PAYLOAD_TOO_LARGE', { json: { name: 'Big', image: { ...PNG, data } } })
  })

  it('1, 4: an image that is none by its type is a file, and no icon', async () => {
    const image = { name: 'a.html', mimeType: 'text/html', data: PNG.data }
    const bodies = [
      { json: { name: 'No image', image } },
      { form: formOf({ name: 'No form image' }, [['image', 'a.html', 'bytes', 'text/html']]) },
    ]
    for (const body of bodies) {
      const { id } = await acme.ok('createCategory', body)
      const form = formOf({}, [['file', 'b.txt', 'text']])
      assert.deepEqual(await acme.ok('updateCategory', { ...inCategory(id), form }), {})
      const { fileIds, ...details } = await acme.ok('getCategory', inCategory(id))
      assert.equal('imageId' in details, false)
      const shown = fileIds.map((file: { name: string; iconId?: string }) => [file.name, 'iconId' in file])
      assert.deepEqual(shown, [
        ['a.html', false],
        ['b.txt', false],
      ])
    }
  })

  it('4, 6: null and empty values change nothing, and only clear removes the description', async () => {
    const { id } = await acme.ok('createCategory', { json: { name: 'Blank', description: 'd', image: null } })
    const form = formOf({ name: 'Blank', description: '', image: '' })
    const { id: sub } = await acme.ok('createSubcategory', { ...inCategory(id), form })
    const blanks = formOf({ name: '', description: '', clear: '', action: '', file: '' })
    await acme.ok('updateCategory', { ...inCategory(id), form: blanks })
    await acme.ok('updateCategory', { ...inCategory(id), json: { name: null, description: null, action: null } })
    const { name, description, status } = await acme.ok('getCategory', inCategory(id))
    assert.deepEqual([name, description, status], ['Blank', 'd', 'active'])
    const json = { description: 'e', clear: ['description'] }
    await acme.fails('updateSubcategory', 400, 'VALIDATION_ERROR', { ...inSubcategory(id, sub), json })
    await acme.ok('updateCategory', { ...inCategory(id), form: formOf({ clear: 'description' }) })
    assert.equal('description' in (await acme.ok('getCategory', inCategory(id))), false)
  })

  it('4, 6, 7: take texts and files; an image becomes the icon, and the earlier one stays a file', async () => {
    const { id } = await acme.ok('createCategory', { json: { name: 'Boats', image: PNG } })
    const { id: sub } = await acme.ok('createSubcategory', { ...inCategory(id), json: { name: 'Sails' } })
    const { imageId: first } = await acme.ok('updateCategory', { ...inCategory(id), json: { name: 'Ships' } })
    const picture = formOf({}, [['file', 'b.png', 'b', 'image/png']])
    const { imageId } = await acme.ok('updateCategory', { ...inCategory(id), form: picture })
    assert.notEqual(imageId, first)
    const text = formOf({}, [['file', 'terms.txt', 't']])
    const { imageId: same } = await acme.ok('updateCategory', { ...inCategory(id), form: text })
    assert.equal(same, imageId, 'a text does not become the icon')
    assert.deepEqual(await acme.ok('updateSubcategory', { ...inSubcategory(id, sub), json: { name: 'Masts' } }), {})
    const image = formOf({}, [['file', 'c.png', 'c', 'image/png']])
    const { imageId: icon } = await acme.ok('updateSubcategory', { ...inSubcategory(id, sub), form: image })
    const listing = await acme.ok('listSubcategoryFiles', inSubcategory(id, sub))
    assert.deepEqual([listing.dt, idsOf(listing.subcategory)], [[], [icon]])
    const own = idsOf(listing.category)
    assert.deepEqual([own.slice(0, 2), own.length, listing.category[2].name], [[first, imageId], 3, 'terms.txt'])
    const details = await acme.ok('getCategory', inCategory(id))
    assert.deepEqual([details.path, details.imageId, idsOf(details.fileIds)], ['/Ships', imageId, [...own, icon]])
    assert.deepEqual(await acme.service.unfinished(), [])
  })

  it('4, 6: are deactivated, activated and removed by their actions', async () => {
    const { id } = await acme.ok('createCategory', { json: { name: 'Bikes' } })
    const { id: sub } = await acme.ok('createSubcategory', { ...inCategory(id), json: { name: 'Racing' } })
    const evidence = { categoryId: id, subcategoryId: sub, externalId: 'bike-1', name: 'Bike' }
    await acme.ok('updateCategory', { ...inCategory(id), json: { action: 'DEACTIVATE' } })
    assert.equal((await acme.ok('getCategory', inCategory(id))).status, 'inactive')
    await acme.fails('createEvidence', 409, 'CATEGORY_INACTIVE', { json: evidence })
    await acme.ok('updateCategory', { ...inCategory(id), json: { action: 'ACTIVATE' } })
    await acme.ok('createEvidence', { json: evidence })
    const remove = { json: { action: 'REMOVE' } }
    await acme.fails('updateSubcategory', 409, 'CATEGORY_NOT_EMPTY', { ...inSubcategory(id, sub), ...remove })
    await acme.fails('updateCategory', 409, 'CATEGORY_NOT_EMPTY', { ...inCategory(id), ...remove })
    const { id: empty } = await acme.ok('createSubcategory', { ...inCategory(id), json: { name: 'Empty' } })
    await acme.ok('updateSubcategory', { ...inSubcategory(id, empty), form: formOf({ action: 'REMOVE' }) })
    await acme.fails('getSubcategory', 404, 'SUBCATEGORY_NOT_FOUND', inSubcategory(id, empty))
    await acme.fails('listSubcategoryFiles', 404, 'SUBCATEGORY_NOT_FOUND', inSubcategory(id, empty))
  })

  it('are rejected without a name, with the name of a sibling, and if they are in no category or company', async () => {
    await acme.ok('createCategory', { json: { name: 'Taken' } })
    await acme.fails('createCategory', 409, 'NAME_EXISTS', { json: { name: 'Taken' } })
    for (const json of [{ name: 'a/b' }, { description: 'no name' }])
      await acme.fails('createCategory', 400, 'VALIDATION_ERROR', { json })
    const json = { name: 'x' }
    await acme.fails('getCategory', 404, 'CATEGORY_NOT_FOUND', inCategory('no id at all'))
    await acme.fails('updateCategory', 404, 'CATEGORY_NOT_FOUND', { ...inCategory(NOTHING), json })
    await acme.fails('createSubcategory', 404, 'CATEGORY_NOT_FOUND', { ...inCategory(NOTHING), json })
    await acme.fails('updateSubcategory', 404, 'CATEGORY_NOT_FOUND', { ...inSubcategory(NOTHING, NOTHING), json })
    const unknown = { key: OPERATOR_KEY, params: { COMPANY_ID: 'unknown' } }
    await acme.fails('listCategories', 404, 'COMPANY_NOT_FOUND', unknown)
  })
})
