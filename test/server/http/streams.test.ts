import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { RecordStore } from '../../../core/index.ts'
import { startService, type Company, type Service } from '../../support/service.ts'

const COUNT = 20_000

/** The store, and whether a list iterator is open. */
class ObservedStore {
  openLists = 0
  failsLists = false

  wrap(records: RecordStore): RecordStore {
    const list: RecordStore['list'] = (range) => this.#observed(records.list(range))
    return new Proxy(records, {
      get: (target, name) => {
        if (name === 'list') return list
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  async *#observed<T>(entries: AsyncIterable<T>): AsyncGenerator<T> {
    if (this.failsLists) throw new Error('The disk failed')
    this.openLists++
    try {
      yield* entries
    } finally {
      this.openLists--
    }
  }
}

describe('a long list', () => {
  const store = new ObservedStore()
  let service: Service
  let company: Company
  before(async () => {
    service = await startService({
      sealMaxWaitMs: 3_600_000,
      wrapRecords: (records) => store.wrap(records),
      streamLimits: { maxPerKey: 2, idleMs: 3_000 },
    })
    company = await service.company('acme')
    const scope = { companyId: 'acme', principal: { kind: 'operator' } } as const
    const { id: categoryId } = await service.registry.categories.create(scope, { name: 'C' })
    const { id: subcategoryId } = await service.registry.categories.createSubcategory(scope, categoryId, { name: 'S' })
    for (let i = 0; i < COUNT; i += 1_000) {
      const evidences = Array.from({ length: 1_000 }, (_, j) => ({
        externalId: `e${i + j}`,
        name: 'n'.repeat(200),
        summary: 's'.repeat(2_000),
      }))
      await service.registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences })
    }
  })
  after(() => service.close())

  /** Requests the list, and reads nothing after its beginning has arrived. */
  const stalled = async (query = '') => {
    const socket = connect(service.port, '127.0.0.1')
    socket.write(
      `GET /api/v1/evidences/acme/evidences${query} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${company.keys.R}\r\n\r\n`,
    )
    await once(socket, 'readable')
    return socket
  }
  const list = () => service.call('listEvidences', { key: company.keys.R, params: { COMPANY_ID: 'acme' } })

  it('is at most two at a time for a key, holds nothing of the store, and ends if the client reads nothing', async () => {
    const sockets = await Promise.all([stalled(), stalled('?sort=updated')])
    await service.until(async () => (await list()).status === 429, 'both are open')
    await service.fails('listEvidences', 429, 'RATE_LIMITED', { key: company.keys.R, params: { COMPANY_ID: 'acme' } })
    assert.equal(
      (
        await service.call('listEvidences', {
          key: company.keys.U,
          params: { COMPANY_ID: 'acme' },
          query: { len: '1' },
        })
      ).status,
      200,
    )
    await service.until(() => store.openLists === 0, 'no iterator is open while the clients stall')
    await service.until(async () => (await list()).status === 200, 'the stalled responses were ended')
    for (const socket of sockets) socket.destroy()
  })

  it('is the whole list if it is filtered and sorted, also if many pages have no match', async () => {
    const { body } = await service.call('listEvidences', {
      key: company.keys.R,
      params: { COMPANY_ID: 'acme' },
      query: { sort: 'updated', externalId: 'e1' },
    })
    const count = Array.from({ length: COUNT }, (_, i) => `e${i}`).filter((id) => id.startsWith('e1')).length
    assert.deepEqual([body.dts.length, body.countIsMore], [count, true])
    const oldest = { sort: 'updated', externalId: 'e77' }
    const { body: few } = await service.call('listEvidences', {
      key: company.keys.R,
      params: { COMPANY_ID: 'acme' },
      query: oldest,
    })
    assert.equal(few.dts.length, 111)
  })

  it('ends without its last byte if the store fails', async () => {
    const response = await service.fetch('/api/v1/evidences/acme/evidences', {
      headers: { 'x-api-key': company.keys.R },
    })
    assert.equal(response.status, 200)
    store.failsLists = true
    try {
      await assert.rejects(response.text())
    } finally {
      store.failsLists = false
    }
    const { body } = await list()
    assert.equal(body.dts.length, COUNT)
  })
})
