import assert from 'node:assert/strict'
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import Koa, { type Context } from 'koa'
import type { Principal } from '../../../core/index.ts'
import { HttpError } from '../../../server/http/errors.ts'
import { sendJson } from '../../../server/http/json-response.ts'
import { UnreadResponses } from '../../../server/http/unread-responses.ts'
import { startService, type Company, type Service } from '../../support/service.ts'

const KIB = 1024
/** Only ends a test that hangs. */
const HANG_MS = 300_000
/** Every client that reads nothing is ended after this time, on a slow machine also later. */
const SHORT_IDLE_MS = 1_000

const isOverloaded = (error: unknown): boolean => error instanceof HttpError && error.code === 'OVERLOADED'

describe('UnreadResponses', () => {
  const open = (maxBytes: number): UnreadResponses =>
    new UnreadResponses({ maxBytes, streamLimits: { idleMs: HANG_MS } })
  const system = (id: string): Principal => ({ kind: 'sourceSystem', id, companyId: 'acme', permissions: 'R' }) as never
  const anonymous: Principal = { kind: 'anonymous' }

  /** A response with so many bytes to a client at an address. */
  function response(bytes: number, { method = 'GET', address = '192.0.2.1' } = {}): Context {
    const request = new IncomingMessage(new Socket())
    Object.assign(request, { method, url: '/' })
    Object.defineProperty(request.socket, 'remoteAddress', { value: address })
    const ctx = new Koa().createContext(request, new ServerResponse(request))
    ctx.set({ ETag: '"1"', 'Cache-Control': 'public, max-age=31536000, immutable' })
    ctx.body = 'x'.repeat(bytes)
    return ctx
  }
  const end = ({ res }: Context): boolean => res.emit('close')

  it('gives a key a quarter of the bytes, until its client has read them', () => {
    const unread = open(400 * KIB)
    const first = response(60 * KIB)
    unread.hold(first, system('a'))
    unread.hold(response(40 * KIB), system('a'))
    const third = response(16 * KIB)
    assert.throws(() => unread.hold(third, system('a')), isOverloaded)
    assert.deepEqual([third.res.hasHeader('ETag'), third.response.get('Cache-Control')], [false, 'no-store'])
    unread.hold(response(100 * KIB), system('b'))
    assert.deepEqual([unread.bytes, unread.rejected], [200 * KIB, 1])
    end(first)
    unread.hold(response(60 * KIB), system('a'))
    assert.equal(unread.bytes, 200 * KIB)
  })

  it('rejects a long result before it is made if its sender has half of what it may have', () => {
    const unread = open(400 * KIB)
    const [ctx, held] = [response(0), response(50 * KIB)]
    unread.hold(held, system('a'))
    unread.assertRoom(ctx, system('a'))
    unread.hold(response(16 * KIB), system('a'))
    assert.throws(() => unread.assertRoom(ctx, system('a')), isOverloaded)
    unread.assertRoom(ctx, system('b'))
    end(held)
    unread.assertRoom(ctx, system('a'))
  })

  it('gives all requests without a key together half of the bytes', () => {
    const unread = open(400 * KIB)
    const held = ['192.0.2.1', '192.0.2.2'].map((address) => response(100 * KIB, { address }))
    for (const ctx of held) unread.hold(ctx, anonymous)
    assert.throws(() => unread.hold(response(16 * KIB, { address: '192.0.2.3' }), anonymous), isOverloaded)
    unread.hold(response(100 * KIB), system('a'))
    unread.hold(response(100 * KIB), system('b'))
    assert.throws(() => unread.hold(response(16 * KIB), system('c')), isOverloaded, 'all have the limit')
    for (const ctx of held) end(ctx)
    unread.hold(response(16 * KIB, { address: '192.0.2.3' }), anonymous)
  })

  it('sends a response that is larger than the limit if nothing else is unread', () => {
    const unread = open(40 * KIB)
    const large = response(100 * KIB)
    unread.hold(large, system('a'))
    assert.throws(() => unread.hold(response(16 * KIB), system('b')), isOverloaded)
    end(large)
    unread.hold(response(16 * KIB), system('b'))
  })

  it('always sends small responses and the result of a write', () => {
    const unread = open(16 * KIB)
    unread.hold(response(16 * KIB), system('a'))
    unread.hold(response(16 * KIB - 1), system('a'))
    unread.hold(response(1_000 * KIB, { method: 'HEAD' }), system('a'))
    assert.equal(unread.bytes, 16 * KIB)
    const written = response(16 * KIB, { method: 'POST' })
    unread.hold(written, system('a'))
    assert.equal(unread.bytes, 32 * KIB)
    end(written)
    assert.equal(unread.bytes, 16 * KIB)
  })

  it('counts the bytes of JSON, not its characters', () => {
    const unread = open(400 * KIB)
    const ctx = response(1)
    const json = JSON.stringify({ text: 'é'.repeat(10 * KIB) })
    sendJson(ctx, json)
    unread.hold(ctx, system('a'))
    assert.deepEqual([String(ctx.body), ctx.type], [json, 'application/json'])
    assert.equal(unread.bytes, Buffer.byteLength(json))
  })
})

describe('clients that do not read large responses', () => {
  const COUNT = 1_000
  /** The server reads it for each response, so that a test can make the server impatient. */
  const streamLimits = { maxPerKey: 2, idleMs: HANG_MS }
  let service: Service
  let company: Company
  before(async () => {
    service = await startService({
      sealMaxWaitMs: 3_600_000,
      streamLimits,
      maxUnreadResponseBytes: KIB * KIB,
    })
    company = await service.company('acme')
    const scope = { companyId: 'acme', principal: { kind: 'operator' } } as const
    const { id: categoryId } = await service.registry.categories.create(scope, { name: 'C' })
    const { id: subcategoryId } = await service.registry.categories.create(scope, { name: 'S' }, { parent: categoryId })
    // 16 MB in all, which the buffers of a connection do not hold.
    const evidences = Array.from({ length: COUNT }, (_, i) => ({
      externalId: `e${i}`,
      name: 'n',
      summary: 'é'.repeat(8_192),
    }))
    await service.registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences })
  })
  after(() => service.close())

  const PATH = `/api/v1/evidences/acme/evidences?len=${COUNT}`
  /** Requests a page, and reads nothing after its beginning has arrived. */
  const stalled = async (key: string): Promise<Socket> => {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined)
    socket.write(`GET ${PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`)
    await once(socket, 'readable')
    return socket
  }
  const read = (key: string): Promise<Response> => service.fetch(PATH, { headers: { 'x-api-key': key } })
  const isRead = async (): Promise<boolean> =>
    (await (await service.fetch('/metrics')).text()).includes('\nevidence_unread_response_bytes 0\n')

  it('get no more of them, while the metrics are still served', async () => {
    const socket = await stalled(company.keys.R)
    const rejected = await read(company.keys.R)
    assert.deepEqual([rejected.status, rejected.headers.get('retry-after')], [503, '1'])
    assert.equal(((await rejected.json()) as { code: string }).code, 'UNAVAILABLE')
    const metrics = await (await service.fetch('/metrics')).text()
    assert.ok(metrics.length > 16 * KIB)
    assert.match(metrics, /\nevidence_unread_responses_rejected 1\n/)
    socket.destroy()
    await service.until(isRead, 'the bytes are not counted any more')
    const again = await read(company.keys.R)
    assert.equal(again.status, 200)
    await again.arrayBuffer()
  })

  it('are disconnected', async () => {
    streamLimits.idleMs = SHORT_IDLE_MS
    const socket = await stalled(company.keys.R)
    await service.until(isRead, 'the server has ended the response')
    streamLimits.idleMs = HANG_MS
    socket.destroy()
  })
})
