import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { json } from 'node:stream/consumers'
import fc from 'fast-check'
import Koa, { type Context } from 'koa'
import { essence } from '../../../server/http/body.ts'
import { HttpError } from '../../../server/http/errors.ts'
import { partsOf, type MultipartLimits, type Part } from '../../../server/http/multipart.ts'

// No sender of these tests pauses: so long only ends a test that hangs.
const LIMITS: MultipartLimits = { idleMs: 300_000, maxParts: 20, maxHeaderBytes: 8_192 }
const BOUND = 'multipart/form-data; boundary=bound'

interface Read {
  readonly name: string
  readonly filename: string | undefined
  readonly content: string
}

/** Reads bodies over HTTP, as the service does. The test decides what is read of each part. */
class Reader {
  readonly #server: Server
  #take: (part: Part) => Promise<unknown> = readWhole

  constructor() {
    const koa = new Koa()
    koa.use(async (ctx: Context) => {
      const taken: unknown[] = []
      try {
        for await (const part of partsOf(ctx.req, LIMITS)) taken.push(await this.#take(part))
        ctx.body = { taken }
      } catch (error) {
        ctx.body = { failed: error instanceof HttpError ? error.code : String(error) }
        ctx.req.resume()
      }
    })
    const handle = koa.callback()
    this.#server = createServer((incoming, outgoing) => void handle(incoming, outgoing))
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** Sends each piece as an HTTP chunk. Returns what was read of each part, or the error code. */
  async send(pieces: Iterable<Uint8Array>, type = BOUND, take = readWhole as (part: Part) => Promise<unknown>) {
    this.#take = take
    const { port } = this.#server.address() as AddressInfo
    const sent = request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-type': type } })
    // If the body is rejected before its end, the rest can meet a closed connection.
    sent.on('error', () => undefined)
    for (const piece of pieces) sent.write(piece)
    sent.end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return (await json(response)) as { readonly taken?: readonly Read[]; readonly failed?: string }
  }
}

async function readWhole({ name, filename, body }: Part): Promise<Read> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return { name, filename, content: Buffer.concat(chunks).toString('hex') }
}

function* inChunks(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

const write = (
  parts: readonly { name: string; filename?: string | undefined; content: Uint8Array }[],
  boundary: string,
): Uint8Array =>
  Buffer.concat([
    ...parts.flatMap(({ name, filename, content }) => [
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
      ),
      content,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ])

// Composed of pieces of boundaries, so that false starts are frequent.
const tricky = fc
  .array(
    fc.constantFrom('\r', '\n', '-', '--', 'b', 'bo', '\r\n--', '\r\n--bo', '\r\n--boundx', '\r\n--bound-x', 'x'),
    {
      maxLength: 60,
    },
  )
  .map((pieces) => Buffer.from(pieces.join('')))
const content = fc
  .oneof(fc.uint8Array({ maxLength: 300 }), tricky)
  .filter((bytes) => !/\r\n--bound(?:\r|--)/.test(`\r\n${Buffer.from(bytes).toString('latin1')}`))
const form = fc.array(
  fc.record({
    name: fc.stringMatching(/^[a-z.[\]]{1,10}$/),
    filename: fc.option(fc.stringMatching(/^[a-zA-Z. äß日]{0,10}$/), { nil: undefined }),
    content,
  }),
  { maxLength: 6 },
)

describe('multipart/form-data', () => {
  const reader = new Reader()
  before(() => reader.listen())
  after(() => reader.close())
  const read = async (body: Uint8Array, type?: string): Promise<readonly Read[] | string | undefined> => {
    const { taken, failed } = await reader.send([body], type)
    return taken ?? failed
  }

  it('returns the same parts for every division into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        form,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        async (parts, sizes, whole) => {
          const expected = parts.map(({ name, filename, content: bytes }) => ({
            name,
            ...(filename !== undefined && { filename }),
            content: Buffer.from(bytes).toString('hex'),
          }))
          const body = write(parts, 'bound')
          assert.deepEqual(await reader.send(whole ? [body] : inChunks(body, sizes)), { taken: expected })
        },
      ),
      { numRuns: 300 },
    )
  })

  it('keeps content that is nearly a boundary, also several times in one part', async () => {
    const near = ['1\r\n--bound-x2\r\n--bound\ry3', '1\r\n--bound\ry3\r\n--bound-x2', '1\r\n--bound\ry3']
    for (const text of near) {
      const parts = [text, 'last'].map((value) => ({ name: 'a', filename: 'f', content: Buffer.from(value) }))
      const found = await read(write(parts, 'bound'))
      assert.notEqual(found, 'MALFORMED_BODY')
      assert.deepEqual(
        (found as Read[]).map(({ content: hex }) => Buffer.from(hex, 'hex').toString()),
        [text, 'last'],
      )
    }
  })

  it('rejects every truncated body', async () => {
    const body = write(
      [
        { name: 'a', filename: 'f', content: Buffer.from('some content\r\n--bou') },
        { name: 'b', content: Buffer.from('x') },
      ],
      'bound',
    )
    // The line break after the last boundary may be missing.
    for (let length = 0; length < body.length - 2; length++)
      assert.equal(await read(body.subarray(0, length)), 'MALFORMED_BODY', `${length} bytes`)
  })

  it("reads what Node's own FormData writes", async () => {
    const data = new FormData()
    data.append('text', 'line\nline')
    data.append('file "quoted"', new File(['a\nb'], 'na"me\r\n.txt'))
    const sent = new Request('http://localhost', { method: 'POST', body: data })
    const parts = await read(new Uint8Array(await sent.arrayBuffer()), sent.headers.get('content-type') ?? '')
    assert.deepEqual(
      (parts as Read[]).map(({ name, filename, content: hex }) => [name, filename, Buffer.from(hex, 'hex').toString()]),
      [
        ['text', undefined, 'line\r\nline'],
        ['file "quoted"', 'na"me\r\n.txt', 'a\nb'],
      ],
    )
  })

  it('skips the rest of a part that the consumer does not read', async () => {
    const body = write(
      [
        { name: 'a', content: Buffer.alloc(100_000, 1) },
        { name: 'b', content: Buffer.from('x') },
        { name: 'c', content: Buffer.from('y') },
      ],
      'bound',
    )
    const { taken } = await reader.send(inChunks(body, [1_000]), BOUND, async ({ name, body: bytes }) => {
      if (name !== 'b') for await (const chunk of bytes) if (chunk.length > 0) break
      return name
    })
    assert.deepEqual(taken, ['a', 'b', 'c'])
  })

  it('enforces the limits', async () => {
    const parts = (count: number): Uint8Array =>
      write(
        Array.from({ length: count }, () => ({ name: 'a', content: Buffer.from('x') })),
        'bound',
      )
    assert.equal((await read(parts(20)))?.length, 20)
    assert.equal(await read(parts(21)), 'PAYLOAD_TOO_LARGE')
    for (const filler of ['y', ' ']) {
      const headers = Buffer.from(
        `--bound\r\nContent-Disposition: form-data; name=a\r\nX: ${filler.repeat(9_000)}\r\n\r\n`,
      )
      for (const size of [100, 65_536])
        assert.deepEqual(await reader.send(inChunks(headers, [size])), { failed: 'PAYLOAD_TOO_LARGE' })
    }
    const padding = Buffer.alloc(100_000, 'x')
    assert.equal(await read(padding), 'MALFORMED_BODY')
    assert.equal(await read(Buffer.concat([padding, Buffer.from('\r\n'), parts(1)])), 'MALFORMED_BODY')
    assert.equal(await read(Buffer.concat([parts(1), padding])), 'MALFORMED_BODY')
    assert.equal(
      (await read(Buffer.concat([Buffer.from('a preamble\r\n'), parts(1), Buffer.from('an epilogue')])))?.length,
      1,
    )
  })

  it('reads the other spellings of a file name', async () => {
    const cases: [string, string | undefined][] = [
      ['filename=plain.txt', 'plain.txt'],
      ['filename="a\\"b.txt"', 'a"b.txt'],
      ['filename="C:\\dir\\a.txt"', 'C:\\dir\\a.txt'],
      ['filename="a;b.txt"', 'a;b.txt'],
      ['filename="&#1234;.txt"', '&#1234;.txt'],
      ['filename="x"; filename*=UTF-8\'\'%e2%82%ac.txt', '€.txt'],
      ['FILENAME="a"', 'a'],
      ['other="filename=x"', undefined],
      ['other="; filename=x;"', undefined],
    ]
    for (const [spelling, filename] of cases) {
      const body = Buffer.from(`--bound\r\ncontent-disposition: form-data; name=n; ${spelling}\r\n\r\n\r\n--bound--`)
      assert.deepEqual(
        await read(body),
        [{ name: 'n', ...(filename !== undefined && { filename }), content: '' }],
        spelling,
      )
    }
  })

  it('rejects lines that are not headers, for every division into chunks', async () => {
    const head = 'Content-Disposition: form-data; name=n'
    const bodyOf = (lines: string, value = 'x'): Uint8Array =>
      Buffer.from(`--bound\r\n${head}\r\n\r\nfirst\r\n--bound\r\n${lines}\r\n\r\n${value}\r\n--bound--`)
    for (const size of [1, 7, 65_536]) {
      const sent = (lines: string, value?: string) => reader.send(inChunks(bodyOf(lines, value), [size]))
      for (const lines of [
        `${head}\r\nGarbage`,
        `Garbage\r\n${head}`,
        `${head}\r\n: x`,
        `${head}\r\nA B: x`,
        `${head}\r\n${head}`,
        `X:1\r\nx: 2\r\n${head}`,
        `${head}\r`,
      ])
        assert.deepEqual(await sent(lines), { failed: 'MALFORMED_BODY' }, JSON.stringify(lines))
      for (const lines of [
        head,
        head.replace(': ', ':'),
        head.replace(': ', ':   '),
        `X:\r\n${head}`,
        `${head}\r\nX: `,
      ])
        for (const value of ['x', '', '\r\nx', '\r\n--bounx', '\r\n\r\n'])
          assert.equal((await sent(lines, value)).taken?.[1]?.content, Buffer.from(value).toString('hex'), lines)
    }
  })

  it('accepts only the plain transfer encodings', async () => {
    const encoded = (encoding: string): Uint8Array =>
      Buffer.from(
        `--bound\r\nContent-Disposition: form-data; name=n\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\neA==\r\n--bound--`,
      )
    for (const plain of ['binary', '8bit', '7BIT']) assert.equal((await read(encoded(plain)))?.length, 1, plain)
    for (const other of ['base64', 'quoted-printable', 'utf-8', ''])
      assert.equal(await read(encoded(other)), 'MALFORMED_BODY', other)
  })

  it('reads boundaries and types', async () => {
    const body = write([{ name: 'a', content: Buffer.from('x') }], 'a b')
    assert.equal((await read(body, 'multipart/form-data; charset=utf-8; boundary="a b"'))?.length, 1)
    for (const type of [
      'multipart/form-data',
      'multipart/form-data; boundary=',
      'multipart/form-data; boundary="ä"',
      `multipart/form-data; boundary=${'x'.repeat(71)}`,
    ])
      assert.equal(await read(body, type), 'MALFORMED_BODY', type)
    for (const type of ['Text/HTML; charset=x', 'text/html \t;charset=x', ' text/html'])
      assert.equal(essence(type), 'text/html')
    for (const type of [
      undefined,
      '',
      'text',
      'text/',
      'a b/c',
      'text/ä',
      'text/html\u{A0}',
      '\u{A0}text/html',
      `text/${'x'.repeat(200)}`,
    ])
      assert.equal(essence(type), undefined)
  })
})
