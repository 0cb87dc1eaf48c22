import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formOf, startService, type Answer, type Company, type Service } from '../../support/service.ts'

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
  const create = (externalId: string, more: object = {}): Promise<Answer['body']> =>
    service.ok('createEvidence', { ...at, json: { ...PLACE, externalId, name: `Name of ${externalId}`, ...more } })
  const page = (externalId: string, query?: Record<string, string>): Promise<Answer['body']> =>
    service.ok('getEvidence', { ...of(externalId), ...(query && { query }) })
  const place = async () => {
    const { object } = await page('first')
    return { CATEGORY_ID: object.categoryId as string, SUBCATEGORY_ID: object.subcategoryId as string }
  }

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
      ['images[]', '../../etc/back.jpg', 'back', 'image/jpeg'],
      ['images', 'third.txt', 'third'],
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
      // FormData writes every line break as CRLF; what was sent is kept.
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

  it('8: an id wins over a name; what disagrees or is missing is refused', async () => {
    const { CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId } = await place()
    const evidence = (more: object) => ({ ...at, json: { externalId: 'by-place', name: 'x', ...more } })
    await service.refused('createEvidence', 400, 'VALIDATION_ERROR', evidence({}))
    await service.refused('createEvidence', 400, 'VALIDATION_ERROR', evidence({ categoryId }))
    await service.refused(
      'createEvidence',
      409,
      'CATEGORY_MISMATCH',
      evidence({ categoryId, categoryName: 'Other', subcategoryId }),
    )
    await service.refused(
      'createEvidence',
      404,
      'CATEGORY_NOT_FOUND',
      evidence({ categoryId: subcategoryId, subcategoryId }),
    )
    await service.refused(
      'createEvidence',
      404,
      'SUBCATEGORY_NOT_FOUND',
      evidence({ categoryId, subcategoryId: categoryId }),
    )
    const { id: other } = await service.ok('createCategory', { ...at, json: { name: 'Elsewhere' } })
    await service.refused('createEvidence', 409, 'CATEGORY_MISMATCH', evidence({ categoryId: other, subcategoryId }))
    const answer = await service.ok(
      'createEvidence',
      evidence({ categoryId, categoryName: 'Vehicles', subcategoryId, subcategoryName: '' }),
    )
    assert.equal((await page('by-place')).object.id, answer.id)
  })

  it('8: of two creates that race, exactly one wins, and leaves nothing of the others', async () => {
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

  it('8: creates that race on new names share them', async () => {
    const race = (_: unknown, i: number) => create(`shared-${i}`, { categoryName: 'New', subcategoryName: 'Newer' })
    await Promise.all(Array.from({ length: 8 }, race))
    const { dts } = await service.ok('listEvidences', at)
    const places = new Set(
      dts
        .filter((item: Answer['body']) => item.externalId.startsWith('shared-'))
        .map((item: Answer['body']) => `${item.categoryId} ${item.subcategoryId}`),
    )
    assert.equal(places.size, 1)
  })

  it('9: creates one with files, or many at once, all or none', async () => {
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
    await service.refused('createEvidences', 409, 'EXTERNAL_ID_EXISTS', { ...into, json: { evidences: withTaken } })
    await service.refused('getEvidence', 404, 'EVIDENCE_NOT_FOUND', of('fresh'))
    for (const evidences of [
      [],
      [{ externalId: 'a' }],
      [{ externalId: 'a', name: 'x', more: 1 }],
      'text',
      Array.from({ length: 1_001 }, (_, i) => ({ externalId: `e${i}`, name: 'x' })),
    ])
      await service.refused('createEvidences', 400, 'VALIDATION_ERROR', { ...into, json: { evidences } })
    await service.refused('createEvidences', 400, 'VALIDATION_ERROR', { ...into, json: { evidences: many, name: 'x' } })
    await service.refused('createEvidences', 400, 'VALIDATION_ERROR', {
      ...into,
      form: formOf({ evidences: '[{"externalId":"a","name":"x"}]' }, [['image', 'a.png', 'a']]),
    })
  })

  it('10: lists newest first, filters, pages', async () => {
    const other = await service.company('lister')
    const mine = { key: other.keys.I, params: { COMPANY_ID: other.id } }
    for (let i = 0; i < 5; i++)
      await service.ok('createEvidence', {
        ...mine,
        json: {
          categoryName: 'C',
          subcategoryName: i < 3 ? 'S' : 'T',
          externalId: `l${i}`,
          name: `N${i}`,
          summary: 'sum',
        },
      })
    const list = (query: Record<string, string> = {}) => service.ok('listEvidences', { ...mine, query })
    const all = await list()
    assert.deepEqual(
      [all.dts.map((item: Answer['body']) => item.externalId), all.count, all.isMore],
      [['l4', 'l3', 'l2', 'l1', 'l0'], 5, false],
    )
    const [newest] = all.dts
    assert.deepEqual(newest, {
      id: newest.id,
      externalId: 'l4',
      name: 'N4',
      creationDate: newest.creationDate,
      owner: { name: '' },
      historyChanges: { create: 1, update: 0, transfer: 0, total: 1 },
      categoryId: newest.categoryId,
      subcategoryId: newest.subcategoryId,
      txId: newest.txId,
      summary: 'sum',
      lastUpdateDate: newest.creationDate,
      lastUpdateTxId: newest.txId,
      iconId: null,
      stolen: false,
      ...(newest.blockNumber !== undefined && {
        blockNumber: newest.blockNumber,
        lastUpdateBlockNumber: newest.lastUpdateBlockNumber,
      }),
    })
    const first = await list({ len: '2' })
    assert.deepEqual([first.dts.length, first.isMore, first.count], [2, true, 5])
    const second = await list({ len: '3', last: first.dts[1].id })
    assert.deepEqual(
      [second.dts.map((item: Answer['body']) => item.externalId), second.isMore],
      [['l2', 'l1', 'l0'], false],
    )
    const { subcategoryId, categoryId } = all.dts[4]
    assert.deepEqual((await list({ subcategoryId })).count, 3)
    assert.deepEqual((await list({ categoryId, subcategoryId, len: '1' })).dts[0].externalId, 'l2')
    assert.deepEqual(await list({ categoryId: 'unknown' }), { dts: [], count: 0, isMore: false })
    for (const query of [
      { len: '0' },
      { len: '1001' },
      { len: 'x' },
      { last: 'unknown' },
      { colour: 'blue' },
      { last: (await page('full/1 ä')).object.id },
    ])
      await service.refused('listEvidences', 400, 'VALIDATION_ERROR', {
        ...mine,
        query,
      })
  })

  it('10, 11: block numbers and batch states appear when the anchor is confirmed', async () => {
    await create('anchored')
    await service.until(
      async () => (await page('anchored')).events[0].merkleSendStatus === 'C',
      'the anchor is confirmed',
    )
    const [event] = (await page('anchored')).events
    assert.match(event.merkleBatchId, uuid7)
    const item = (await service.ok('listEvidences', at)).dts.find(
      (each: Answer['body']) => each.externalId === 'anchored',
    )
    assert.ok(Number.isInteger(item.blockNumber) && item.blockNumber === item.lastUpdateBlockNumber)
  })

  it('12: records content, transfer and files in one step, in this order', async () => {
    await create('updated', { owner: 'Ada', description: 'old' })
    const form = formOf(
      {
        description: 'new',
        owner: 'Grace',
        eventDescription: 'Sold',
        updateActionDescription: 'By hand',
        updateActionPersona: 'Clerk',
        files: '["Contract"]',
      },
      [
        ['files.items', 'contract.pdf', 'pdf', 'application/pdf'],
        ['file', 'note.txt', 'note'],
      ],
    )
    const { status, events: recorded } = await service.ok('updateEvidence', { ...of('updated'), form })
    assert.deepEqual([status, recorded.map(({ version }: { version: number }) => version)], ['ok', [2, 3, 4]])
    const { object, events, lastVersion } = await page('updated')
    assert.deepEqual([object.owner, object.description, lastVersion], ['Grace', 'new', 4])
    const shown = events.map((event: Answer['body']) => [
      event.type,
      event.updateType,
      event.ownerName,
      event.eventDescription,
      event.updateDescription,
      event.personaName,
    ])
    assert.deepEqual(shown, [
      ['create', undefined, 'Ada', undefined, undefined, undefined],
      ['update', 'change', 'Ada', 'Sold', 'By hand', 'Clerk'],
      ['transfer', undefined, 'Grace', 'Sold', 'By hand', 'Clerk'],
      ['update', 'addfile', 'Grace', 'Sold', 'By hand', 'Clerk'],
    ])
    const { dt } = await service.ok('listEvidenceFiles', of('updated'))
    assert.deepEqual(dt.map((file: Answer['body']) => [file.name, file.title, file.eventId]).sort(), [
      ['contract.pdf', 'Contract', 4],
      ['note.txt', 'note', 4],
    ])
    const { historyChanges, lastUpdateTxId } = (await service.ok('listEvidences', at)).dts.find(
      (item: Answer['body']) => item.externalId === 'updated',
    )
    assert.deepEqual(
      [historyChanges, lastUpdateTxId],
      [{ create: 1, update: 2, transfer: 1, total: 4 }, events[3].txId],
    )
  })

  it('12: clears by an empty value, records nothing for an equal one, marks as stolen and back', async () => {
    await create('cleared', { owner: 'Ada', summary: 's', meta: { a: 1 } })
    await service.refused('updateEvidence', 400, 'VALIDATION_ERROR', {
      ...of('cleared'),
      json: { owner: 'Ada', summary: 's', meta: { a: 1 } },
    })
    await service.refused('updateEvidence', 400, 'VALIDATION_ERROR', { ...of('cleared'), json: {} })
    await service.refused('updateEvidence', 400, 'VALIDATION_ERROR', {
      ...of('cleared'),
      json: { action: 'transfer', summary: 'other' },
    })
    await service.ok('updateEvidence', { ...of('cleared'), form: formOf({ summary: '', meta: '' }) })
    const { object } = await page('cleared')
    assert.deepEqual(['summary' in object, 'meta' in object, object.owner], [false, false, 'Ada'])
    await service.ok('updateEvidence', { ...of('cleared'), json: { actionType: 'stolen' } })
    assert.equal((await page('cleared')).object.status, 'stolen')
    assert.equal(
      (await service.ok('listEvidences', at)).dts.find((item: Answer['body']) => item.externalId === 'cleared').stolen,
      true,
    )
    await service.refused('updateEvidence', 400, 'VALIDATION_ERROR', {
      ...of('cleared'),
      form: formOf({ actionType: 'stolen', stolen: 'no' }),
    })
    await service.ok('updateEvidence', { ...of('cleared'), form: formOf({ actionType: 'stolen', stolen: 'false' }) })
    await service.ok('updateEvidence', { ...of('cleared'), json: { eventDescription: 'seen' } })
    const { object: unmarked, events } = await page('cleared')
    assert.equal(unmarked.status, 'active')
    assert.deepEqual(
      events.slice(1).map((event: Answer['body']) => event.updateType),
      ['change', 'stolen', 'stolen', 'custom'],
    )
  })

  it('12: If-Match holds only for the version that is named', async () => {
    await create('matched')
    const update = (etag: string, summary: string) => ({
      ...of('matched'),
      json: { summary },
      headers: { 'if-match': etag },
    })
    await service.ok('updateEvidence', update('"1"', 'a'))
    await service.refused('updateEvidence', 412, 'VERSION_CONFLICT', update('"1"', 'b'))
    await service.ok('updateEvidence', update('*', 'c'))
    for (const etag of ['1', 'W/"1"', '"x"', '"1", "2"'])
      await service.refused('updateEvidence', 400, 'VALIDATION_ERROR', update(etag, 'd'))
  })

  it('12: updates that race are all recorded, one after the other', async () => {
    await create('busy')
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        service.ok('updateEvidence', { ...of('busy'), json: { eventDescription: `e${i}` } }),
      ),
    )
    const { events } = await page('busy')
    assert.deepEqual(
      events.map(({ version }: { version: number }) => version),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    )
  })

  it('11: pages, and discloses what it takes to recompute a txId', async () => {
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
    for (const query of [{ len: '0' }, { len: '501' }, { last: '-1' }, { disclose: 'yes' }])
      await service.refused('getEvidence', 400, 'VALIDATION_ERROR', {
        ...of('paged'),
        query,
      })
  })

  it("another company's evidence is not told from one that does not exist", async () => {
    await create('foreign')
    const other = await service.company('stranger')
    const asked = { key: other.keys.A, params: { COMPANY_ID: other.id, EVIDENCE_EXTERNAL_ID: 'foreign' } }
    const there = await service.refused('getEvidence', 404, 'EVIDENCE_NOT_FOUND', asked)
    const nowhere = await service.refused('getEvidence', 404, 'EVIDENCE_NOT_FOUND', {
      ...asked,
      params: { ...asked.params, EVIDENCE_EXTERNAL_ID: 'none' },
    })
    assert.equal(there.text, nowhere.text)
  })

  describe('Idempotency-Key', () => {
    const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })
    const form = (content: string, name = 'x') =>
      formOf({ ...PLACE, externalId: 'once', name }, [['images', 'a.txt', content]])

    it('gives the first success again to the same content, and keeps no second file', async () => {
      const first = await service.call('createEvidence', { ...at, ...keyed('k1'), form: form('content') })
      const kept = service.blobs.kept.size
      const again = await service.call('createEvidence', { ...at, ...keyed('k1'), form: form('content') })
      assert.deepEqual([again.status, again.body], [first.status, first.body])
      assert.equal(service.blobs.kept.size, kept)
      assert.deepEqual(await service.unfinished(), [])
    })

    it('refuses other content under the same key', async () => {
      for (const other of [form('other content'), form('content', 'other name')]) {
        const kept = service.blobs.kept.size
        await service.refused('createEvidence', 409, 'IDEMPOTENCY_KEY_REUSED', { ...at, ...keyed('k1'), form: other })
        assert.equal(service.blobs.kept.size, kept)
      }
    })

    it('is looked up before If-Match, and is another key on another path', async () => {
      await create('once-a')
      await create('once-b')
      const update = (id: string) => ({
        ...of(id),
        json: { summary: 'same' },
        headers: { 'idempotency-key': 'k2', 'if-match': '"1"' },
      })
      const first = await service.ok('updateEvidence', update('once-a'))
      assert.deepEqual(await service.ok('updateEvidence', update('once-a')), first)
      assert.notDeepEqual(await service.ok('updateEvidence', update('once-b')), first)
    })

    it('serves requests that race with one effect', async () => {
      const race = () =>
        service.ok('createEvidence', {
          ...at,
          ...keyed('k3'),
          form: formOf({ ...PLACE, externalId: 'once-raced', name: 'x' }, [['images', 'a', 'a']]),
        })
      const answers = await Promise.all(Array.from({ length: 6 }, race))
      assert.equal(new Set(answers.map(({ txId }) => txId)).size, 1)
      assert.deepEqual(await service.unfinished(), [])
    })

    it('takes 1 to 255 printable characters', async () => {
      for (const key of ['ä', 'x'.repeat(256)])
        await service.refused('createEvidence', 400, 'VALIDATION_ERROR', {
          ...at,
          ...keyed(key),
          form: form('content'),
        })
    })
  })
})
