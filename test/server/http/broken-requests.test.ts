import assert from 'node:assert/strict'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { oneByOne } from '../../../server/http/pipelining.ts'
import { listen } from '../../../server/http/listen.ts'
import { eventually } from '../../support/eventually.ts'
import { startService } from '../../support/service.ts'
import { ofSuite } from '../../support/of-suite.ts'

const BROKEN = 'FOO / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
const chunked = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`

class Client {
  readonly socket: Socket
  received = ''
  closed = false

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (chunk: Buffer) => (this.received += chunk.toString()))
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => (this.closed = true))
  }

  /** The responses until the server closed the connection. */
  async responses(): Promise<readonly { status: number; head: string; body: string }[]> {
    await eventually(
      () => this.closed,
      () => this.received,
    )
    return this.received
      .split(/(?=HTTP\/1\.1 \d{3})/)
      .filter((text) => text !== '')
      .map((text) => {
        const [head = '', body = ''] = text.split('\r\n\r\n', 2)
        return { status: Number(head.split(' ')[1]), head, body }
      })
  }
}

describe('requests that are not valid HTTP', () => {
  const service = ofSuite(() => startService({ sealMaxWaitMs: 3_600_000 }))

  const cases = [
    ['an unknown method', BROKEN, 400, 'VALIDATION_ERROR'],
    ['text of another protocol', 'hello\r\n\r\n', 400, 'VALIDATION_ERROR'],
    ['no Host header', 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'VALIDATION_ERROR'],
    [
      'an unknown expectation',
      'GET /livez HTTP/1.1\r\nHost: x\r\nExpect: other\r\nConnection: close\r\n\r\n',
      417,
      'EXPECTATION_FAILED',
    ],
    [
      'two Host headers',
      'GET /livez HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n',
      400,
      'VALIDATION_ERROR',
    ],
    ['headers of more than 16 KiB', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`, 431, 'HEADERS_TOO_LARGE'],
    ['a broken body', `${chunked('/api/v1/evidences/acme/category')}zz\r\n`, 400, 'MALFORMED_BODY'],
    [
      'chunk extensions',
      `${chunked('/api/v1/evidences/acme/category')}1;${'x'.repeat(20_000)}\r\n`,
      413,
      'PAYLOAD_TOO_LARGE',
    ],
  ] as const
  for (const [what, sent, status, code] of cases)
    it(`${what}: ${status} in the shape of every error`, async () => {
      const client = new Client(service().port)
      client.socket.write(sent)
      const [response, ...others] = await client.responses()
      assert.deepEqual(others, [])
      assert.ok(response, 'no response')
      assert.equal(response.status, status)
      const body = JSON.parse(response.body)
      assert.deepEqual([Object.keys(body), body.code], [['error', 'code'], code])
      for (const header of [
        /^x-request-id: [0-9a-f-]{36}$/im,
        /^connection: close$/im,
        /^content-type: application\/json/im,
      ])
        assert.match(response.head, header)
    })

  it('a broken body behind the response: no other response', async () => {
    const client = new Client(service().port)
    client.socket.write(chunked('/api/v1/x'))
    await eventually(() => client.received !== '')
    client.socket.write('zz\r\n')
    const [response, ...others] = await client.responses()
    assert.deepEqual([response?.status, others], [404, []])
  })

  it('a broken body of a verification endpoint: the shape of its errors', async () => {
    const client = new Client(service().port)
    client.socket.write(`${chunked('/api/v1/merkle/validate')}zz\r\n`)
    const [response] = await client.responses()
    const { status, code } = JSON.parse(response?.body ?? '')
    assert.deepEqual({ status, code }, { status: 'invalid', code: 'MALFORMED_BODY' })
  })
})

/** Listens with a handler. Returns a client. */
async function connectTo(t: TestContext, handle: RequestListener): Promise<Client> {
  const running = await listen(
    {
      handle: oneByOne(handle),
      stop: () => undefined,
      connections: { open: 0, dropped: 0 },
      errorShapeOf: () => 'operation',
    },
    { host: '127.0.0.1', port: 0, headersTimeoutMs: 60_000, uploadIdleMs: 60_000, shutdownMs: 1_000 },
  )
  const client = new Client(running.port)
  t.after(async () => {
    client.socket.destroy()
    await running.close()
  })
  return client
}

/** A client with half of a response. `sendBroken` resolves when the server has read the bytes. */
async function withBegunResponse(
  t: TestContext,
  request: string,
): Promise<{ client: Client; begun: ServerResponse; sendBroken: (bytes: string) => Promise<void> }> {
  let begun: ServerResponse | undefined
  const client = await connectTo(t, (_, response) => {
    begun = response.writeHead(200, { 'Content-Length': 8 })
    response.write('half')
  })
  client.socket.write(request)
  const response = await eventually(() => client.received.includes('half') && begun)
  const { socket } = response
  assert.ok(socket)
  return {
    client,
    begun: response,
    async sendBroken(bytes) {
      const readBefore = socket.bytesRead
      client.socket.write(bytes)
      await eventually(() => socket.bytesRead === readBefore + bytes.length || socket.destroyed)
    },
  }
}

describe('broken bytes after a valid request', () => {
  it('let its response end first', async (t) => {
    const { client, begun, sendBroken } = await withBegunResponse(t, get('/'))
    await sendBroken(BROKEN)
    await sendBroken(BROKEN)
    begun.end('half')
    const [first, ...others] = await client.responses()
    assert.deepEqual([first?.status, first?.body, others], [200, 'halfhalf', []])
  })

  it('let the responses of all requests before them end', async (t) => {
    const waiting: ServerResponse[] = []
    const client = await connectTo(t, (_, response) => void waiting.push(response))
    client.socket.write(`${get('/1')}${get('/2')}${BROKEN}`)
    for (const name of ['first', 'second']) {
      const response = await eventually(() => waiting.pop())
      response.end(name)
    }
    const responses = await client.responses()
    const statuses = responses.map(({ status }) => status)
    assert.deepEqual(statuses, [200, 200])
    assert.deepEqual([responses[0]?.body, responses[1]?.body], ['first', 'second'])
  })

  it('let the response to a request with a broken body end', async (t) => {
    const { client, begun, sendBroken } = await withBegunResponse(t, chunked('/'))
    await sendBroken('zz\r\n')
    begun.end('half')
    const [response, ...others] = await client.responses()
    assert.deepEqual([response?.status, response?.body, others], [200, 'halfhalf', []])
  })
})
