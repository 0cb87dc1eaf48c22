import assert from 'node:assert/strict'
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import type { Context } from 'koa'
import { OPERATOR, type RecordStore } from '../../../core/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { bytes as bytesReply, json } from '../../../server/contract/reply.ts'
import { LoadShedder } from '../../../server/http/load-shedding.ts'
import { LongResults } from '../../../server/http/long-results.ts'
import { ResponseHead } from '../../../server/http/response-head.ts'
import { MemoryBudget } from '../../../server/http/memory-budget.ts'
import { Portions } from '../../../server/http/portions.ts'
import { LOAD_LIMITS, type QueueName } from '../../../server/http/load-limits.ts'
import { respond } from '../../../server/http/respond.ts'
import type { Sender } from '../../../server/http/sender.ts'
import { MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { serviceFor, startService, type Company, type Service } from '../../support/service.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { stopClock } from '../../support/stopped-clock.ts'

/** Only ends a test that hangs. */
const HANG_MS = 300_000

/** A store whose reads of evidences, and whose commits, wait until the test lets them continue. */
class HeldStore {
  /** Operations that wait. */
  waiting: (() => void)[] = []
  #isHeld = false

  /** A test that fails must not leave the others waiting. */
  hold(t: TestContext): void {
    this.#isHeld = true
    t.after(() => this.release())
  }

  /** Lets the first one continue. */
  releaseOne(): void {
    this.waiting.shift()?.()
  }

  release(): void {
    this.#isHeld = false
    for (const go of this.waiting.splice(0)) go()
  }

  async #pass(): Promise<void> {
    if (this.#isHeld) await new Promise<void>((go) => this.waiting.push(go))
  }

  wrap = (inner: RecordStore) =>
    decorateRecords(inner, {
      get: async (keys) => {
        if (keys.some((key) => /^(ex|ln)\//.test(key))) await this.#pass()
        return inner.get(keys)
      },
      commit: async (commit) => {
        await this.#pass()
        return inner.commit(commit)
      },
    })
}

type Path = Readonly<Record<'CATEGORY_ID' | 'SUBCATEGORY_ID', string>>

async function subcategoryOf({ registry }: Service, { id: companyId }: Company): Promise<Path> {
  const scope = { companyId, principal: OPERATOR }
  const { id: parent } = await registry.categories.create(scope, { name: 'Bulk' })
  const { id } = await registry.categories.create(scope, { name: 'S' }, { parent })
  return { CATEGORY_ID: parent, SUBCATEGORY_ID: id }
}

/** Creates 500 evidences, whose external ids begin with a text. */
const bulkOf =
  (service: Service, { id, keys }: Company, { CATEGORY_ID, SUBCATEGORY_ID }: Path) =>
  (beginning: string): Promise<Response> =>
    service.fetch(`/api/v1/evidences/${id}/category/${CATEGORY_ID}/subcategory/${SUBCATEGORY_ID}/evidences`, {
      method: 'POST',
      headers: { 'x-api-key': keys.U, 'content-type': 'application/json' },
      body: JSON.stringify({
        evidences: Array.from({ length: 500 }, (_, i) => ({ externalId: `${beginning}${i}`, name: 'n' })),
      }),
    })

const queues = (some: Partial<(typeof LOAD_LIMITS)['queues']>) => ({
  queues: { ...LOAD_LIMITS.queues, ...some },
  maxWaitMs: HANG_MS,
})
const metricsOf = async (service: Service): Promise<string> => service.metrics()
const hasMetric = async (service: Service, line: string): Promise<boolean> =>
  (await metricsOf(service)).includes(`\n${line}\n`)

describe('queues', () => {
  const store = new HeldStore()
  const { logger, warnings } = recordingLogger()
  let service: Service
  let acme: Company
  let other: Company
  before(async () => {
    service = await startService({
      logger,
      sealMaxWaitMs: 3_600_000,
      wrapRecords: store.wrap,
      loadLimits: queues({
        reads: { running: 8, waiting: 8 },
        lists: { running: 4, waiting: 4 },
        writes: { running: 8, waiting: 8 },
      }),
    })
    acme = await service.company('acme')
    other = await service.company('other')
  })
  after(() => service.close())

  const read = ({ id, keys }: Company, query = '', level: 'R' | 'U' = 'R') =>
    service.fetch(`/api/v1/evidences/${id}/evidence/none${query}`, { headers: { 'x-api-key': keys[level] } })
  const are = (what: 'running' | 'waiting' | 'rejected_total', queue: QueueName, count: number) =>
    service.until(() => hasMetric(service, `evidence_requests_${what}{class="${queue}"} ${count}`), `${count} ${what}`)

  it('give a company alone all places but one in eight, by all of its keys, and reject the rest at once', async (t) => {
    store.hold(t)
    const requests = Array.from({ length: 14 }, (_, i) => read(acme, '', i % 2 === 0 ? 'R' : 'U'))
    await are('running', 'reads', 7)
    await are('waiting', 'reads', 7)
    const excess = await read(acme)
    assert.deepEqual([excess.status, excess.headers.get('retry-after')], [503, '1'])
    assert.equal(((await excess.json()) as { code: string }).code, 'UNAVAILABLE')
    await are('rejected_total', 'reads', 1)
    assert.ok(warnings.some((message) => message.startsWith('too many requests')))
    assert.equal((await service.fetch('/livez')).status, 200)
    assert.equal((await service.fetch('/api/v1/openapi.json')).status, 200, 'another queue has places')
    requests.push(read(other))
    await are('running', 'reads', 8)
    store.release()
    for (const { status } of await Promise.all(requests)) assert.equal(status, 404)
    await are('running', 'reads', 0)
  })

  it('do not let the commits of a company keep that of another one waiting', async (t) => {
    const create = ({ id, keys }: Company, name: string) =>
      service.call('createCategory', { key: keys.U, params: { COMPANY_ID: id }, json: { name } })
    store.hold(t)
    const requests = Array.from({ length: 14 }, (_, i) => create(acme, `c${i}`))
    await are('running', 'writes', 7)
    await are('waiting', 'writes', 7)
    const { length } = store.waiting
    requests.push(create(other, 'one'))
    await service.until(() => store.waiting.length === length + 1, 'its commit begins')
    store.release()
    for (const { status } of await Promise.all(requests)) assert.equal(status, 201)
  })

  it('let senders that wait take turns, one place each', async (t) => {
    store.hold(t)
    const done: string[] = []
    const send = (company: Company) => void read(company).then(() => done.push(company.id))
    for (let i = 0; i < 12; i++) send(acme)
    await are('running', 'reads', 7)
    for (let i = 0; i < 3; i++) send(other)
    await are('running', 'reads', 8)
    await are('waiting', 'reads', 7)
    // A sender gets seven times what is free: with one place free, acme keeps six and the other gets one.
    const order: string[] = []
    for (let i = 0; done.length < 15; i++) {
      store.releaseOne()
      await service.until(() => done.length === i + 1, 'one more is done')
      await new Promise((resolve) => setImmediate(resolve))
    }
    order.push(...done)
    store.release()
    assert.ok(order.lastIndexOf('other') < 14, `the other company was not the last: ${order.join()}`)
  })

  it('make three long results of a company at a time, and read nothing for those that wait', async (t) => {
    store.hold(t)
    const requests = Array.from({ length: 6 }, () => read(acme, '?len=51'))
    await service.until(() => store.waiting.length === 3, 'three are made')
    await are('waiting', 'lists', 3)
    requests.push(read(acme, '?%6Cen=500'), read(other, '/bundle?fields=all&files=all'))
    await service.until(() => store.waiting.length === 4, 'that of another company is made')
    requests.push(read(acme, '?len=50'))
    await are('running', 'reads', 1)
    store.release()
    for (const { status } of await Promise.all(requests)) assert.equal(status, 404)
  })

  it('create many evidences for three requests of a company at a time', async (t) => {
    const bulk = bulkOf(service, acme, await subcategoryOf(service, acme))
    store.hold(t)
    const requests = Array.from({ length: 6 }, (_, i) => bulk(`${i}-`))
    await service.until(() => store.waiting.length === 3, 'three are made')
    await are('waiting', 'lists', 3)
    store.release()
    for (const { status } of await Promise.all(requests)) assert.equal(status, 201)
  })

  it('count reads among the long results that are long for what they ask, or because the last one was', async (t) => {
    const path = '/api/v1/evidences/acme/evidence/0-0'
    const headers = { 'x-api-key': acme.keys.U, 'content-type': 'application/json' }
    for (let i = 0; i < 5; i++) {
      const body = JSON.stringify({ meta: { text: `${i}`.repeat(60_000) } })
      assert.equal((await service.fetch(path, { method: 'PUT', headers, body })).status, 200)
    }
    assert.ok((await (await service.fetch(path, { headers })).text()).length > 256 * 1024)
    store.hold(t)
    const requests = Array.from({ length: 3 }, () => read(acme, '?len=51'))
    await are('running', 'lists', 3)
    const others = [path, `${path}/files`].map((each) => service.fetch(each, { headers }))
    await are('waiting', 'lists', 2)
    store.release()
    await Promise.all(requests)
    for (const { status } of await Promise.all(others)) assert.equal(status, 200)
  })

  it('take the requests for a long link as those of one sender, from any address', async (t) => {
    const params = { COMPANY_ID: acme.id, EVIDENCE_EXTERNAL_ID: '0-0' }
    const [openLong, openShort] = await Promise.all(
      [{ fields: ['meta'] }, { fields: [] }].map(async ({ fields }) => {
        const { id: SHARE_ID, url } = await service.ok('createShare', {
          key: acme.keys.U,
          params,
          json: { fields, files: [] },
        })
        const headers = { 'x-share-secret': String(url).split('.').at(-1) ?? '' }
        return () => service.fetch(`/api/v1/shares/${SHARE_ID}`, { headers })
      }),
    )
    assert.ok(openLong && openShort)
    assert.ok((await (await openLong()).text()).length > 256 * 1024)
    store.hold(t)
    const requests = Array.from({ length: 5 }, openLong)
    await are('running', 'lists', 3)
    requests.push(openShort())
    await are('running', 'lists', 4)
    store.release()
    for (const { status } of await Promise.all(requests)) assert.equal(status, 200)
  })

  it('are free while bodies arrive', async () => {
    const slow = [acme, undefined].map((company) =>
      new RawRequest(service.port).head(
        'POST',
        company === undefined ? '/api/v1/merkle/validate' : `/api/v1/evidences/${company.id}/evidence`,
        {
          'content-type': company === undefined ? 'application/json' : MULTIPART,
          'content-length': 10_000,
          ...(company && { 'x-api-key': company.keys.U }),
        },
      ),
    )
    await slow[0]?.send(part('name', 'x'))
    await service.until(async () => !(await hasMetric(service, 'evidence_request_body_bytes 0')), 'both are counted')
    for (const queue of ['uploads', 'public'] as const) await are('running', queue, 0)
    for (const request of slow) request.disconnect()
    await service.until(() => hasMetric(service, 'evidence_request_body_bytes 0'), 'their memory is free')
  })
})

describe('the memory for bodies', () => {
  it('is taken from the newest body of the company that has most', async (t) => {
    const service = await serviceFor(t, { sealMaxWaitMs: 3_600_000, loadLimits: { bodyBytes: 1_000_000 } })
    const [acme, other] = [await service.company('acme'), await service.company('other')]
    const begin = async ({ id, keys }: Company, bytes: number): Promise<RawRequest> => {
      const request = new RawRequest(service.port).head('POST', `/api/v1/evidences/${id}/category`, {
        'x-api-key': keys.U,
        'content-type': 'application/json',
        'content-length': 900_000,
      })
      await request.send('x'.repeat(bytes))
      return request
    }
    const held = (bytes: number, bodies: number) =>
      service.until(
        () => hasMetric(service, `evidence_request_body_bytes ${bytes + bodies * 32 * 1024}`),
        `${bytes} bytes of ${bodies} bodies`,
      )
    const first = await begin(acme, 400_000)
    await held(400_000, 1)
    const second = await begin(acme, 300_000)
    await held(700_000, 2)
    const newcomer = await begin(other, 250_000)
    const { status, body } = await second.response()
    assert.deepEqual([status, body['code']], [503, 'UNAVAILABLE'])
    await held(650_000, 2)
    assert.equal(await first.send('x'), true)
    for (const request of [first, newcomer]) request.disconnect()
    await service.until(() => hasMetric(service, 'evidence_request_body_bytes 0'), 'the memory is free')
  })
})

describe('a budget of memory', () => {
  const MAX = 1_000
  const address = (n: number): Sender => ({ name: `address ${n}`, hasKey: false })
  const acme: Sender = { name: 'company acme', hasKey: true }

  it('gives all senders without a key together at most half', () => {
    const budget = new MemoryBudget(MAX)
    const took = Array.from({ length: 20 }, (_, i) => {
      const hasRoom = budget.makeRoom(address(i), 100)
      if (hasRoom) budget.reserve(address(i)).take(100)
      return hasRoom
    })
    assert.equal(took.filter(Boolean).length, 5)
    assert.throws(() => budget.reserve(address(99)).take(1), { code: 'OVERLOADED' })
    budget.reserve(acme).take(400)
    assert.deepEqual([budget.used, budget.rejected], [900, 1])
  })

  it('ends nothing of a company for a sender without a key, if the half of these senders is full', () => {
    const budget = new MemoryBudget(MAX)
    const held = budget.reserve(acme)
    held.take(450)
    held.end = () => assert.fail('it has not ended')
    for (let i = 0; i < 4; i++) budget.reserve(address(i)).take(125)
    assert.equal(budget.makeRoom(address(99), 1), false)
  })

  it('counts nothing for a request that has ended', () => {
    const budget = new MemoryBudget(MAX)
    const ended = budget.reserve(acme)
    ended.take(100)
    ended.release()
    ended.take(100)
    assert.equal(budget.used, 0)
  })

  it('lets a sender alone have more than there is', () => {
    const portions = new Portions(10)
    assert.ok(portions.hasRoom('one', 11))
    portions.add('other', 1)
    assert.ok(!portions.hasRoom('one', 11))
  })

  it('lets a company have what no sender without a key uses', () => {
    const budget = new MemoryBudget(MAX)
    budget.reserve(acme).take(800)
    budget.reserve(address(1)).take(50)
    assert.equal(budget.makeRoom(acme, 1), true)
  })
})

describe('clients that do not read large responses', () => {
  const COUNT = 1_000
  let company: Company
  let service: Service
  /** The server reads it for each response, so that a test can make the server impatient. */
  const loadLimits = { unreadBytes: 32 * 1024 * 1024, stalledReaderMs: HANG_MS }
  before(async () => {
    service = await startService({ sealMaxWaitMs: 3_600_000, loadLimits })
    company = await service.company('acme')
    // 16 MB in all, which the buffers of a connection do not hold.
    await service.fill('acme', COUNT, { summary: 'é'.repeat(8_192) })
  })
  after(() => service.close())

  const PATH = `/api/v1/evidences/acme/evidences?len=${COUNT}`
  /** Requests a page, and reads nothing after its beginning has arrived. */
  const stalled = async (key: string, path = PATH): Promise<Socket> => {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`)
    await once(socket, 'readable')
    return socket
  }
  const read = (key: string): Promise<Response> => service.fetch(PATH, { headers: { 'x-api-key': key } })
  const isRead = (): Promise<boolean> => hasMetric(service, 'evidence_unread_response_bytes 0')

  it('get no more of them, while others and the metrics are still served', async () => {
    const socket = await stalled(company.keys.R)
    const rejected = await read(company.keys.U)
    assert.deepEqual([rejected.status, rejected.headers.get('retry-after')], [503, '1'])
    assert.equal(((await rejected.json()) as { code: string }).code, 'UNAVAILABLE')
    const small = { headers: { 'x-api-key': company.keys.R } }
    assert.equal((await service.fetch('/api/v1/evidences/acme/evidences?len=1', small)).status, 200)
    const metrics = await metricsOf(service)
    assert.ok(metrics.length > 16 * 1024)
    assert.match(metrics, /\nevidence_unread_responses_rejected_total 1\n/)
    socket.destroy()
    await service.until(isRead, 'the bytes are not counted any more')
    const again = await read(company.keys.R)
    assert.equal(again.status, 200)
    await again.arrayBuffer()
  })

  it('lose the oldest of several equally slow ones to a company that has none', async (t) => {
    const pass = stopClock(t)
    const other = await service.company('other')
    await service.fill('other', 400, { summary: 'é'.repeat(8_192) })
    const path = (id: string): string => `/api/v1/evidences/${id}/evidences?len=400`
    const sockets: Socket[] = []
    for (let i = 0; i < 4; i++) {
      sockets.push(await stalled(company.keys.R, path('acme')))
      t.after(() => sockets[i]?.destroy())
    }
    const list = async (): Promise<number> => {
      const response = await service.fetch(path('other'), { headers: { 'x-api-key': other.keys.R } })
      await response.arrayBuffer()
      return response.status
    }
    assert.equal(await list(), 503, 'not before five seconds')
    const bulk = bulkOf(service, company, await subcategoryOf(service, company))
    assert.equal((await bulk('no-room-')).status, 503, 'there is no room for the result')
    const headers = { 'x-api-key': company.keys.R }
    const short = await service.fetch('/api/v1/evidences/acme/evidence/no-room-0', { headers })
    assert.equal(short.status, 404, 'a short history needs none')
    pass(5_000)
    assert.equal(await list(), 200)
    await service.until(() => sockets[0]?.resume().closed === true, 'the oldest has ended')
    for (const socket of sockets.slice(1)) assert.equal(socket.closed, false)
  })
})

describe('a response that its client has not read', () => {
  const NEWCOMER: Sender = { name: 'other', hasKey: true }
  let nowMs = 0
  const budget = (): MemoryBudget => new MemoryBudget(1_000_000, { ends: 'slowest', nowMs: () => nowMs })
  /** Sends a response of so many bytes, and passes it on before anything can fail. */
  const send = async (
    unread: MemoryBudget,
    method: 'GET' | 'POST',
    bytes: number,
    started: (response: ServerResponse) => void = () => undefined,
  ): Promise<ServerResponse> => {
    const req = new IncomingMessage(new Socket())
    const res = new ServerResponse(req)
    started(res)
    const ctx = { method, req, res, writable: true, state: { head: new ResponseHead('id', []) } } as unknown as Context
    const admission = { admit: async () => undefined, release: () => undefined, releaseOnClose: () => undefined }
    const authorization = { renew: () => undefined }
    const sender = { name: 'acme', hasKey: true }
    const options = { status: 201, sender, unread, stalledReaderMs: HANG_MS, admission, authorization }
    await respond(ctx, { kind: 'json', text: 'x'.repeat(bytes) }, options)
    return res
  }

  it('ends for a newcomer, also if it is the result of a write', async () => {
    const unread = budget()
    const [first, second] = [await send(unread, 'POST', 400_000), await send(unread, 'POST', 400_000)]
    assert.equal(unread.makeRoom(NEWCOMER, 300_000), false, 'not before five seconds')
    nowMs += 5_000
    assert.equal(unread.makeRoom(NEWCOMER, 300_000), true)
    assert.deepEqual([first.destroyed, second.destroyed], [true, false])
  })

  it('is counted and not rejected if it is the result of a write, even if there is no room', async () => {
    const unread = budget()
    for (let i = 0; i < 2; i++) await send(unread, 'POST', 900_000)
    assert.deepEqual([unread.used, unread.rejected], [1_800_000, 0])
  })

  it('is counted from 16 KiB on', async () => {
    const unread = budget()
    await send(unread, 'GET', 16_383)
    assert.equal(unread.used, 0)
    await send(unread, 'GET', 16_384)
    assert.equal(unread.used, 16_384)
  })

  it('is the last one of its sender, whatever found no room before', async () => {
    const unread = budget()
    const only = await send(unread, 'POST', 400_000)
    const rejected: ServerResponse[] = []
    await assert.rejects(
      send(unread, 'GET', 700_000, (response) => rejected.push(response)),
      { code: 'OVERLOADED' },
    )
    rejected[0]?.emit('close')
    nowMs += 5_000
    assert.equal(unread.makeRoom(NEWCOMER, 700_000), false)
    assert.equal(only.destroyed, false)
  })
})

it('a long result is expected of the sender and the endpoint that had one, not of bytes that are there already', () => {
  const long = 'x'.repeat(256 * 1024 + 1)
  const [acme, other] = ['acme', 'other'].map((name): Sender => ({ name, hasKey: true }))
  assert.ok(acme && other)
  for (const [reply, expected] of [
    [json(long), true],
    [json(long.slice(1)), false],
    [bytesReply('text/plain', long), true],
    [bytesReply('text/plain', Buffer.from(long)), false],
  ] as const) {
    const results = new LongResults()
    results.note(acme, 'getEvidence', reply)
    assert.equal(results.expects(acme, 'getEvidence'), expected)
    assert.equal(results.expects(other, 'getEvidence') || results.expects(acme, 'listEvents'), false)
  }
})

describe('the shedder', () => {
  it('sheds requests that arrive together with more than it can serve in time, without a key first', async () => {
    let nowMs = 1_000
    const { logger, warnings } = recordingLogger()
    const shedder = new LoadShedder({
      isLimited: (target) => target.startsWith('/api/'),
      logger,
      errorShapeOf: () => 'operation',
      nowMs: () => nowMs,
    })
    const isAdmitted = (headers: Record<string, string>, url = '/api/x'): boolean => {
      const res = { writeHead: () => res, end: () => res }
      return shedder.enter({ url, req: { url, headers, complete: true }, res } as unknown as Context)
    }
    const key = { 'x-api-key': 'k' }
    for (let i = 0; i < 99; i++) assert.ok(isAdmitted(key))
    nowMs += 51
    assert.ok(isAdmitted({}), 'the first 100 are served in any case')
    assert.ok(!isAdmitted({}))
    assert.ok(isAdmitted(key))
    nowMs += 50
    assert.ok(!isAdmitted(key))
    assert.ok(isAdmitted({}, '/livez'))
    // The next slice serves again, although the loop has not paused.
    nowMs += 99
    assert.ok(isAdmitted(key))
    await new Promise((resolve) => setImmediate(resolve))
    nowMs += 51
    assert.ok(isAdmitted(key) && isAdmitted({}), 'after a pause')
    assert.deepEqual([shedder.shed, warnings.length], [2, 1])
  })
})
