import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { timeOfId } from '../../../core/ids.ts'
import { CompanyRequests } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'

const UNTYPED = 'application/octet-stream'
const PNG = { mimeType: 'image/png', data: Buffer.from('not really a png').toString('base64') }

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
    const category = { path: '/Tools', name: 'Tools', description: 'Hand\nheld', publicStatus: false, ...common }
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
      { json: { name: 'Typeless', image: { name: 'icon.png', data: `data:${UNTYPED};base64,${PNG.data}` } } },
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

  it('4, 6, 7: return the icon of each level, and list the files of both', async () => {
    const { id } = await acme.ok('createCategory', { json: { name: 'Boats', description: 'd', image: PNG } })
    const { id: sub } = await acme.ok('createSubcategory', { ...inCategory(id), json: { name: 'Sails' } })
    assert.deepEqual(await acme.ok('updateSubcategory', { ...inSubcategory(id, sub), json: { name: 'Masts' } }), {})
    const picture = () => ({ form: formOf({ clear: 'description' }, [['file', 'b.png', 'b', 'image/png']]) })
    const { imageId } = await acme.ok('updateCategory', { ...inCategory(id), ...picture() })
    const image = { form: formOf({}, [['file', 'c.png', 'c', 'image/png']]) }
    const { imageId: icon } = await acme.ok('updateSubcategory', { ...inSubcategory(id, sub), ...image })
    const listing = await acme.ok('listSubcategoryFiles', inSubcategory(id, sub))
    assert.deepEqual([listing.dt, idsOf(listing.subcategory)], [[], [icon]])
    const own = idsOf(listing.category)
    assert.deepEqual([own.length, own[1]], [2, imageId])
    const { fileIds, ...details } = await acme.ok('getCategory', inCategory(id))
    assert.deepEqual([details.imageId, details.description, idsOf(fileIds)], [imageId, undefined, [...own, icon]])
    assert.deepEqual(await acme.service.unfinished(), [])
  })

  it('4, 6: have the status of the last action, and are removed by an action that stands alone', async () => {
    const { id } = await acme.ok('createCategory', { json: { name: 'Bikes' } })
    const { id: sub } = await acme.ok('createSubcategory', { ...inCategory(id), json: { name: 'Racing' } })
    for (const [level, path] of [
      ['Subcategory', inSubcategory(id, sub)],
      ['Category', inCategory(id)],
    ] as const) {
      for (const [action, status] of [
        ['DEACTIVATE', 'inactive'],
        ['CHANGE', 'inactive'],
        ['ACTIVATE', 'active'],
      ]) {
        await acme.ok(`update${level}`, { ...path, json: { action } })
        assert.equal((await acme.ok(`get${level}`, path)).status, status)
      }
      const named = { ...path, json: { action: 'REMOVE', name: 'x' } }
      await acme.fails(`update${level}`, 400, 'VALIDATION_ERROR', named)
      assert.deepEqual(await acme.ok(`update${level}`, { ...path, form: formOf({ action: 'REMOVE' }) }), {})
      await acme.fails(`get${level}`, 404, `${level.toUpperCase()}_NOT_FOUND`, path)
    }
  })
})
