import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { evidenceRequests, VEHICLE_CATEGORY } from '../../support/evidence-requests.ts'
import { startService, type ServiceResponse, type Company, type Service } from '../../support/service.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('lists of evidences', () => {
  let service: Service
  let company: Company
  let at: { key: string; params: { COMPANY_ID: string } }
  before(async () => {
    service = await startService()
    company = await service.company('acme')
    at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
  })
  after(() => service.close())

  const { create, page } = evidenceRequests(() => ({ service, company }))

  it('10: lists the newest first, filters and pages', async () => {
    const other = await service.company('lister')
    await create('foreign')
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
      [all.dts.map((item: ServiceResponse['body']) => item.externalId), all.count, all.isMore],
      [['l4', 'l3', 'l2', 'l1', 'l0'], 5, undefined],
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
    // Only what sealing does not change meanwhile.
    const inUpperCase = await list({ len: '3', last: first.dts[1].id.toUpperCase() })
    assert.deepEqual(
      inUpperCase.dts.map((item: ServiceResponse['body']) => item.externalId),
      ['l2', 'l1', 'l0'],
    )
    assert.deepEqual(
      [second.dts.map((item: ServiceResponse['body']) => item.externalId), second.isMore],
      [['l2', 'l1', 'l0'], false],
    )
    const { subcategoryId, categoryId } = all.dts[4]
    assert.deepEqual((await list({ subcategoryId })).count, 3)
    assert.deepEqual((await list({ categoryId, subcategoryId, len: '1' })).dts[0].externalId, 'l2')
    assert.deepEqual(await list({ categoryId: 'unknown' }), { dts: [], count: 0 })
    for (const query of [{ last: 'unknown' }, { colour: 'blue' }, { last: (await page('foreign')).object.id }])
      await service.fails('listEvidences', 400, 'VALIDATION_ERROR', {
        ...mine,
        query,
      })
    for (const len of ['0', '-1', 'x', '1.5'])
      assert.equal(
        (await service.fails('listEvidences', 400, 'VALIDATION_ERROR', { ...mine, query: { len } })).body.error,
        'len must be an integer of at least 1; values above 1000 count as 1000',
      )
    assert.equal((await list({ len: '9'.repeat(30) })).dts.length, 5)
  })

  it('10: streams a list of many pages without len, and cuts len to 1,000', async () => {
    const big = await service.company('big')
    const mine = { key: big.keys.I, params: { COMPANY_ID: 'big' } }
    const seed = { ...VEHICLE_CATEGORY, externalId: 'seed', name: 'x' }
    await service.ok('createEvidence', { ...mine, json: seed })
    const { object } = await service.ok('getEvidence', {
      ...mine,
      params: { ...mine.params, EVIDENCE_EXTERNAL_ID: 'seed' },
    })
    const into = {
      ...mine,
      params: { ...mine.params, CATEGORY_ID: object.categoryId, SUBCATEGORY_ID: object.subcategoryId },
    }
    for (const batch of ['a', 'b']) {
      const many = Array.from({ length: 600 }, (_, i) => ({ externalId: `${batch}${i}`, name: 'x' }))
      await service.ok('createEvidences', { ...into, json: { evidences: many } })
    }
    const { dts, count, ...others } = await service.ok('listEvidences', mine)
    const externalIds = dts.map(({ externalId }: { externalId: string }) => externalId)
    assert.deepEqual([new Set(externalIds).size, count, others], [1_201, 1_201, {}])
    assert.deepEqual([externalIds[0], externalIds[600], externalIds[1_200]], ['b599', 'a599', 'seed'])
    const rest = await service.ok('listEvidences', { ...mine, query: { last: dts[99].id } })
    assert.equal(rest.dts.length, 1_101)
    const cutPage = await service.ok('listEvidences', { ...mine, query: { len: '5000' } })
    assert.deepEqual([cutPage.dts.length, cutPage.isMore, cutPage.count], [1_000, true, 1_201])
  })

  it('10: filters by external id, owner, status and creation, sorts by update, and pages by next', async () => {
    const { id, keys } = await service.company('searcher')
    const mine = { key: keys.U, params: { COMPANY_ID: id } }
    const named = (EVIDENCE_EXTERNAL_ID: string) => ({ ...mine, params: { ...mine.params, EVIDENCE_EXTERNAL_ID } })
    for (const [externalId, owner] of [
      ['INV-1', 'Ada'],
      ['INV-2', 'Bob'],
      ['INV-3', 'ada'],
      ['ORDER/1', 'Ada'],
    ])
      await service.ok('createEvidence', { ...mine, json: { ...VEHICLE_CATEGORY, externalId, owner, name: 'x' } })
    await service.ok('updateEvidence', { ...named('INV-1'), json: { actionType: 'stolen' } })
    await service.ok('updateEvidence', { ...named('ORDER/1'), json: { owner: 'Bob' } })
    const list = (query: Record<string, string>) => service.ok('listEvidences', { ...mine, query })
    const namesIn = async (query: Record<string, string>) =>
      (await list(query)).dts.map((item: ServiceResponse['body']) => item.externalId)

    const [, , second] = (await list({})).dts
    assert.deepEqual(await namesIn({ externalId: 'INV-' }), ['INV-3', 'INV-2', 'INV-1'])
    assert.deepEqual(await namesIn({ owner: 'ADA' }), ['INV-3', 'INV-1'])
    assert.deepEqual(await namesIn({ status: 'stolen' }), ['INV-1'])
    assert.deepEqual(await namesIn({ sort: 'updated', externalId: '', status: '' }), [
      'ORDER/1',
      'INV-1',
      'INV-3',
      'INV-2',
    ])
    assert.deepEqual(await namesIn({ createdTo: second.creationDate }), ['INV-1'])
    const from = { createdFrom: second.creationDate.replace('Z', '+00:00') }
    assert.deepEqual(await namesIn({ ...from, owner: 'bob', len: '10' }), ['ORDER/1', 'INV-2'])

    const first = await list({ externalId: 'INV-', len: '2' })
    assert.deepEqual([first.dts.length, first.count, first.isMore, typeof first.next], [2, 3, true, 'string'])
    assert.equal('countIsMore' in first, false)
    const rest = await list({ externalId: 'INV-', len: '2', next: first.next })
    assert.deepEqual(
      [rest.dts.map((item: ServiceResponse['body']) => item.externalId), rest.count, rest.isMore, rest.next],
      [['INV-1'], 3, false, undefined],
    )
    for (const [query, text] of [
      [{ status: 'lost' }, /^status must be one of active, stolen/],
      [{ createdFrom: '2026-01-31' }, /^createdFrom must be a time in RFC 3339/],
      [{ externalId: 'x'.repeat(129) }, /^externalId must be a string of 1 to 128/],
      [{ owner: 'Ada', last: second.id }, /^last is only for lists/],
      [{ externalId: 'INV', next: first.next }, /^next must be what the previous page returned/],
    ] as const) {
      const { body } = await service.fails('listEvidences', 400, 'VALIDATION_ERROR', { ...mine, query })
      assert.match(body.error, text)
    }
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
      (each: ServiceResponse['body']) => each.externalId === 'anchored',
    )
    assert.ok(Number.isInteger(item.blockNumber) && item.blockNumber === item.lastUpdateBlockNumber)
  })
})
