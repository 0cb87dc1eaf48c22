import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { CompanyRequests, of, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import type { ServiceResponse } from '../../support/service.ts'

type Body = ServiceResponse['body']

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const hash = /^[0-9a-f]{64}$/
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('evidences', () => {
  const acme = new CompanyRequests()
  let categoryId: string
  let subcategoryId: string
  before(async () => {
    await acme.create('first')
    ;({ categoryId, subcategoryId } = (await acme.page('first')).object)
  })

  it('8, 11: are created from a form with every field and file', async () => {
    const fields = {
      ...VEHICLE_CATEGORY,
      externalId: 'full/1 ä',
      name: 'Golf',
      owner: 'Ada',
      description: 'two\nlines',
      summary: 'short',
      meta: '{"colour":"blue","wheels":4,"deep":{"a":[1,null]}}',
      images: '["Front","Back"]',
    }
    const form = formOf(fields, [
      ['image', 'icon.png', 'icon', 'image/png'],
      ['images.items', 'front.jpg', 'front', 'image/jpeg'],
      ['images[0]', '../../etc/back.jpg', 'back', 'image/jpeg'],
      ['images.items[12]', 'third.txt', 'third'],
    ])
    const created = await acme.call('createEvidence', { form })
    const { id, txId, version, events } = created.body
    assert.deepEqual([created.status, version], [201, 1])
    assert.match(id, uuid7)
    assert.match(txId, hash)

    const { object, events: history, lastVersion, isMore } = await acme.page('full/1 ä')
    const { createDate, imageId } = object
    assert.match(createDate, time)
    assert.match(imageId, uuid7)
    assert.deepEqual(object, {
      id,
      categoryId,
      subcategoryId,
      externalId: 'full/1 ä',
      createDate,
      name: 'Golf',
      status: 'active',
      // FormData writes every line break as CRLF, as browsers do.
      description: 'two\nlines',
      imageId,
      summary: 'short',
      owner: 'Ada',
      txId,
      meta: JSON.parse(fields.meta),
    })
    assert.deepEqual([history.length, lastVersion, isMore], [1, 1, false])
    const [event] = history
    assert.deepEqual(
      [event.type, event.version, event.txId, event.ownerName, event.timestamp, event.meta],
      ['create', 1, txId, 'Ada', createDate, JSON.parse(fields.meta)],
    )
    assert.equal('updateType' in event, false)

    const { dt, category, subcategory } = await acme.ok('listEvidenceFiles', of('full/1 ä'))
    assert.deepEqual([category, subcategory], [[], []])
    const shown = dt.map((file: Body) => [
      file.name,
      file.title,
      file.mimeType,
      file.eventId,
      file.iconId === file.overlayId,
    ])
    assert.deepEqual(shown, [
      ['icon.png', 'icon', 'image/png', 1, true],
      ['front.jpg', 'Front', 'image/jpeg', 1, true],
      ['back.jpg', 'Back', 'image/jpeg', 1, true],
      ['third.txt', 'third', 'text/plain', 1, false],
    ])
    assert.equal(dt[0].overlayId, imageId)
    const files = dt.map(({ overlayId }: Body) => overlayId)
    assert.deepEqual(events, [{ type: 'create', txId, version: 1, files }])
  })

  it('8: an image that is none by its type is a file; a file without a type has that of its extension', async () => {
    const form = formOf({ ...VEHICLE_CATEGORY, externalId: 'typeless', name: 'x' }, [
      ['image', 'notes.txt', 'a', 'application/octet-stream'],
      ['images', 'IMG_1.HEIC', 'b', ''],
      ['images', 'scan.pdf', 'c', 'image/*'],
      ['images', 'own.pdf', 'd', 'application/x-own'],
      ['images', `${'ä'.repeat(300)}.jpeg`, 'e', ''],
      ['images', 'unknown.xyz', 'f', ''],
    ])
    await acme.ok('createEvidence', { form })
    assert.equal('imageId' in (await acme.page('typeless')).object, false)
    const files = await acme.files('typeless')
    const listed = files.map(({ name, mimeType }: Body) => [name, mimeType])
    assert.deepEqual(listed, [
      ['notes.txt', 'text/plain'],
      ['IMG_1.HEIC', 'image/heic'],
      ['scan.pdf', 'application/pdf'],
      ['own.pdf', 'application/x-own'],
      [`${'ä'.repeat(251)}.jpeg`, 'image/jpeg'],
      ['unknown.xyz', 'application/octet-stream'],
    ])
  })

  it('8, 9, 12, 14: accept ids in either case', async () => {
    const upper = { categoryId: categoryId.toUpperCase(), subcategoryId: subcategoryId.toUpperCase() }
    const json = { ...upper, externalId: 'cased-2', name: 'x' }
    await acme.ok('createEvidence', { json })
    const params = { CATEGORY_ID: upper.categoryId, SUBCATEGORY_ID: upper.subcategoryId }
    await acme.ok('createEvidences', { params, json: { externalId: 'cased-3', name: 'x' } })
    assert.ok((await acme.ok('listEvidences', { query: upper })).count >= 3)
  })

  it('9: are created one with files, or many at once, all or none of them', async () => {
    const into = { params: { CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId } }
    const oneForm = formOf({ externalId: 'nine-1', name: 'One', meta: '' }, [['images', 'a.txt', 'a']])
    const one = await acme.call('createEvidences', { ...into, form: oneForm })
    const { id, txId, ...rest } = one.body
    const files = (await acme.files('nine-1')).map(({ overlayId }: Body) => overlayId)
    const events = [{ id, type: 'create', txId, version: 1, files }]
    assert.deepEqual(rest, { ids: [id], count: 1, version: 1, events })
    assert.deepEqual([one.status, files.length], [201, 1])

    const many = (prefix: string) =>
      Array.from({ length: 5 }, (_, i) => ({ externalId: `${prefix}-${i}`, name: `Many ${i}`, meta: { i } }))
    const bodies = [{ json: { evidences: many('j') } }, { form: formOf({ evidences: JSON.stringify(many('f')) }) }]
    for (const body of bodies) {
      const { ids, count, events: made, id: single } = await acme.ok('createEvidences', { ...into, ...body })
      assert.deepEqual([ids.length, count, made.length, single], [5, 5, 5, undefined])
    }
    assert.deepEqual((await acme.page('f-3')).object.meta, { i: 3 })

    const withFile = formOf({ evidences: '[{"externalId":"a","name":"x"}]' }, [['image', 'a.png', 'a']])
    for (const body of [
      { json: { evidences: 'text' } },
      { json: { evidences: many('k'), name: 'x' } },
      { form: withFile },
    ])
      await acme.fails('createEvidences', 400, 'VALIDATION_ERROR', { ...into, ...body })
  })

  it('11: are paged, and disclose what is needed to recompute a txId', async () => {
    await acme.create('paged')
    for (let i = 0; i < 3; i++) await acme.ok('updateEvidence', { ...of('paged'), json: { eventDescription: `e${i}` } })
    const first = await acme.page('paged', { len: '2' })
    assert.deepEqual([first.events.length, first.lastVersion, first.isMore], [2, 2, true])
    const rest = await acme.page('paged', { last: '2', len: '501', disclose: '1' })
    const versions = rest.events.map(({ version }: Body) => version)
    assert.deepEqual([versions, rest.lastVersion, rest.isMore], [[3, 4], 4, false])
    assert.match(rest.events[0].disclosure.opening, /^[0-9a-f]{240}$/)
    assert.equal('disclosure' in first.events[0], false)
  })
})
