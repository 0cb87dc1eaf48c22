import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LOAD_LIMITS } from '../../../server/http/overload.ts'
import { startService, type Company, type Service, type ServiceResponse } from '../../support/service.ts'

describe('the feed of events', () => {
  let service: Service
  let company: Company
  const evidence = { categoryName: 'Vehicles', subcategoryName: 'Cars', name: 'Golf' }
  before(async () => {
    const lanes = { ...LOAD_LIMITS.lanes, reads: { running: 1, waiting: 0 }, held: { running: 1, waiting: 0 } }
    service = await startService({ sealMaxWaitMs: 3_600_000, loadLimits: { lanes } })
    company = await service.company('acme')
  })
  after(() => service.close())

  const call = (query: Record<string, string>, level: 'R' | 'U' = 'R') => ({
    key: company.keys[level],
    params: { COMPANY_ID: 'acme' },
    query,
  })
  const isHeld = async (count: number): Promise<boolean> =>
    (await service.metrics()).includes(`\nevidence_requests_running{class="held"} ${count}\n`)
  /** A request that is held. */
  async function held(
    query: Record<string, string>,
    level?: 'R' | 'U',
  ): Promise<{ response: Promise<ServiceResponse> }> {
    const response = service.call('listEvents', call({ wait: '55', ...query }, level))
    await service.until(() => isHeld(1), 'the request is held')
    return { response }
  }
  const create = (externalId: string) =>
    service.ok('createEvidence', { ...call({}, 'U'), json: { ...evidence, externalId } })

  it('has ids, txId, type and batch of each event, and a cursor', async () => {
    const created = await create('e-1')
    const page = await service.ok('listEvents', call({ len: '1' }))
    const [event] = page.events
    assert.match(event.timestamp, /Z$/)
    assert.deepEqual(page, {
      events: [
        {
          cursor: page.cursor,
          externalId: 'e-1',
          version: 1,
          type: 'create',
          txId: created.txId,
          id: created.id,
          timestamp: event.timestamp,
          merkleBatchId: null,
          merkleSendStatus: null,
        },
      ],
      cursor: page.cursor,
      isMore: false,
    })
    await service.fails('listEvents', 400, 'VALIDATION_ERROR', call({ after: '1' }))
    await service.fails('listEvents', 400, 'VALIDATION_ERROR', call({ wait: '56' }))
  })

  it('holds a request until there is an event, without a place among the reads', async () => {
    const { response } = await held({ after: 'latest' })
    assert.equal((await service.call('listCategories', call({}))).status, 200)
    await service.fails('listEvents', 503, 'UNAVAILABLE', call({ after: 'latest', wait: '1' }))
    await create('e-2')
    const { body } = await response
    assert.deepEqual(
      body.events.map(({ externalId }: { externalId: string }) => externalId),
      ['e-2'],
    )
    assert.ok(await isHeld(0), 'it is not held any more')
  })

  it('forgets a request whose client disconnects', async () => {
    const ending = new AbortController()
    const path = '/api/v1/evidences/acme/events?after=latest&wait=55'
    const request = service.fetch(path, { headers: { 'x-api-key': company.keys.R }, signal: ending.signal })
    await service.until(() => isHeld(1), 'the request is held')
    ending.abort()
    await assert.rejects(request, { name: 'AbortError' })
    await service.until(() => isHeld(0), 'it is not held any more')
  })

  it('shows nothing to a key that has ended meanwhile', async () => {
    const { response } = await held({ after: 'latest' }, 'U')
    const system = { COMPANY_ID: 'acme', SYSTEM_ID: company.systems.U }
    await service.ok('updateSourceSystem', { key: company.keys.A, params: system, json: { active: false } })
    const json = { ...evidence, externalId: 'e-3' }
    await service.ok('createEvidence', { key: company.keys.I, params: { COMPANY_ID: 'acme' }, json })
    assert.equal((await response).status, 401)
  })

  it('ends when the server stops', async () => {
    const { response } = await held({ after: 'latest' })
    service.app.stop()
    const { status, body } = await response
    assert.deepEqual([status, body.events], [200, []])
  })
})
