import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OPERATOR } from '../../../core/index.ts'
import { LOAD_LIMITS } from '../../../server/http/load-limits.ts'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { ENDPOINTS, type ServiceResponse } from '../../support/service.ts'

describe('the feed of events', () => {
  const queues = { ...LOAD_LIMITS.queues, reads: { running: 1, waiting: 0 }, held: { running: 1, waiting: 0 } }
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000, loadLimits: { queues } })

  const isHeld = async (count: number): Promise<boolean> =>
    (await acme.service.metrics()).includes(`\nevidence_requests_running{class="held"} ${count}\n`)
  /** A request that is held. */
  async function held(): Promise<{ response: Promise<ServiceResponse> }> {
    const response = acme.call('listEvents', { query: { wait: '55', after: 'latest' } })
    await acme.service.until(() => isHeld(1), 'the request is held')
    return { response }
  }

  it('has ids, txId, type and batch of each event, and a cursor', async () => {
    const created = await acme.create('e-1')
    const page = await acme.ok('listEvents', { query: { len: '1' } })
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
    const wrong = await acme.fails('listEvents', 400, 'VALIDATION_ERROR', { query: { after: '1' } })
    assert.match(wrong.body.error, /^after must be a cursor/)
    await acme.fails('listEvents', 400, 'VALIDATION_ERROR', { query: { wait: '56' } })
  })

  it('holds a request until there is an event, without a place among the reads', async () => {
    const { response } = await held()
    assert.equal((await acme.call('listCategories')).status, 200)
    await acme.fails('listEvents', 503, 'UNAVAILABLE', { query: { after: 'latest', wait: '1' } })
    await acme.create('e-2')
    const { body } = await response
    const externalIds = body.events.map(({ externalId }: { externalId: string }) => externalId)
    assert.deepEqual(externalIds, ['e-2'])
    assert.ok(await isHeld(0), 'it is not held any more')
  })

  it('counts as a list if it is not at the end of the log', async () => {
    const scope = { companyId: 'acme', principal: OPERATOR }
    const isHeavy = (query: Readonly<Record<string, unknown>>) =>
      ENDPOINTS.get('listEvents')?.isHeavy?.(query, { registry: acme.service.registry, scope })
    const { cursor } = await acme.ok('listEvents')
    assert.equal(await isHeavy({ len: 1_000 }), false)
    await acme.service.company('other')
    await acme.service.fill('other', 257)
    assert.deepEqual([await isHeavy({}), await isHeavy({ after: cursor })], [true, true])
    assert.equal(await isHeavy({ after: (await acme.ok('listEvents', { query: { after: cursor } })).cursor }), false)
  })

  it('forgets a request whose client disconnects', async () => {
    const ending = new AbortController()
    const path = '/api/v1/evidences/acme/events?after=latest&wait=55'
    const request = acme.service.fetch(path, { headers: { 'x-api-key': acme.company.keys.R }, signal: ending.signal })
    await acme.service.until(() => isHeld(1), 'the request is held')
    ending.abort()
    await assert.rejects(request, { name: 'AbortError' })
    await acme.service.until(() => isHeld(0), 'it is not held any more')
  })

  it('shows nothing to a key that has ended meanwhile', async () => {
    const { response } = await held()
    const { systems, keys } = acme.company
    const setActive = (active: boolean) =>
      acme.ok('updateSourceSystem', { key: keys.A, params: { SYSTEM_ID: systems.U }, json: { active } })
    await setActive(false)
    await acme.ok('createEvidence', { key: keys.I, json: { ...VEHICLE_CATEGORY, externalId: 'e-3', name: 'x' } })
    assert.equal((await response).status, 401)
    await setActive(true)
  })

  it('ends when the server stops', async () => {
    const { response } = await held()
    acme.service.app.stop()
    const { status, body } = await response
    assert.deepEqual([status, body.events], [200, []])
  })
})
