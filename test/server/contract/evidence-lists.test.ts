import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, of, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import type { ServiceResponse } from '../../support/service.ts'

type Body = ServiceResponse['body']
type Query = Readonly<Record<string, string>>

const namesOf = ({ dts }: Body): string[] => dts.map(({ externalId }: Body) => externalId)

// What lists have is tested in core/registry/search.test.ts, the members of an item in evidence-list-json.test.ts.
describe('lists of evidences', () => {
  const acme = new CompanyRequests()

  /** Requests in a company of its own. */
  const companyOf = async (id: string) => {
    const { keys } = await acme.service.company(id)
    const own = { key: keys.U, params: { COMPANY_ID: id } }
    const list = (query: Query = {}): Promise<Body> => acme.ok('listEvidences', { ...own, query })
    const rejects = (query: Query) => acme.fails('listEvidences', 400, 'VALIDATION_ERROR', { ...own, query })
    return { own, list, rejects }
  }

  it('10: is whole without len, which is cut to 1,000, and pages by last', async () => {
    const { list, rejects } = await companyOf('big')
    await acme.service.fill('big', 1_201)
    const whole = await list()
    const { dts, count, ...others } = whole
    const externalIds = namesOf(whole)
    assert.deepEqual([new Set(externalIds).size, count, others], [1_201, 1_201, {}])
    assert.deepEqual([externalIds[0], externalIds[600], externalIds[1_200]], ['e1200', 'e600', 'e0'])
    assert.equal((await list({ last: dts[99].id })).dts.length, 1_101)
    for (const len of ['5000', '9'.repeat(30)]) {
      const cutPage = await list({ len })
      assert.deepEqual([cutPage.dts.length, cutPage.isMore, cutPage.count], [1_000, true, 1_201])
    }
    for (const last of [dts[1_197].id, dts[1_197].id.toUpperCase()]) {
      const page = await list({ len: '3', last })
      assert.deepEqual([namesOf(page), page.isMore], [['e2', 'e1', 'e0'], false])
    }
    const text = 'len must be an integer of at least 1; values above 1000 count as 1000'
    assert.equal((await rejects({ len: '0' })).body.error, text)
  })

  it('10: takes every filter by its name, sorts by update, and pages by next', async () => {
    const { own, list, rejects } = await companyOf('searcher')
    const owners = { 'INV-1': 'Ada', 'INV-2': 'Bob', 'INV-3': 'ada', 'ORDER/1': 'Bob' }
    for (const [externalId, owner] of Object.entries(owners)) {
      const subcategoryName = externalId.slice(0, 3)
      const json = { ...VEHICLE_CATEGORY, subcategoryName, externalId, owner, name: 'x' }
      await acme.ok('createEvidence', { ...own, json })
    }
    const stolen = { ...own, params: { ...own.params, ...of('INV-1').params }, json: { actionType: 'stolen' } }
    await acme.ok('updateEvidence', stolen)
    const [order, , second] = (await list()).dts
    const found: readonly (readonly [Query, readonly string[]])[] = [
      [{ externalId: 'ORDER/' }, ['ORDER/1']],
      [{ owner: 'ADA' }, ['INV-3', 'INV-1']],
      [{ q: 'order' }, ['ORDER/1']],
      [{ status: 'stolen' }, ['INV-1']],
      [{ sort: 'updated', owner: 'ada', externalId: '', status: '' }, ['INV-1', 'INV-3']],
      [{ owner: 'Ada', categoryId: 'unknown' }, []],
      [{ subcategoryId: order.subcategoryId, len: '5' }, ['ORDER/1']],
      [{ createdTo: second.creationDate }, ['INV-1']],
      [{ createdFrom: second.creationDate.replace('Z', '+00:00'), owner: 'Bob' }, ['ORDER/1', 'INV-2']],
    ]
    for (const [query, names] of found) assert.deepEqual(namesOf(await list(query)), names, JSON.stringify(query))

    const first = await list({ externalId: 'INV-', len: '2' })
    assert.deepEqual([first.dts.length, first.count, first.isMore, typeof first.next], [2, 3, true, 'string'])
    const rest = await list({ externalId: 'INV-', len: '2', next: first.next })
    assert.deepEqual([namesOf(rest), rest.count, rest.isMore, rest.next], [['INV-1'], 3, false, undefined])
    assert.deepEqual(Object.keys(await list({ owner: 'Ada' })).toSorted(), ['count', 'dts'])

    for (const [query, text] of [
      [{ status: 'lost' }, /^status must be one of active, stolen/],
      [{ sort: 'name' }, /^sort must be one of updated/],
      [{ createdFrom: '2026-01-31' }, /^createdFrom must be a time in RFC 3339/],
      [{ createdTo: '2026-02-31T25:00:00Z' }, /^createdTo must be a time/],
      [{ owner: 'x'.repeat(257) }, /^owner must be a string of 1 to 256/],
      [{ last: 'unknown' }, /^last must be/],
      [{ owner: 'Ada', last: second.id }, /^last is only for lists/],
      [{ next: first.next }, /^next is only for lists/],
      [{ externalId: 'INV', next: first.next }, /^next must be what the previous page returned/],
    ] as const)
      assert.match((await rejects(query)).body.error, text)
  })
})
