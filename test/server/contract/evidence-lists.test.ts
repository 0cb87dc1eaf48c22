import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, of, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import type { ServiceResponse } from '../../support/service.ts'

type Body = ServiceResponse['body']
type Query = Readonly<Record<string, string>>

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const namesOf = ({ dts }: Body): string[] => dts.map(({ externalId }: Body) => externalId)

describe('lists of evidences', () => {
  const acme = new CompanyRequests()

  /** Requests in a company of its own. */
  const companyOf = async (id: string) => {
    const { keys } = await acme.service.company(id)
    const own = { key: keys.U, params: { COMPANY_ID: id } }
    const list = (query: Query = {}): Promise<Body> => acme.ok('listEvidences', { ...own, query })
    const rejects = (query: Query) => acme.fails('listEvidences', 400, 'VALIDATION_ERROR', { ...own, query })
    const create = (json: object) => acme.ok('createEvidence', { ...own, json: { ...VEHICLE_CATEGORY, ...json } })
    const named = (externalId: string) => ({ ...own, params: { ...own.params, ...of(externalId).params } })
    return { own, list, rejects, create, named }
  }

  it('10: lists the newest first, filters and pages', async () => {
    await acme.create('foreign')
    const { list, rejects, create } = await companyOf('lister')
    for (let i = 0; i < 5; i++)
      await create({ subcategoryName: i < 3 ? 'S' : 'T', externalId: `l${i}`, name: `N${i}`, summary: 'sum' })
    const all = await list()
    assert.deepEqual([namesOf(all), all.count, all.isMore], [['l4', 'l3', 'l2', 'l1', 'l0'], 5, undefined])
    const [newest] = all.dts
    const { id, creationDate, categoryId, subcategoryId, txId, blockNumber, lastUpdateBlockNumber } = newest
    assert.deepEqual(newest, {
      id,
      externalId: 'l4',
      name: 'N4',
      creationDate,
      owner: { name: '' },
      historyChanges: { create: 1, update: 0, transfer: 0, total: 1 },
      categoryId,
      subcategoryId,
      txId,
      summary: 'sum',
      lastUpdateDate: creationDate,
      lastUpdateTxId: txId,
      stolen: false,
      ...(blockNumber !== undefined && { blockNumber, lastUpdateBlockNumber }),
    })
    const first = await list({ len: '2' })
    assert.deepEqual([first.dts.length, first.isMore, first.count], [2, true, 5])
    for (const last of [first.dts[1].id, first.dts[1].id.toUpperCase()]) {
      const second = await list({ len: '3', last })
      assert.deepEqual([namesOf(second), second.isMore], [['l2', 'l1', 'l0'], false])
    }
    assert.deepEqual(namesOf(await list({ categoryId, subcategoryId, len: '1' })), ['l4'])
    assert.equal((await list({ subcategoryId: all.dts[4].subcategoryId })).count, 3)
    assert.deepEqual(await list({ categoryId: 'unknown' }), { dts: [], count: 0 })
    for (const query of [{ last: 'unknown' }, { colour: 'blue' }, { last: (await acme.page('foreign')).object.id }])
      await rejects(query)
    const text = 'len must be an integer of at least 1; values above 1000 count as 1000'
    for (const len of ['0', '-1', 'x', '1.5']) assert.equal((await rejects({ len })).body.error, text)
    assert.equal((await list({ len: '9'.repeat(30) })).dts.length, 5)
  })

  it('10: streams a list of many pages without len, and cuts len to 1,000', async () => {
    const { own, list, create, named } = await companyOf('big')
    await create({ externalId: 'seed', name: 'x' })
    const { object } = await acme.ok('getEvidence', named('seed'))
    const params = { ...own.params, CATEGORY_ID: object.categoryId, SUBCATEGORY_ID: object.subcategoryId }
    for (const batch of ['a', 'b']) {
      const evidences = Array.from({ length: 600 }, (_, i) => ({ externalId: `${batch}${i}`, name: 'x' }))
      await acme.ok('createEvidences', { ...own, params, json: { evidences } })
    }
    const whole = await list()
    const { dts, count, ...others } = whole
    const externalIds = namesOf(whole)
    assert.deepEqual([new Set(externalIds).size, count, others], [1_201, 1_201, {}])
    assert.deepEqual([externalIds[0], externalIds[600], externalIds[1_200]], ['b599', 'a599', 'seed'])
    assert.equal((await list({ last: dts[99].id })).dts.length, 1_101)
    const cutPage = await list({ len: '5000' })
    assert.deepEqual([cutPage.dts.length, cutPage.isMore, cutPage.count], [1_000, true, 1_201])
  })

  it('10: filters by external id, owner, status and creation, sorts by update, and pages by next', async () => {
    const { list, rejects, create, named } = await companyOf('searcher')
    const owners = { 'INV-1': 'Ada', 'INV-2': 'Bob', 'INV-3': 'ada', 'ORDER/1': 'Bob' }
    for (const [externalId, owner] of Object.entries(owners)) await create({ externalId, owner, name: 'x' })
    await acme.ok('updateEvidence', { ...named('INV-1'), json: { actionType: 'stolen' } })
    const [, , second] = (await list()).dts
    const found: readonly (readonly [Query, readonly string[]])[] = [
      [{ externalId: 'ORDER/' }, ['ORDER/1']],
      [{ owner: 'ADA' }, ['INV-3', 'INV-1']],
      [{ status: 'stolen' }, ['INV-1']],
      [{ sort: 'updated', owner: 'ada', externalId: '', status: '' }, ['INV-1', 'INV-3']],
      [{ owner: 'Ada', categoryId: 'unknown' }, []],
      [{ createdTo: second.creationDate }, ['INV-1']],
      [{ createdFrom: second.creationDate.replace('Z', '+00:00'), owner: 'Bob' }, ['ORDER/1', 'INV-2']],
    ]
    for (const [query, names] of found) assert.deepEqual(namesOf(await list(query)), names, JSON.stringify(query))

    const first = await list({ externalId: 'INV-', len: '2' })
    assert.deepEqual([first.dts.length, first.count, first.isMore, typeof first.next], [2, 3, true, 'string'])
    assert.equal('countIsMore' in first, false)
    const rest = await list({ externalId: 'INV-', len: '2', next: first.next })
    assert.deepEqual([namesOf(rest), rest.count, rest.isMore, rest.next], [['INV-1'], 3, false, undefined])
    assert.deepEqual(Object.keys(await list({ owner: 'Ada' })).toSorted(), ['count', 'dts'])

    for (const [query, text] of [
      [{ status: 'lost' }, /^status must be one of active, stolen/],
      [{ sort: 'name' }, /^sort must be one of updated/],
      [{ createdFrom: '2026-01-31' }, /^createdFrom must be a time in RFC 3339/],
      [{ createdTo: '2026-02-31T25:00:00Z' }, /^createdTo must be a time/],
      [{ owner: 'x'.repeat(257) }, /^owner must be a string of 1 to 256/],
      [{ owner: 'Ada', len: '0' }, /^len must be/],
      [{ owner: 'Ada', last: second.id }, /^last is only for lists/],
      [{ next: first.next }, /^next is only for lists/],
      [{ externalId: 'INV', next: first.next }, /^next must be what the previous page returned/],
    ] as const)
      assert.match((await rejects(query)).body.error, text)
  })

  it('10, 11: block numbers and batch states appear when the anchor is confirmed', async () => {
    await acme.create('anchored')
    const isConfirmed = async () => (await acme.page('anchored')).events[0].merkleSendStatus === 'C'
    await acme.service.until(isConfirmed, 'the anchor is confirmed')
    assert.match((await acme.page('anchored')).events[0].merkleBatchId, uuid7)
    const { dts } = await acme.ok('listEvidences')
    const item = dts.find(({ externalId }: Body) => externalId === 'anchored')
    assert.ok(Number.isInteger(item.blockNumber) && item.blockNumber === item.lastUpdateBlockNumber)
  })
})
