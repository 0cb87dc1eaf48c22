import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formOf } from '../../support/form.ts'
import { OPERATOR_KEY, startService, type Company, type Service } from '../../support/service.ts'

const PNG = { mimeType: 'image/png', data: Buffer.from('not really a png').toString('base64') }

describe('categories and subcategories', () => {
  let service: Service
  let company: Company
  let at: { key: string; params: { COMPANY_ID: string } }
  before(async () => {
    service = await startService()
    company = await service.company('acme')
    at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
  })
  after(() => service.close())

  const inCategory = (CATEGORY_ID: string) => ({ ...at, params: { ...at.params, CATEGORY_ID } })
  const inSubcategory = (CATEGORY_ID: string, SUBCATEGORY_ID: string) => ({
    ...at,
    params: { ...at.params, CATEGORY_ID, SUBCATEGORY_ID },
  })

  it('1, 3: creates a category and returns its details', async () => {
    const created = await service.call('createCategory', {
      ...at,
      json: { name: 'Vehicles', description: 'Cars\nand vans' },
    })
    assert.equal(created.status, 201)
    const details = await service.ok('getCategory', inCategory(created.body.id))
    assert.deepEqual(details, {
      path: '/Vehicles',
      name: 'Vehicles',
      status: 'active',
      fileIds: [],
      digitalTwinsCount: 0,
      description: 'Cars\nand vans',
    })
  })

  it('4, 6: null and empty values change nothing, and only clear removes the description', async () => {
    const { id } = await service.ok('createCategory', { ...at, json: { name: 'Blank', description: 'd', image: null } })
    const { id: sub } = await service.ok('createSubcategory', {
      ...inCategory(id),
      form: formOf({ name: 'Blank', description: '', image: '' }),
    })
    const blanks = formOf({ name: '', description: '', clear: '', action: '', file: '' })
    await service.ok('updateCategory', { ...inCategory(id), form: blanks })
    await service.ok('updateCategory', { ...inCategory(id), json: { name: null, description: null, action: null } })
    const { name, description, status } = await service.ok('getCategory', inCategory(id))
    assert.deepEqual([name, description, status], ['Blank', 'd', 'active'])
    const both = { description: 'e', clear: ['description'] }
    await service.fails('updateCategory', 400, 'VALIDATION_ERROR', { ...inCategory(id), json: both })
    await service.fails('updateSubcategory', 400, 'VALIDATION_ERROR', { ...inSubcategory(id, sub), json: both })
    await service.ok('updateCategory', { ...inCategory(id), form: formOf({ clear: 'description' }) })
    assert.equal('description' in (await service.ok('getCategory', inCategory(id))), false)
  })

  it('1: accepts an image in JSON and in a form, lists it and serves it', async () => {
    const { id: json } = await service.ok('createCategory', {
      ...at,
      json: { name: 'With image', image: { ...PNG, name: 'a/b/icon.png' } },
    })
    const { id: form } = await service.ok('createCategory', {
      ...at,
      form: formOf({ name: 'With form image' }, [['image', 'icon.png', 'bytes', 'image/png']]),
    })
    for (const id of [json, form]) {
      const { imageId, fileIds } = await service.ok('getCategory', inCategory(id))
      assert.deepEqual(fileIds, [
        { name: 'icon.png', overlayId: imageId, mimeType: 'image/png', title: 'icon', iconId: imageId, eventId: 0 },
      ])
      const { status } = await service.call('downloadFile', { ...at, query: { fileId: imageId, categoryId: id } })
      assert.equal(status, 200)
    }
  })

  it('1: rejects a sibling with the same name, a slash, and a value that is not an image', async () => {
    await service.fails('createCategory', 409, 'NAME_EXISTS', { ...at, json: { name: 'Vehicles' } })
    await service.fails('createCategory', 400, 'VALIDATION_ERROR', { ...at, json: { name: 'a/b' } })
    await service.fails('createCategory', 400, 'VALIDATION_ERROR', { ...at, json: { description: 'no name' } })
    const images = [
      { ...PNG, data: 'not base64!' },
      { ...PNG, mimeType: 'text/html' },
      { ...PNG, other: 1 },
      'text',
      [1],
      { mimeType: 'image/png' },
    ]
    for (const image of images)
      await service.fails('createCategory', 400, 'VALIDATION_ERROR', { ...at, json: { name: 'Bad image', image } })
    const data = Buffer.alloc(5 * 1024 * 1024 + 3).toString('base64')
    await service.fails('createCategory', 413, 'PAYLOAD_TOO_LARGE', {
      ...at,
      json: { name: 'Big image', image: { ...PNG, data } },
    })
  })

  it('5, 2, 3: creates subcategories, lists all, and counts evidences', async () => {
    const { id } = await service.ok('createCategory', { ...at, json: { name: 'Tools' } })
    const { id: sub } = await service.ok('createSubcategory', {
      ...inCategory(id),
      json: { name: 'Hammers', description: 'heavy' },
    })
    await service.fails('createSubcategory', 409, 'NAME_EXISTS', { ...inCategory(id), json: { name: 'Hammers' } })
    await service.ok('createEvidence', {
      ...at,
      json: { categoryId: id, subcategoryId: sub, externalId: 'hammer-1', name: 'Hammer' },
    })
    const { categories, count } = await service.ok('listCategories', at)
    assert.equal(count, categories.length)
    const tools = categories.find((category: { id: string }) => category.id === id)
    assert.deepEqual(tools, {
      id,
      path: '/Tools',
      name: 'Tools',
      status: 'active',
      fileIds: [],
      digitalTwinsCount: 1,
      subcategories: [
        {
          id: sub,
          path: '/Tools/Hammers',
          name: 'Hammers',
          status: 'active',
          fileIds: [],
          digitalTwinsCount: 1,
          description: 'heavy',
        },
      ],
    })
  })

  it('4, 6, 7: updates texts and adds files; an image becomes the icon, and the earlier one stays a file', async () => {
    const { id } = await service.ok('createCategory', { ...at, json: { name: 'Boats', image: PNG } })
    const { id: sub } = await service.ok('createSubcategory', { ...inCategory(id), json: { name: 'Sails' } })
    const { imageId: first } = await service.ok('updateCategory', {
      ...inCategory(id),
      json: { description: 'afloat' },
    })
    const { imageId: second } = await service.ok('updateCategory', {
      ...inCategory(id),
      form: formOf({ name: 'Ships' }, [['file', 'b.png', 'b', 'image/png']]),
    })
    assert.notEqual(second, first)
    assert.equal((await service.call('downloadFile', { ...at, query: { fileId: first } })).status, 200)
    const { imageId: same } = await service.ok('updateCategory', {
      ...inCategory(id),
      form: formOf({}, [['file', 'terms.txt', 't']]),
    })
    assert.equal(same, second, 'a text does not become the icon')
    assert.deepEqual(await service.ok('updateSubcategory', { ...inSubcategory(id, sub), json: { name: 'Masts' } }), {})
    const { imageId: third } = await service.ok('updateSubcategory', {
      ...inSubcategory(id, sub),
      form: formOf({}, [['file', 'c.png', 'c', 'image/png']]),
    })
    const listing = await service.ok('listSubcategoryFiles', inSubcategory(id, sub))
    assert.deepEqual(listing.dt, [])
    assert.deepEqual(
      listing.category.map((file: { overlayId: string }) => file.overlayId),
      [first, second, listing.category[2].overlayId],
    )
    assert.equal(listing.category[2].name, 'terms.txt')
    assert.deepEqual(
      listing.subcategory.map((file: { overlayId: string }) => file.overlayId),
      [third],
    )
    const details = await service.ok('getCategory', inCategory(id))
    assert.deepEqual(
      [details.name, details.path, details.description, details.imageId],
      ['Ships', '/Ships', 'afloat', second],
    )
    assert.deepEqual(
      details.fileIds.map((file: { overlayId: string }) => file.overlayId),
      [first, second, listing.category[2].overlayId, third],
    )
    await service.ok('deleteFile', { ...at, query: { fileId: first } })
    assert.equal((await service.ok('getCategory', inCategory(id))).imageId, second)
    assert.deepEqual(await service.unfinished(), [])
  })

  it('4, 6: deactivates, activates and removes', async () => {
    const { id } = await service.ok('createCategory', { ...at, json: { name: 'Bikes' } })
    const { id: sub } = await service.ok('createSubcategory', { ...inCategory(id), json: { name: 'Racing' } })
    const evidence = { categoryId: id, subcategoryId: sub, externalId: 'bike-1', name: 'Bike' }
    await service.ok('updateCategory', { ...inCategory(id), json: { action: 'DEACTIVATE' } })
    assert.equal((await service.ok('getCategory', inCategory(id))).status, 'inactive')
    await service.fails('createEvidence', 409, 'CATEGORY_INACTIVE', { ...at, json: evidence })
    await service.ok('updateCategory', { ...inCategory(id), json: { action: 'ACTIVATE' } })
    await service.ok('createEvidence', { ...at, json: evidence })
    await service.fails('updateSubcategory', 409, 'CATEGORY_NOT_EMPTY', {
      ...inSubcategory(id, sub),
      json: { action: 'REMOVE' },
    })
    await service.fails('updateCategory', 409, 'CATEGORY_NOT_EMPTY', {
      ...inCategory(id),
      json: { action: 'REMOVE' },
    })
    const { id: empty } = await service.ok('createSubcategory', { ...inCategory(id), json: { name: 'Empty' } })
    await service.ok('updateSubcategory', { ...inSubcategory(id, empty), form: formOf({ action: 'REMOVE' }) })
    await service.fails('listSubcategoryFiles', 404, 'SUBCATEGORY_NOT_FOUND', inSubcategory(id, empty))
    await service.ok('createSubcategory', { ...inCategory(id), json: { name: 'Empty' } })
  })

  it('returns 404 for what does not exist, and to the operator for an unknown company', async () => {
    const nothing = '01890a5d-ac96-774b-bcce-b302099a8057'
    await service.fails('getCategory', 404, 'CATEGORY_NOT_FOUND', inCategory(nothing))
    await service.fails('getCategory', 404, 'CATEGORY_NOT_FOUND', inCategory('no id at all'))
    await service.fails('updateCategory', 404, 'CATEGORY_NOT_FOUND', {
      ...inCategory(nothing),
      json: { description: 'x' },
    })
    await service.fails('createSubcategory', 404, 'CATEGORY_NOT_FOUND', {
      ...inCategory(nothing),
      json: { name: 'x' },
    })
    await service.fails('updateSubcategory', 404, 'CATEGORY_NOT_FOUND', {
      ...inSubcategory(nothing, nothing),
      json: { description: 'x' },
    })
    await service.fails('listCategories', 404, 'COMPANY_NOT_FOUND', {
      key: OPERATOR_KEY,
      params: { COMPANY_ID: 'unknown' },
    })
  })
})
