import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formOf } from '../../support/form.ts'
import { startService, type ServiceResponse, type Company, type Service } from '../../support/service.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const hash = /^[0-9a-f]{64}$/
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const PLACE = { categoryName: 'Vehicles', subcategoryName: 'Cars' }

describe('evidences', () => {
  let service: Service
  let company: Company
  let at: { key: string; params: { COMPANY_ID: string } }
  before(async () => {
    service = await startService()
    company = await service.company('acme')
    at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
  })
  before(() => create('first'))
  after(() => service.close())

  const of = (EVIDENCE_EXTERNAL_ID: string) => ({ ...at, params: { ...at.params, EVIDENCE_EXTERNAL_ID } })
  const create = (externalId: string, more: object = {}): Promise<ServiceResponse['body']> =>
    service.ok('createEvidence', { ...at, json: { ...PLACE, externalId, name: `Name of ${externalId}`, ...more } })
  const page = (externalId: string, query?: Record<string, string>): Promise<ServiceResponse['body']> =>
    service.ok('getEvidence', { ...of(externalId), ...(query && { query }) })
  const place = async () => {
    const { object } = await page('first')
    return { CATEGORY_ID: object.categoryId as string, SUBCATEGORY_ID: object.subcategoryId as string }
  }

  it('8: accepts one title for all files, meta as a Blob, and decimals of 17 digits', async () => {
    const form = formOf({ ...PLACE, externalId: 'blob', name: 'x', images: 'Front view' }, [
      ['images', 'a.txt', 'a'],
      ['images[]', 'b.txt', 'b'],
      ['images[1]', 'c.txt', 'c'],
    ])
    form.set('meta', new Blob(['{"lat":52.520006600000002,"lon":2.2999999999999998}'], { type: 'application/json' }))
    await service.ok('createEvidence', { ...at, form })
    const { object } = await page('blob')
    assert.deepEqual(object.meta, { lat: 52.5200066, lon: 2.3 })
    const { dt } = await service.ok('listEvidenceFiles', of('blob'))
    assert.deepEqual(
      dt.map(({ title }: { title: string }) => title),
      ['Front view', 'Front view', 'Front view'],
    )
    const untitled = formOf({ ...PLACE, externalId: 'untitled', name: 'x', images: '["no", "file"]' })
    await service.ok('createEvidence', { ...at, form: untitled })
    await service.ok('createEvidence', { ...at, json: { ...PLACE, externalId: 'text', name: 'x', images: 'Front' } })
    const many = formOf({ ...PLACE, externalId: 'more', name: 'x', images: '["a","b"]' }, [['images', 'a.txt', 'a']])
    await service.fails('createEvidence', 400, 'VALIDATION_ERROR', { ...at, form: many })
  })

  it('8, 9, 12, 14: accepts ids in either case', async () => {
    await create('cased')
    const { object } = await page('cased')
    const [categoryId, subcategoryId] = [object.categoryId.toUpperCase(), object.subcategoryId.toUpperCase()]
    const json = { categoryId, subcategoryId, externalId: 'cased-2', name: 'x' }
    await service.ok('createEvidence', { ...at, json })
    const params = { ...at.params, CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId }
    await service.ok('createEvidences', { ...at, params, json: { externalId: 'cased-3', name: 'x' } })
    const { count } = await service.ok('listEvidences', { ...at, query: { categoryId, subcategoryId } })
    assert.ok(count >= 3)
  })

  it('8, 11: creates from a form with every field and file', async () => {
    const fields = {
      ...PLACE,
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
    const created = await service.call('createEvidence', { ...at, form })
    assert.equal(created.status, 201)
    const { id, txId, version, events } = created.body
    assert.match(id, uuid7)
    assert.match(txId, hash)
    assert.deepEqual([version, events], [1, [{ txId, version: 1 }]])

    const { object, events: history, lastVersion, isMore } = await page('full/1 ä')
    assert.match(object.createDate, time)
    assert.match(object.imageId, uuid7)
    assert.deepEqual(object, {
      id,
      categoryId: object.categoryId,
      subcategoryId: object.subcategoryId,
      externalId: 'full/1 ä',
      createDate: object.createDate,
      name: 'Golf',
      status: 'active',
      // FormData writes every line break as CRLF; the registry keeps what was sent.
      description: 'two\r\nlines',
      imageId: object.imageId,
      summary: 'short',
      owner: 'Ada',
      txId,
      meta: JSON.parse(fields.meta),
    })
    assert.deepEqual([history.length, lastVersion, isMore], [1, 1, false])
    const [event] = history
    assert.deepEqual(
      [event.type, event.version, event.txId, event.ownerName, event.timestamp, event.meta],
      ['create', 1, txId, 'Ada', object.createDate, JSON.parse(fields.meta)],
    )
    assert.equal('updateType' in event, false)

    const { dt, category, subcategory } = await service.ok('listEvidenceFiles', of('full/1 ä'))
    assert.deepEqual([category, subcategory], [[], []])
    const shown = dt.map(({ name, title, mimeType, eventId, iconId, overlayId }: Record<string, unknown>) => [
      name,
      title,
      mimeType,
      eventId,
      iconId === overlayId,
    ])
    assert.deepEqual(shown, [
      ['icon.png', 'icon', 'image/png', 1, true],
      ['front.jpg', 'Front', 'image/jpeg', 1, true],
      ['back.jpg', 'Back', 'image/jpeg', 1, true],
      ['third.txt', 'third', 'text/plain', 1, false],
    ])
    assert.equal(dt[0].overlayId, object.imageId)
  })

  it('8: an id takes precedence over a name; a contradiction or a missing category is rejected', async () => {
    const { CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId } = await place()
    const evidence = (more: object) => ({ ...at, json: { externalId: 'by-place', name: 'x', ...more } })
    await service.fails('createEvidence', 400, 'VALIDATION_ERROR', evidence({}))
    await service.fails('createEvidence', 400, 'VALIDATION_ERROR', evidence({ categoryId }))
    await service.fails(
      'createEvidence',
      409,
      'CATEGORY_MISMATCH',
      evidence({ categoryId, categoryName: 'Other', subcategoryId }),
    )
    await service.fails(
      'createEvidence',
      404,
      'CATEGORY_NOT_FOUND',
      evidence({ categoryId: subcategoryId, subcategoryId }),
    )
    await service.fails(
      'createEvidence',
      404,
      'SUBCATEGORY_NOT_FOUND',
      evidence({ categoryId, subcategoryId: categoryId }),
    )
    const { id: other } = await service.ok('createCategory', { ...at, json: { name: 'Elsewhere' } })
    await service.fails('createEvidence', 409, 'CATEGORY_MISMATCH', evidence({ categoryId: other, subcategoryId }))
    const answer = await service.ok(
      'createEvidence',
      evidence({ categoryId, categoryName: 'Vehicles', subcategoryId, subcategoryName: '' }),
    )
    assert.equal((await page('by-place')).object.id, answer.id)
  })

  it('8: exactly one of several simultaneous creates succeeds, and the others leave nothing behind', async () => {
    const keptBefore = service.blobs.kept.size
    const race = () =>
      service.call('createEvidence', {
        ...at,
        form: formOf({ ...PLACE, externalId: 'raced', name: 'x' }, [['images', 'a.txt', 'a']]),
      })
    const answers = await Promise.all(Array.from({ length: 12 }, race))
    assert.deepEqual(answers.map(({ status, body }) => String(body.code ?? status)).sort(), [
      '201',
      ...Array.from({ length: 11 }, () => 'EXTERNAL_ID_EXISTS'),
    ])
    assert.equal(service.blobs.kept.size, keptBefore + 1)
    assert.deepEqual(await service.unfinished(), [])
  })

  it('8: simultaneous creates with the same new names share the categories', async () => {
    const race = (_: unknown, i: number) => create(`shared-${i}`, { categoryName: 'New', subcategoryName: 'Newer' })
    await Promise.all(Array.from({ length: 8 }, race))
    const { dts } = await service.ok('listEvidences', at)
    const places = new Set(
      dts
        .filter((item: ServiceResponse['body']) => item.externalId.startsWith('shared-'))
        .map((item: ServiceResponse['body']) => `${item.categoryId} ${item.subcategoryId}`),
    )
    assert.equal(places.size, 1)
  })

  it('9: creates one with files, or many at once, all or none of them', async () => {
    const into = { ...at, params: { ...at.params, ...(await place()) } }
    const one = await service.call('createEvidences', {
      ...into,
      form: formOf({ externalId: 'nine-1', name: 'One', meta: '' }, [['images', 'a.txt', 'a']]),
    })
    assert.equal(one.status, 201)
    const { id, ids, count, txId, version, events } = one.body
    assert.deepEqual([ids, count, version, events], [[id], 1, 1, [{ id, txId, version: 1 }]])
    assert.equal((await service.ok('listEvidenceFiles', of('nine-1'))).dt.length, 1)

    const many = Array.from({ length: 5 }, (_, i) => ({
      externalId: `many-${i}`,
      name: `Many ${i}`,
      owner: 'Ada',
      meta: { i },
    }))
    for (const sent of [
      { json: { evidences: many } },
      {
        form: formOf({
          evidences: JSON.stringify(many.map((item) => ({ ...item, externalId: `${item.externalId}-form` }))),
        }),
      },
    ]) {
      const {
        ids: made,
        count: number,
        events: recorded,
        id: single,
      } = await service.ok('createEvidences', { ...into, ...sent })
      assert.deepEqual([made.length, number, recorded.length, single], [5, 5, 5, undefined])
    }
    assert.deepEqual((await page('many-3')).object.meta, { i: 3 })

    const withTaken = [
      { externalId: 'fresh', name: 'x' },
      { externalId: 'many-0', name: 'x' },
    ]
    await service.fails('createEvidences', 409, 'EXTERNAL_ID_EXISTS', { ...into, json: { evidences: withTaken } })
    await service.fails('getEvidence', 404, 'EVIDENCE_NOT_FOUND', of('fresh'))
    for (const evidences of [
      [],
      [{ externalId: 'a' }],
      [{ externalId: 'a', name: 'x', more: 1 }],
      'text',
      Array.from({ length: 1_001 }, (_, i) => ({ externalId: `e${i}`, name: 'x' })),
    ])
      await service.fails('createEvidences', 400, 'VALIDATION_ERROR', { ...into, json: { evidences } })
    await service.fails('createEvidences', 400, 'VALIDATION_ERROR', { ...into, json: { evidences: many, name: 'x' } })
    await service.fails('createEvidences', 400, 'VALIDATION_ERROR', {
      ...into,
      form: formOf({ evidences: '[{"externalId":"a","name":"x"}]' }, [['image', 'a.png', 'a']]),
    })
  })

  it('11: pages, and discloses what is needed to recompute a txId', async () => {
    await create('paged')
    for (let i = 0; i < 3; i++)
      await service.ok('updateEvidence', { ...of('paged'), json: { eventDescription: `e${i}` } })
    const first = await page('paged', { len: '2' })
    assert.deepEqual([first.events.length, first.lastVersion, first.isMore], [2, 2, true])
    const rest = await page('paged', { last: '2', len: '500', disclose: '1' })
    assert.deepEqual(
      [rest.events.map(({ version }: { version: number }) => version), rest.lastVersion, rest.isMore],
      [[3, 4], 4, false],
    )
    assert.match(rest.events[0].disclosure.opening, /^[0-9a-f]{240}$/)
    assert.equal('disclosure' in first.events[0], false)
    // Values above 500 are cut to 500.
    assert.equal((await page('paged', { len: '501' })).isMore, false)
    for (const query of [{ len: '0' }, { last: '-1' }, { disclose: 'yes' }])
      await service.fails('getEvidence', 400, 'VALIDATION_ERROR', {
        ...of('paged'),
        query,
      })
  })

  it('an evidence of another company looks like one that does not exist', async () => {
    await create('foreign')
    const other = await service.company('stranger')
    const asked = { key: other.keys.A, params: { COMPANY_ID: other.id, EVIDENCE_EXTERNAL_ID: 'foreign' } }
    const there = await service.fails('getEvidence', 404, 'EVIDENCE_NOT_FOUND', asked)
    const nowhere = await service.fails('getEvidence', 404, 'EVIDENCE_NOT_FOUND', {
      ...asked,
      params: { ...asked.params, EVIDENCE_EXTERNAL_ID: 'none' },
    })
    assert.equal(there.text, nowhere.text)
  })
})
