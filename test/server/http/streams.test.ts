import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { RecordStore } from '../../../core/index.ts'
import type { Range } from '../../../core/ports/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { CompanyRequests } from '../../support/company-requests.ts'
import { serviceFor } from '../../support/service.ts'

/** So many that a list does not fit into the buffers of a connection. */
const COUNT = 8_000
/** Only ends a test that hangs. */
const HANG_MS = 300_000

/** The store, and whether a list iterator is open. */
class ObservedStore {
  openLists = 0
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
    this.openLists++
    try {
      if (this.#held !== undefined && range.gte.startsWith('ev/')) await this.#wait(this.#held)
      yield* entries
    } finally {
      this.openLists--
    }
  }
}

describe('a long list', () => {
  const store = new ObservedStore()
  const { logger, lines } = recordingLogger()
  const warnings: Error[] = []
  const noteWarning = (warning: Error): number => warnings.push(warning)
  const acme = new CompanyRequests({
    logger,
    sealMaxWaitMs: 3_600_000,
    wrapRecords: (records) => store.wrap(records),
    loadLimits: { stalledReaderMs: HANG_MS },
  })
  before(async () => {
    process.on('warning', noteWarning)
    await acme.service.fill('acme', COUNT, { name: 'n'.repeat(200), summary: 's'.repeat(2_000) })
  })
  after(() => process.off('warning', noteWarning))

  const request = (id: string, query = '') => {
    const socket = connect(acme.service.port, '127.0.0.1').on('error', () => undefined)
    socket.write(
      `GET /api/v1/evidences/acme/evidences${query} HTTP/1.1\r\nHost: x\r\nX-API-Key: ` +
        `${acme.company.keys.R}\r\nX-Request-Id: ${id}\r\n\r\n`,
    )
    return socket
  }
  /** Requests the list, and reads nothing after its beginning has arrived. */
  const stalled = async (id: string, query = '') => {
    const socket = request(id, query)
    await once(socket, 'readable')
    return socket
  }
  const list = (query = {}) => acme.ok('listEvidences', { query })
  /** Waits until the server has noticed that the connection of a request has ended. */
  const untilAborted = (...ids: readonly string[]) =>
    acme.service.until(
      () => ids.every((id) => lines.some((line) => line['requestId'] === id && 'aborted' in line)),
      `${ids.join(' and ')} have ended`,
    )
  /** The status of a list of which only the beginning is read. It is not open any more when this returns. */
  const statusOfList = async (): Promise<number> => {
    const id = randomUUID()
    const { status, body } = await acme.service.fetch('/api/v1/evidences/acme/evidences', {
      headers: { 'x-api-key': acme.company.keys.R, 'x-request-id': id },
    })
    await body?.cancel()
    if (status === 200) await untilAborted(id)
    return status
  }

  it('holds nothing of the store while the clients read nothing, and does not keep other lists waiting', async () => {
    const ids = Array.from({ length: 8 }, () => randomUUID())
    const sockets = await Promise.all(ids.map((id, i) => stalled(id, i % 2 === 0 ? '' : '?sort=updated')))
    await acme.service.until(() => store.openLists === 0, 'no iterator is open while the clients stall')
    await list({ len: '1' })
    for (const socket of sockets) socket.destroy()
    await untilAborted(...ids)
    assert.equal(await statusOfList(), 200)
  })

  it('gives its turn back if the client disconnects before its first page was read', async () => {
    for (let i = 0; i < 8; i++) {
      const release = store.hold()
      const socket = request(`early-${i}`)
      await acme.service.until(() => store.heldLists === 1, 'the first page is read')
      socket.destroy()
      await untilAborted(`early-${i}`)
      release()
      await acme.service.until(() => store.heldLists === 0 && store.openLists === 0, 'the first page was read')
    }
    assert.equal(await statusOfList(), 200)
  })

  it('adds fewer listeners to a response than Node reports as a leak', () => {
    const unexpected = warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')
    assert.deepEqual(unexpected, [])
  })
})

it('a list whose client reads nothing ends', async (t) => {
  const service = await serviceFor(t, { sealMaxWaitMs: 3_600_000, loadLimits: { stalledReaderMs: 1_000 } })
  const { keys } = await service.company('acme')
  // 16 MB in all, which the buffers of a connection do not hold.
  await service.fill('acme', 1_000, { summary: 'é'.repeat(8_192) })
  const isUnread = async (): Promise<boolean> =>
    !(await service.metrics()).includes('\nevidence_unread_response_bytes 0\n')
  for (const query of ['', '?sort=updated', '?len=1000']) {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined)
    socket.write(`GET /api/v1/evidences/acme/evidences${query} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${keys.R}\r\n\r\n`)
    await once(socket, 'readable')
    await service.until(async () => !(await isUnread()), `the server has ended the response to ${query}`)
    socket.destroy()
  }
})

it('a part of a long response counts with its length as unread', async (t) => {
  const service = await serviceFor(t, { sealMaxWaitMs: 3_600_000, loadLimits: { unreadBytes: 2 * 1024 * 1024 } })
  const { keys } = await service.company('acme')
  const scope = { companyId: 'acme', principal: { kind: 'operator' } } as const
  const statusOfExport = async (): Promise<number> => {
    const response = await service.fetch('/api/v1/evidences/acme/export', { headers: { 'x-api-key': keys.A } })
    await response.text()
    return response.status
  }
  const category = { category: { name: 'C' }, subcategory: { name: 'S' } }
  await service.registry.evidences.create(scope, { externalId: 'e', name: 'n', ...category })
  assert.equal(await statusOfExport(), 200)
  for (let i = 0; i < 40; i++)
    await service.registry.evidences.update(scope, 'e', { meta: { i, text: 'x'.repeat(60_000) } })
  assert.equal(await statusOfExport(), 503)
  assert.match(await service.metrics(), /\nevidence_unread_response_bytes 0\n/)
})
