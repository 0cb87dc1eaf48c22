import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { RecordStore } from '../../../core/index.ts'
import { decorateRecords } from '../../../core/store/decorate-records.ts'
import { Admission, WORK_LIMITS, type WorkLimits } from '../../../server/http/admission.ts'
import { HttpError } from '../../../server/http/errors.ts'
import { MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { OPERATOR_KEY, startService, type Company, type Service } from '../../support/service.ts'
import { warningLogger } from '../../support/warning-logger.ts'

const limitsOf = (limits: Partial<WorkLimits>): WorkLimits => ({ ...WORK_LIMITS, ...limits })

const isOverloaded = (error: unknown): boolean => error instanceof HttpError && error.code === 'OVERLOADED'

describe('Admission', () => {
  const open = () => new Admission({ limits: limitsOf({ reads: { running: 2, waiting: 2 } }), maxBodyBytes: 100 })

  it('runs as many requests as a class allows, lets others wait, and rejects the rest at once', async () => {
    const admission = open()
    const turns = [1, 2, 3, 4].map(() => admission.enter('reads'))
    assert.ok(turns.every((turn) => turn !== undefined))
    assert.equal(admission.enter('reads'), undefined)
    await Promise.all([turns[0]?.start(), turns[1]?.start()])
    let hasStarted = false
    const third = turns[2]?.start().then(() => (hasStarted = true))
    await Promise.resolve()
    assert.deepEqual([hasStarted, admission.stateOf('reads')], [false, { running: 2, waiting: 2, rejected: 1 }])
    turns[0]?.leave()
    await third
    assert.ok(admission.enter('reads') !== undefined, 'a place is free again')
    assert.ok(admission.enter('writes') !== undefined, 'another class has its own places')
  })

  it('leaves no place occupied after requests that never started', () => {
    const admission = open()
    for (let i = 0; i < 20; i++) admission.enter('reads')?.leave()
    assert.deepEqual(admission.stateOf('reads'), { running: 0, waiting: 0, rejected: 0 })
  })

  it('rejects a request whose turn does not come', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const admission = open()
    const [one, two, three] = [admission.enter('reads'), admission.enter('reads'), admission.enter('reads')]
    await Promise.all([one?.start(), two?.start()])
    const rejected = assert.rejects(three?.start() ?? Promise.resolve(), isOverloaded)
    t.mock.timers.tick(10_000)
    await rejected
    three?.leave()
    one?.leave()
    const next = admission.enter('reads')
    await next?.start()
    assert.deepEqual(admission.stateOf('reads'), { running: 2, waiting: 0, rejected: 1 })
  })

  it('leaves a third of the places of a class to other keys, of those that run and of all', async () => {
    const admission = new Admission({ limits: limitsOf({ uploads: { running: 3, waiting: 6 } }) })
    const enter = (sender: string) => {
      const turn = admission.enter('uploads')
      turn?.assignTo(sender)
      return turn
    }
    const turns = Array.from({ length: 6 }, () => enter('a'))
    await Promise.all([turns[0]?.start(), turns[1]?.start()])
    let hasStarted = false
    const third = turns[2]?.start().then(() => (hasStarted = true))
    const excess = admission.enter('uploads')
    assert.throws(() => excess?.assignTo('a'), isOverloaded)
    excess?.leave()
    const other = enter('b')
    await other?.start()
    assert.deepEqual([hasStarted, admission.stateOf('uploads')], [false, { running: 3, waiting: 4, rejected: 1 }])
    other?.leave()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(hasStarted, false, 'the place is kept for another key')
    turns[0]?.leave()
    await third
    for (const turn of turns.slice(1)) turn?.leave()
    assert.deepEqual(admission.stateOf('uploads'), { running: 0, waiting: 0, rejected: 1 })
  })

  it('bounds the bytes of all bodies, and frees those of a request that is done', () => {
    const admission = open()
    const [one, two] = [admission.enter('reads'), admission.enter('writes')]
    one?.holdBytes(60)
    assert.throws(() => two?.holdBytes(41), isOverloaded)
    two?.holdBytes(40)
    assert.equal(admission.bodyBytes, 100)
    one?.leave()
    assert.equal(admission.bodyBytes, 40)
    two?.holdBytes(60)
    two?.leave()
    assert.equal(admission.bodyBytes, 0)
  })
})

describe('a busy event loop', () => {
  it('rejects requests that arrive together with more than it can serve in time, without a key first', async () => {
    let nowMs = 1_000
    const admission = new Admission({ maxBodyBytes: 1, maxBusyMs: 40, now: () => nowMs })
    const enter = (workClass: 'reads' | 'public'): boolean => {
      const turn = admission.enter(workClass)
      turn?.leave()
      return turn !== undefined
    }
    for (let i = 0; i < 99; i++) assert.ok(enter('reads'))
    nowMs += 21
    assert.ok(enter('public'), 'the first 100 are served in any case')
    assert.ok(!enter('public'))
    nowMs += 40
    assert.ok(!enter('reads'))
    // The next slice serves again, although the loop has not paused.
    nowMs += 19
    assert.ok(enter('reads'))
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(enter('reads') && enter('public'), 'after a pause')
  })
})

/** A store whose reads of evidences wait until the test lets them continue. Those of keys do not. */
class HeldStore {
  #open: (() => void) | undefined
  #held: Promise<void> | undefined

  hold(): void {
    this.#held = new Promise((resolve) => (this.#open = resolve))
  }

  release(): void {
    this.#held = undefined
    this.#open?.()
  }

  wrap = (inner: RecordStore) =>
    decorateRecords(inner, {
      get: async (keys) => {
        if (keys.some((key) => key.startsWith('ex/'))) await this.#held
        return inner.get(keys)
      },
    })
}

describe('a service under load', () => {
  const store = new HeldStore()
  const { logger, warnings } = warningLogger()
  let service: Service
  let company: Company
  before(async () => {
    service = await startService({
      logger,
      sealMaxWaitMs: 3_600_000,
      wrapRecords: store.wrap,
      workLimits: limitsOf({
        validations: { running: 1, waiting: 1 },
        reads: { running: 2, waiting: 2 },
        lists: { running: 3, waiting: 3 },
        uploads: { running: 1, waiting: 1 },
      }),
      maxBodyMemoryBytes: 1_000_000,
      maxConnections: 60,
    })
    company = await service.company('acme')
  })
  after(() => service.close())

  const read = (key = company.keys.R) =>
    service.fetch('/api/v1/evidences/acme/evidence/none', { headers: { 'x-api-key': key } })
  const metric = async (line: string): Promise<boolean> => {
    const text = await (await service.fetch('/metrics')).text()
    return text.includes(`\n${line}\n`)
  }

  it('rejects what is beyond the queue at once, with 503 and Retry-After, and keeps other classes', async () => {
    store.hold()
    const { I, R, U } = company.keys
    const waiting = [R, R, I, U].map(read)
    await service.until(() => metric('evidence_requests_running{class="reads"} 2'), 'two run')
    await service.until(() => metric('evidence_requests_waiting{class="reads"} 2'), 'two wait')
    const excess = await read()
    assert.deepEqual([excess.status, excess.headers.get('retry-after')], [503, '1'])
    assert.match(excess.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
    assert.equal(((await excess.json()) as { code: string }).code, 'UNAVAILABLE')
    assert.equal((await service.fetch('/livez')).status, 200)
    assert.equal((await service.fetch('/api/v1/openapi.json')).status, 200, 'the public class has places')
    assert.ok(await metric('evidence_requests_rejected{class="reads"} 1'))
    assert.ok(warnings.some((message) => message.startsWith('too many requests')))
    store.release()
    for (const { status } of await Promise.all(waiting)) assert.equal(status, 404)
    assert.equal((await read()).status, 404)
    await service.until(() => metric('evidence_requests_running{class="reads"} 0'), 'none runs any more')
  })

  it('keeps a place for other keys while one has many requests', async () => {
    const get = (key: string, query: string) =>
      service.fetch(`/api/v1/evidences/acme/evidence/none${query}`, { headers: { 'x-api-key': key } })
    const bundle = (key: string) => get(key, '/bundle?fields=all&files=all')
    store.hold()
    // A long history is limited as a list, however its query is written.
    const waiting = [bundle(company.keys.R), ...['?len=51', '?%6Cen=500'].map((query) => get(company.keys.R, query))]
    await service.until(() => metric('evidence_requests_running{class="lists"} 2'), 'two run')
    await service.until(() => metric('evidence_requests_waiting{class="lists"} 1'), 'one waits')
    waiting.push(bundle(company.keys.U))
    await service.until(() => metric('evidence_requests_running{class="lists"} 3'), 'that of the other key runs')
    assert.ok(await metric('evidence_requests_waiting{class="lists"} 1'))
    waiting.push(get(company.keys.R, '?len=50'))
    await service.until(() => metric('evidence_requests_running{class="reads"} 1'), 'a short history is a read')
    store.release()
    for (const { status } of await Promise.all(waiting)) assert.equal(status, 404)
  })

  it('does not let slow senders without a key keep the places of reads without a key', async () => {
    const slow = [1, 2].map(() =>
      new RawRequest(service.port).head('POST', '/api/v1/merkle/validate', {
        'content-type': 'application/json',
        'content-length': 100,
      }),
    )
    await service.until(() => metric('evidence_requests_waiting{class="validations"} 2'), 'both send their bodies')
    const excess = await service.fetch('/api/v1/merkle/validate', { method: 'POST' })
    assert.equal(excess.status, 503)
    assert.equal((await service.fetch('/api/v1/log/policy')).status, 200)
    for (const request of slow) request.disconnect()
    await service.until(() => metric('evidence_requests_waiting{class="validations"} 0'), 'none waits any more')
  })

  it('does not let slow senders of forms keep the places of other requests', async () => {
    const slow = new RawRequest(service.port).head('POST', '/api/v1/evidences/acme/evidence', {
      'x-api-key': company.keys.U,
      'content-type': MULTIPART,
      'content-length': 10_000,
    })
    await slow.send(part('name', 'x'))
    await service.until(() => metric('evidence_requests_running{class="uploads"} 1'), 'the upload runs')
    await service.ok('createCategory', {
      key: company.keys.U,
      params: { COMPANY_ID: 'acme' },
      json: { name: 'while an upload is slow' },
    })
    slow.disconnect()
    await service.until(() => metric('evidence_requests_running{class="uploads"} 0'), 'its place is free')
  })

  it('bounds the memory of all bodies together', async () => {
    const head = (length: number) =>
      new RawRequest(service.port).head('POST', '/api/v1/evidences/acme/category', {
        'x-api-key': company.keys.U,
        'content-type': 'application/json',
        'content-length': length,
      })
    const [one, two] = [head(900_000), head(900_000)]
    await one.send('x'.repeat(600_000))
    await service.until(() => metric('evidence_request_body_bytes 600000'), 'the first body is counted')
    await two.send('x'.repeat(600_000))
    const { status, body } = await two.response()
    assert.deepEqual([status, body['code']], [503, 'UNAVAILABLE'])
    one.disconnect()
    two.disconnect()
    await service.until(() => metric('evidence_request_body_bytes 0'), 'the memory is free')
  })

  it('closes connections beyond the limit at once, and counts them', async () => {
    const sockets = Array.from({ length: 80 }, () => connect(service.port, '127.0.0.1').on('error', () => undefined))
    const closed = new Set<unknown>()
    for (const socket of sockets) {
      socket.resume()
      socket.once('close', () => closed.add(socket))
    }
    await service.until(() => closed.size >= 20, 'the rest is closed')
    const ended = sockets.filter((socket) => !closed.has(socket)).map((socket) => once(socket, 'close'))
    for (const socket of sockets) socket.destroy()
    await Promise.all(ended)
    await service.until(async () => (await service.fetch('/livez').catch(() => undefined))?.status === 200, 'it serves')
    const text = await (await service.fetch('/metrics')).text()
    assert.match(text, /\nevidence_connections_dropped [1-9]\d+\n/)
  })
})

describe('requests without a key', () => {
  it('have a limit of their own, from which the tiles of the log are exempt, and which never counts for a key', async () => {
    const { logger, warnings } = warningLogger()
    const service = await startService({ addressLimitPerMinute: 3, logger, sealMaxWaitMs: 3_600_000 })
    try {
      const company = await service.company('acme')
      const headers = { 'x-forwarded-for': '10.0.0.1' }
      const status = async (path: string): Promise<number> => (await service.fetch(path, { headers })).status
      for (let i = 0; i < 3; i++) assert.equal(await status('/api/v1/merkle/verify/none'), 404)
      assert.equal(await status('/api/v1/merkle/verify/none'), 429)
      for (let i = 0; i < 5; i++) assert.equal(await status('/api/v1/log/policy'), 200)
      for (const path of ['checkpoint', 'tile/0/000', 'tile/entries/000', 'tile/openings/000'])
        assert.notEqual(await status(`/api/v1/log/${path}`), 429, path)
      assert.equal(await status('/api/v1/log/batches'), 429, 'a list is counted')
      const params = { COMPANY_ID: 'acme' }
      for (const key of [company.keys.R, OPERATOR_KEY]) await service.ok('listCategories', { key, params })
      assert.equal(warnings.filter((text) => text.includes('EVIDENCE_TRUST_PROXY')).length, 1)
    } finally {
      await service.close()
    }
  })

  it('may send 6,000 in a minute by default', async () => {
    const service = await startService({ addressLimitPerMinute: undefined as never, sealMaxWaitMs: 3_600_000 })
    try {
      const { headers } = await service.fetch('/api/v1/merkle/verify/none')
      assert.equal(headers.get('ratelimit-policy'), '"minute";q=6000;w=60')
    } finally {
      await service.close()
    }
  })
})
