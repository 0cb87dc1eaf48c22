import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect, Server } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { oneByOne } from '../../../server/http/pipelining.ts'
import { connectionLimit, listen } from '../../../server/http/listen.ts'
import { countTurns } from '../../support/count-turns.ts'
import { eventually } from '../../support/eventually.ts'
import { serviceFor } from '../../support/service.ts'
import { recordingLogger } from '../../support/recording-logger.ts'

describe('the limit of connections', () => {
  it('leaves file descriptors to the stores', () => {
    assert.equal(connectionLimit(10_000, 1_048_576), 10_000)
    assert.equal(connectionLimit(10_000, 4_096), 2_596)
    assert.equal(connectionLimit(10_000, 1_024), 256)
    assert.equal(connectionLimit(100, 1_024), 100)
  })

  it('closes those beyond it at once, and counts them', async (t) => {
    const service = await serviceFor(t, { maxConnections: 60, sealMaxWaitMs: 3_600_000 })
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
    const text = await service.metrics()
    assert.match(text, /\nevidence_connections_dropped_total [1-9]\d+\n/)
  })

  it('does not keep probes from the address of the metrics', async (t) => {
    const service = await serviceFor(t, { maxConnections: 1, sealMaxWaitMs: 3_600_000 })
    const options = { host: '127.0.0.1', port: 0, uploadIdleMs: 60_000, shutdownMs: 1 }
    const metrics = await listen({ ...service.app, handle: service.app.handleOperations }, options)
    t.after(() => metrics.close())
    const busy = connect(service.port, '127.0.0.1')
    t.after(() => busy.destroy())
    await once(busy, 'connect')
    // Not by fetch, which connects again and again if the connection is closed before the request is sent.
    await once(connect(service.port, '127.0.0.1').resume(), 'close')
    assert.equal((await fetch(`http://127.0.0.1:${metrics.port}/readyz`)).status, 200)
  })
})

/** Listens with a handler. Returns a function that connects. */
async function listenWith(
  t: TestContext,
  handle: RequestListener,
  { logger = recordingLogger().logger, keepAliveMs = 60_000, headersTimeoutMs = 60_000 } = {},
): Promise<() => { readonly socket: ReturnType<typeof connect>; received: string }> {
  const running = await listen(
    {
      handle: oneByOne(handle),
      stop: () => undefined,
      connections: { open: 0, dropped: 0 },
      errorShapeOf: () => 'operation',
    },
    { host: '127.0.0.1', port: 0, headersTimeoutMs, keepAliveMs, uploadIdleMs: 60_000, shutdownMs: 1, logger },
  )
  t.after(() => running.close())
  return () => {
    const client = { socket: connect(running.port, '127.0.0.1').on('error', () => undefined), received: '' }
    client.socket.on('data', (chunk: Buffer) => (client.received += chunk.toString()))
    t.after(() => client.socket.destroy())
    return client
  }
}

it('a server goes on after a connection that could not be accepted', async (t) => {
  const { logger, warnings } = recordingLogger()
  const listening = t.mock.method(Server.prototype, 'listen')
  const connectTo = await listenWith(t, (_, response) => response.end('here'), { logger })
  const server = listening.mock.calls[0]?.this
  assert.ok(server instanceof Server)
  server.emit('error', new Error('accept ENOBUFS'))
  assert.deepEqual(warnings, ['a connection could not be accepted'])
  const client = connectTo()
  client.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => client.received.endsWith('here'))
})

describe('pipelined requests', () => {
  const requests = (count: number): string =>
    Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')

  it('are handled one after the other, in their order, each in another turn of the event loop', async (t) => {
    const turn = countTurns(t)
    const turns: number[] = []
    let running = 0
    const connectTo = await listenWith(t, ({ url }, response) => {
      assert.equal(++running, 1)
      turns.push(turn())
      const end = (): void => {
        running -= 1
        response.end(`[${url}]`)
      }
      // Every second one takes a while.
      if (turns.length % 2 === 0) setImmediate(end)
      else end()
    })
    const client = connectTo()
    client.socket.write(requests(9))
    await eventually(() => turns.length === 9 && client.received.endsWith('[/8]'))
    const answered = [...client.received.matchAll(/\[\/(\d)\]/g)].map(([, i]) => Number(i))
    assert.deepEqual(answered, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert.equal(new Set(turns).size, 9)
  })

  it('close their connection if more than 8 wait', async (t) => {
    let handled = 0
    const connectTo = await listenWith(t, () => (handled += 1))
    // A time-out would close this one first.
    const earlier = connectTo()
    earlier.socket.write(requests(9))
    await eventually(() => handled === 1)
    const client = connectTo()
    client.socket.write(requests(10))
    await once(client.socket, 'close')
    assert.deepEqual([handled, earlier.socket.closed], [2, false])
  })

  it('are not handled after their client has disconnected', async (t) => {
    const urls: (string | undefined)[] = []
    let first: ServerResponse | undefined
    const connectTo = await listenWith(t, ({ url }, response) => {
      urls.push(url)
      first ??= response
    })
    const client = connectTo()
    client.socket.write(requests(3))
    const response = await eventually(() => first)
    client.socket.destroy()
    await once(response, 'close')
    response.end()
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(urls, ['/0'])
  })
})

describe('an idle connection', () => {
  it('is closed, also if CR LF arrives again and again', async (t) => {
    const limits = { keepAliveMs: 100, headersTimeoutMs: 1_000 }
    const connectTo = await listenWith(t, (_, response) => response.end('here'), limits)
    const client = connectTo()
    client.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await eventually(() => client.received.endsWith('here'))
    const timer = setInterval(() => client.socket.write('\r\n'), 20)
    // Not `once`, which rejects if the connection is reset because of such a write.
    await new Promise((resolve) => client.socket.once('close', resolve))
    clearInterval(timer)
  })
})
