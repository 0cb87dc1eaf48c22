import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Logger, Range, RecordStore } from '../../../core/index.ts'
import { decorateRecords } from '../../../core/store/decorate-records.ts'
import { startService, type Company, type Service } from '../../support/service.ts'

/** So many that a list does not fit into the buffers of a connection. */
const COUNT = 20_000
/** Only ends a test that hangs. */
const HANG_MS = 300_000
/** Every list that stands still is ended after this time, on a slow machine also later. */
const SHORT_IDLE_MS = 1_000

/** The store, and whether a list iterator is open. */
class ObservedStore {
  openLists = 0
  failsLists = false
  /** Lists of evidences that wait. */
  heldLists = 0
  #held: Promise<void> | undefined

  wrap(records: RecordStore): RecordStore {
    return decorateRecords(records, { list: (range) => this.#observed(range, records.list(range)) })
  }

  /** Lists of evidences wait until the returned function is called. */
  hold(): () => void {
    let release = (): void => undefined
    this.#held = new Promise((resolve) => {
      release = () => {
        this.#held = undefined
        resolve()
      }
    })
    return release
  }

  async #wait(held: Promise<void>): Promise<void> {
    this.heldLists++
    await held
    this.heldLists--
  }

  async *#observed<T>(range: Range, entries: AsyncIterable<T>): AsyncGenerator<T> {
    if (this.failsLists) throw new Error('The disk failed')
    this.openLists++
    try {
      if (this.#held !== undefined && range.gte.startsWith('el/')) await this.#wait(this.#held)
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
  /** Ids of the requests whose responses were not sent completely. */
  const abortedIds = new Set<unknown>()
  const logger: Logger = {
    debug() {},
    info(fields) {
      if ('aborted' in fields) abortedIds.add(Reflect.get(fields, 'requestId'))
    },
    warn() {},
    error() {},
  }
  /** The server reads it for each list, so that a test can make the server impatient for its own lists only. */
  const streamLimits = { maxPerKey: 2, idleMs: HANG_MS }
  const warnings: Error[] = []
  const noteWarning = (warning: Error): number => warnings.push(warning)
  before(async () => {
    process.on('warning', noteWarning)
    service = await startService({
      logger,
      sealMaxWaitMs: 3_600_000,
      wrapRecords: (records) => store.wrap(records),
      streamLimits,
    })
    company = await service.company('acme')
    const scope = { companyId: 'acme', principal: { kind: 'operator' } } as const
    const { id: categoryId } = await service.registry.categories.create(scope, { name: 'C' })
    const { id: subcategoryId } = await service.registry.categories.create(scope, { name: 'S' }, { parent: categoryId })
    for (let i = 0; i < COUNT; i += 1_000) {
      const evidences = Array.from({ length: 1_000 }, (_, j) => ({
        externalId: `e${i + j}`,
        name: 'n'.repeat(200),
        summary: 's'.repeat(2_000),
      }))
      await service.registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences })
    }
  })
  after(async () => {
    process.off('warning', noteWarning)
    await service.close()
  })

  const request = (id: string, query = '') => {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined)
    socket.write(
      `GET /api/v1/evidences/acme/evidences${query} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${company.keys.R}\r\nX-Request-Id: ${id}\r\n\r\n`,
    )
    return socket
  }
  /** Requests the list, and reads nothing after its beginning has arrived. */
  const stalled = async (id: string, query = '') => {
    const socket = request(id, query)
    await once(socket, 'readable')
    return socket
  }
  const list = () => service.call('listEvidences', { key: company.keys.R, params: { COMPANY_ID: 'acme' } })
  /** Waits until the server has noticed that the connection of a request has ended. */
  const untilAborted = (...ids: readonly string[]) =>
    service.until(() => ids.every((id) => abortedIds.has(id)), `${ids.join(' and ')} have ended`)
  /** The status of a list of which only the beginning is read. It is not open any more when this returns. */
  const statusOfList = async (): Promise<number> => {
    const id = randomUUID()
    const { status, body } = await service.fetch('/api/v1/evidences/acme/evidences', {
      headers: { 'x-api-key': company.keys.R, 'x-request-id': id },
    })
    await body?.cancel()
    if (status === 200) await untilAborted(id)
    return status
  }

  it('is at most two at a time for a key, and holds nothing of the store while the client reads nothing', async () => {
    const sockets = await Promise.all([stalled('first'), stalled('second', '?sort=updated')])
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
    for (const socket of sockets) socket.destroy()
    await untilAborted('first', 'second')
    assert.equal(await statusOfList(), 200)
  })

  it('ends if the client reads nothing', async () => {
    streamLimits.idleMs = SHORT_IDLE_MS
    const sockets = [request('slow'), request('slower', '?sort=updated')]
    await untilAborted('slow', 'slower')
    streamLimits.idleMs = HANG_MS
    assert.equal(await statusOfList(), 200)
    for (const socket of sockets) socket.destroy()
  })

  it('is not counted any more if the client disconnects before its first page was read', async () => {
    for (let i = 0; i < 2; i++) {
      const release = store.hold()
      const socket = request(`early-${i}`)
      await service.until(() => store.heldLists === 1, 'the first page is read')
      socket.destroy()
      await untilAborted(`early-${i}`)
      release()
      await service.until(() => store.heldLists === 0 && store.openLists === 0, 'the first page was read')
    }
    assert.equal(await statusOfList(), 200)
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

  it('adds fewer listeners to a response than Node reports as a leak', () => {
    assert.deepEqual(
      warnings.filter(({ name }) => name === 'MaxListenersExceededWarning'),
      [],
    )
  })
})
