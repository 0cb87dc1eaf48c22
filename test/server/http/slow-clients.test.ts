import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AdmissionQueue } from '../../../server/http/admission-queue.ts'
import { QUEUE_NAMES, LOAD_LIMITS, type QueueName } from '../../../server/http/load-limits.ts'
import { slowestOf, type Holding } from '../../../server/http/slow-clients.ts'
import { MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { formOf } from '../../support/form.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { startService, type Company } from '../../support/service.ts'
import { stopClock } from '../../support/stopped-clock.ts'

/** Only ends a test that hangs. */
const HANG_MS = 300_000
const LEAST_MS = 5_000
/** A queue looks again for a place that can be taken back. */
const LOOK_AGAIN_MS = 250
/** Queues of which a running request can wait for its client. */
const CLIENT_QUEUES: readonly QueueName[] = ['uploads', 'downloads', 'held']

/** A request that runs. */
interface Running {
  readonly sender: string
  readonly leave: () => void
  /** What the client sends or reads in all its time. */
  readonly bytes: number
}

/** The server works on all others. */
const isEndable = ({ bytes }: Pick<Running, 'bytes'>): boolean => bytes >= 100

/** A queue with a clock of its own, whose senders send as many requests as it accepts. */
class CrowdedQueue {
  readonly queue: AdmissionQueue
  readonly awaitsClients: boolean
  /** In the order in which they began. */
  running: Running[] = []
  /** Those that were told to end. */
  readonly ending: Running[] = []
  #nowMs = 0
  readonly #t: TestContext

  constructor(t: TestContext, name: QueueName) {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    this.#t = t
    this.awaitsClients = CLIENT_QUEUES.includes(name)
    this.queue = new AdmissionQueue(LOAD_LIMITS.queues[name], { maxWaitMs: HANG_MS, nowMs: () => this.#nowMs })
  }

  async enter(sender: string, isCrowd = false): Promise<void> {
    const by = { name: sender, hasKey: true, isCrowd }
    await this.queue.enter(by)
    // The pace of the clients is in no order.
    const bytes = (this.running.length * 7_919) % 1_000
    const end = (): void => void this.ending.push(request)
    const client = { bytes: 0, end: isEndable({ bytes }) ? end : undefined }
    const holding = this.awaitsClients ? this.queue.awaitClient(by, client) : undefined
    client.bytes = bytes
    const request = { sender, bytes, leave: () => this.queue.leave(by, holding) }
    this.running.push(request)
  }

  async fillWith(senders: readonly string[]): Promise<void> {
    const inProgress = (): number => this.queue.state.running + this.queue.state.waiting
    for (const sender of senders)
      for (let count = -1; count < inProgress(); await nextTurn()) {
        count = inProgress()
        this.enter(sender).catch(() => undefined)
      }
  }

  async pass(ms: number): Promise<void> {
    this.#nowMs += ms
    this.#t.mock.timers.tick(LOOK_AGAIN_MS)
    await nextTurn()
  }

  /** Ends a request, so that another one can begin. */
  async end(request: Running): Promise<void> {
    this.running = this.running.filter((each) => each !== request)
    request.leave()
    await nextTurn()
  }

  of(sender: string): readonly Running[] {
    return this.running.filter((each) => each.sender === sender)
  }
}

describe('a newcomer', () => {
  it('gets a free place also if another request begins at the same time', async () => {
    const queue = new AdmissionQueue({ running: 8, waiting: 8 }, { maxWaitMs: HANG_MS })
    const begun: string[] = []
    const enter = async (name: string): Promise<void> => {
      await queue.enter({ name, hasKey: true })
      begun.push(name)
    }
    await Promise.all(['a', 'a', 'a', 'a', 'b', 'b', 'c'].map(enter))
    const waiting = [enter('b'), enter('c')]
    await nextTurn()
    assert.equal(begun.length, 7)
    queue.leave({ name: 'c', hasKey: true })
    await Promise.all(waiting)
  })

  for (const name of QUEUE_NAMES)
    for (const count of [1, 2, 3, 5, 10])
      it(`gets a place in the queue ${name}, of which ${count} senders take what they get`, async (t) => {
        const crowd = new CrowdedQueue(t, name)
        const senders = Array.from({ length: count }, (_, i) => `sender ${i}`)
        await crowd.fillWith(senders)
        void crowd.enter('newcomer')
        await crowd.pass(LEAST_MS - 1)
        assert.equal(crowd.ending.length, 0, 'nothing is taken back before five seconds')
        const without = [...senders, 'newcomer'].filter((sender) => crowd.of(sender).length === 0)
        await crowd.pass(1)
        assert.equal(crowd.ending.length, crowd.awaitsClients ? without.length : 0)
        for (const request of crowd.ending) {
          const own = crowd.of(request.sender)
          assert.equal(own.length, Math.max(...senders.map((sender) => crowd.of(sender).length)))
          assert.equal(request.bytes, Math.min(...own.filter(isEndable).map(({ bytes }) => bytes)))
          await crowd.end(request)
        }
        // In queues that wait for no client, requests end by themselves. Each sender has one turn before the newcomer.
        for (let turns = 0; crowd.of('newcomer').length === 0; turns++) {
          assert.ok(!crowd.awaitsClients && turns < 2 * senders.length, 'all others come first')
          for (const request of crowd.running.slice(0, 1)) await crowd.end(request)
        }
        if (!crowd.awaitsClients) return
        for (const sender of senders) assert.ok(crowd.of(sender).length > 0, `${sender} keeps a place`)
      })
})

describe('a crowd, such as those who have links of a company', () => {
  it('makes room for each of its people by its own slowest client, and others keep their places', async (t) => {
    const crowd = new CrowdedQueue(t, 'downloads')
    await crowd.fillWith(['company'])
    for (const request of crowd.running.slice(20)) await crowd.end(request)
    const places = LOAD_LIMITS.queues.downloads.running
    for (let i = 0; i < places; i++) crowd.enter('tokens', true).catch(() => undefined)
    await nextTurn()
    const [own, others] = [crowd.of('tokens').length, crowd.of('company').length]
    await crowd.pass(LEAST_MS - 1)
    assert.equal(crowd.ending.length, 0)
    await crowd.pass(1)
    assert.deepEqual(
      crowd.ending.map(({ sender, bytes }) => [sender, bytes]),
      [
        [
          'tokens',
          Math.min(
            ...crowd
              .of('tokens')
              .filter(isEndable)
              .map(({ bytes }) => bytes),
          ),
        ],
      ],
      'one after the other',
    )
    for (const request of crowd.ending) await crowd.end(request)
    assert.deepEqual([crowd.of('tokens').length, crowd.of('company').length], [own, others])
  })
})

it('a sender keeps its last request, also if that holds more than all requests of another one', () => {
  const holding = (name: string, amount: number): Holding => ({
    sender: { name, hasKey: true },
    amount,
    client: { bytes: 0, end: () => undefined },
    since: { ms: 0, bytes: 0 },
  })
  const [large, older, newer] = [holding('a', 9), holding('b', 1), holding('b', 1)]
  assert.equal(slowestOf([large, older], LEAST_MS), undefined)
  assert.equal(slowestOf([large, older, newer], LEAST_MS), older)
})

describe('slow clients', () => {
  const UPLOADS = { running: 8, waiting: 8 }
  const HELD = { running: 3, waiting: 3 }
  const DOWNLOADS = { running: 6, waiting: 8 }
  const queues = { ...LOAD_LIMITS.queues, uploads: UPLOADS, downloads: DOWNLOADS, held: HELD }
  const service = ofSuite(() =>
    startService({
      sealMaxWaitMs: 3_600_000,
      trustProxy: true,
      maxFileBytes: 32 * 1024 * 1024,
      loadLimits: { queues, maxWaitMs: HANG_MS },
    }),
  )

  const is = (what: string, queue: QueueName, count: number): Promise<void> =>
    service().until(
      async () => (await service().metrics()).includes(`\nevidence_requests_${what}{class="${queue}"} ${count}\n`),
      `${count} ${what}`,
    )

  it('of three companies lose the slowest upload to a fourth company, and nothing of it is recorded', async (t) => {
    const pass = stopClock(t)
    const begin = async ({ id, keys }: Company): Promise<RawRequest> => {
      const request = new RawRequest(service().port).head('POST', `/api/v1/evidences/${id}/evidence`, {
        'x-api-key': keys.U,
        'content-type': MULTIPART,
        'content-length': 900_000,
      })
      t.after(() => request.disconnect())
      await request.send(part('images', 'x', { filename: 'a.bin' }).trimEnd())
      return request
    }
    const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((id) => service().company(id)))
    assert.ok(a && b && c && d, 'there are four companies')
    const uploads: RawRequest[] = []
    for (const company of [a, a, a, a, b, b, b, c]) {
      uploads.push(await begin(company))
      await is('running', 'uploads', uploads.length)
    }
    const bytes = [9_000, 5_000, 7_000, 8_000, 1, 1, 1, 1]
    await Promise.all(uploads.map((upload, i) => upload.send('x'.repeat(bytes[i] ?? 0))))
    const fields = { categoryName: 'C', subcategoryName: 'S', externalId: 'd-1', name: 'n' }
    const newcomer = service().ok('createEvidence', {
      key: d.keys.U,
      params: { COMPANY_ID: d.id },
      form: formOf(fields, [['images', 'a.bin', Buffer.alloc(100_000)]]),
    })
    await is('waiting', 'uploads', 1)
    await is('ended_total', 'uploads', 0)
    pass(LEAST_MS)
    await newcomer
    const { status, body } = (await uploads[1]?.response()) ?? {}
    assert.deepEqual([status, body?.['code']], [503, 'UNAVAILABLE'])
    assert.match(uploads[1]?.received ?? '', /retry-after: 1/i)
    await is('running', 'uploads', uploads.length - 1)
    await is('ended_total', 'uploads', 1)
    const { count } = await service().ok('listEvidences', { key: a.keys.R, params: { COMPANY_ID: a.id } })
    assert.deepEqual([count, service().blobs.kept.size], [0, 1], 'nothing of the slow upload is left')
  })

  it('with a token count for its company, and take nothing from the keys of the company', async (t) => {
    const pass = stopClock(t)
    const [a, b] = await Promise.all(['with-token', 'other'].map((id) => service().company(id)))
    assert.ok(a && b, 'there are two companies')
    const file = async ({ id, keys }: Company): Promise<string> => {
      const fields = { categoryName: 'C', subcategoryName: 'S', externalId: id, name: 'n' }
      // More than the buffers of a connection hold.
      const form = formOf(fields, [['images', 'a.bin', Buffer.alloc(16 * 1024 * 1024)]])
      await service().ok('createEvidence', { key: keys.U, params: { COMPANY_ID: id }, form })
      const params = { COMPANY_ID: id, EVIDENCE_EXTERNAL_ID: id }
      const { dt } = await service().ok('listEvidenceFiles', { key: keys.R, params })
      return dt[0].overlayId
    }
    const fileId = await file(a)
    const { token } = await service().ok('createFileToken', {
      key: a.keys.R,
      params: { COMPANY_ID: a.id },
      json: { fileId },
    })
    const stalled = (query: string, headers: Readonly<Record<string, string>>): RawRequest => {
      const request = new RawRequest(service().port)
      request.socket.pause()
      t.after(() => request.disconnect())
      return request.head('GET', `/api/v1/evidences/${a.id}/file?${query}`, headers)
    }
    const links = Array.from({ length: 8 }, (_, i) =>
      stalled(`token=${token}`, { 'x-forwarded-for': `192.0.2.${i % 4}` }),
    )
    await is('running', 'downloads', 5)
    await is('waiting', 'downloads', 3)
    const own = stalled(`fileId=${fileId}`, { 'x-api-key': a.keys.R })
    await is('running', 'downloads', 6)
    const ofOther = { key: b.keys.R, params: { COMPANY_ID: b.id }, query: { fileId: await file(b) } }
    const newcomer = service().call('downloadFile', ofOther)
    await is('waiting', 'downloads', 4)
    pass(LEAST_MS)
    assert.equal((await newcomer).status, 200)
    for (const link of [own, ...links]) link.socket.resume()
    await service().until(() => links.some(({ closed }) => closed), 'one download has ended')
    assert.equal(own.closed, false)
  })

  it('that wait for an event get their page without one', async (t) => {
    const pass = stopClock(t)
    const [a, b, c] = await Promise.all(['w-1', 'w-2', 'w-3'].map((id) => service().company(id)))
    assert.ok(a && b && c, 'there are three companies')
    const ending = new AbortController()
    t.after(() => ending.abort())
    const wait = async ({ id, keys }: Company): Promise<unknown> => {
      const init = { headers: { 'x-api-key': keys.R }, signal: ending.signal }
      return (await service().fetch(`/api/v1/evidences/${id}/events?after=latest&wait=55`, init)).json()
    }
    const held: Promise<unknown>[] = []
    for (const company of [a, a, b]) {
      held.push(wait(company))
      await is('running', 'held', held.length)
    }
    held.push(wait(c))
    await is('waiting', 'held', 1)
    pass(LEAST_MS)
    assert.deepEqual(Object.keys((await held[0]) as object), ['events', 'cursor', 'isMore'])
    await is('running', 'held', 3)
    ending.abort()
    await Promise.all(held.slice(1).map((each) => assert.rejects(each, { name: 'AbortError' })))
  })
})
