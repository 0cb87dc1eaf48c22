import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inTurn } from '../../../server/http/pipelining.ts'
import { eventually } from '../../support/eventually.ts'

const request = (path: string | number): string => `GET /${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

const requests = (count: number): string => Array.from({ length: count }, (_, i) => request(i)).join('')

class Client {
  readonly socket: Socket
  received = ''

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (chunk: Buffer) => (this.received += chunk.toString()))
    this.socket.on('error', () => undefined)
  }

  /** The bodies, each of which is a number in brackets. */
  get bodies(): readonly number[] {
    return [...this.received.matchAll(/\[(\d+)\]/g)].map(([, body]) => Number(body))
  }
}

/** Listens with `inTurn`. Returns a function that connects. */
async function listen(t: TestContext, handle: RequestListener): Promise<() => Client> {
  const server = createServer(inTurn(handle))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clients: Client[] = []
  t.after(async () => {
    for (const { socket } of clients) socket.destroy()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return () => {
    const client = new Client((server.address() as AddressInfo).port)
    clients.push(client)
    return client
  }
}

const respond = (response: ServerResponse, url = ''): unknown => response.end(`[${url.slice(1)}]`)

describe('pipelined requests', () => {
  it('are handled one after the other, in their order, each in another turn of the event loop', async (t) => {
    let turn = 0
    let isCounting = true
    t.after(() => (isCounting = false))
    const countTurns = (): void => {
      turn += 1
      if (isCounting) setImmediate(countTurns)
    }
    countTurns()
    const turns: number[] = []
    let running = 0
    const connectTo = await listen(t, ({ url }, response) => {
      running += 1
      assert.equal(running, 1)
      turns.push(turn)
      const end = (): void => {
        running -= 1
        respond(response, url)
      }
      // Every second one takes a while.
      if (turns.length % 2 === 0) setImmediate(end)
      else end()
    })
    const client = connectTo()
    client.socket.write(requests(30))
    await eventually(() => client.bodies.length === 30)
    assert.deepEqual(
      client.bodies,
      Array.from({ length: 30 }, (_, i) => i),
    )
    assert.equal(new Set(turns).size, 30)
  })

  it('close their connection if more than 32 wait', async (t) => {
    let handled = 0
    const connectTo = await listen(t, () => (handled += 1))
    const client = connectTo()
    client.socket.write(requests(34))
    await once(client.socket, 'close')
    assert.equal(handled, 1)
    const other = connectTo()
    other.socket.write(requests(33))
    await eventually(() => handled === 2)
    assert.equal(other.socket.destroyed, false)
  })

  it('close their connection if 3,200 wait on all connections, until others have disconnected', async (t) => {
    const first: ServerResponse[] = []
    let closed = 0
    const connectTo = await listen(t, ({ url }, response) => {
      if (url !== '/0') return respond(response, url)
      first.push(response)
      return response.once('close', () => (closed += 1))
    })
    const pipeline = (count: number): Client => {
      const client = connectTo()
      client.socket.write(requests(count))
      return client
    }
    const clients = Array.from({ length: 100 }, () => pipeline(33))
    await eventually(() => first.length === 100)
    await once(pipeline(2).socket, 'close')
    await eventually(() => closed === 1)
    clients.shift()?.socket.destroy()
    await eventually(() => closed === 2)
    clients.push(pipeline(33))
    await eventually(() => first.length === 102)
    for (const response of first) respond(response, '/0')
    await eventually(() => clients.every(({ bodies }) => bodies.length === 33))
  })

  it('are not handled after their client has disconnected', async (t) => {
    const urls: (string | undefined)[] = []
    let first: ServerResponse | undefined
    const connectTo = await listen(t, ({ url }, response) => {
      urls.push(url)
      first ??= response
    })
    const client = connectTo()
    client.socket.write(requests(3))
    await eventually(() => first)
    client.socket.destroy()
    await once(first as ServerResponse, 'close')
    ;(first as ServerResponse).end()
    for (let i = 0; i < 10; i++) await nextTurn()
    assert.deepEqual(urls, ['/0'])
  })
})
