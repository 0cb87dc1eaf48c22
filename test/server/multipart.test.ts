import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { boundaryOf, essence, partsOf, type PartLimits } from '../../server/multipart.ts'

const LIMITS: PartLimits = { maxParts: 20, maxHeaderBytes: 8_192 }

async function* inChunks(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

interface Read {
  readonly name: string
  readonly filename: string | undefined
  readonly content: string
}

async function read(
  body: Uint8Array,
  boundary: string,
  sizes: readonly number[] = [65_536],
  limits = LIMITS,
): Promise<Read[]> {
  const found: Read[] = []
  for await (const { name, filename, body: content } of partsOf(inChunks(body, sizes), boundary, limits)) {
    const chunks: Uint8Array[] = []
    for await (const chunk of content) chunks.push(chunk)
    found.push({ name, filename, content: Buffer.concat(chunks).toString('hex') })
  }
  return found
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

// Made of what boundaries are made of, so that false starts are frequent.
const tricky = fc
  .array(fc.constantFrom('\r', '\n', '-', '--', 'b', 'bo', '\r\n--', '\r\n--bo', 'x'), { maxLength: 60 })
  .map((pieces) => Buffer.from(pieces.join('')))
const content = fc
  .oneof(fc.uint8Array({ maxLength: 300 }), tricky)
  .filter((bytes) => !/\r\n--bound(?:\r\n|--)/.test(`\r\n${Buffer.from(bytes).toString('latin1')}`))
const form = fc.array(
  fc.record({
    name: fc.stringMatching(/^[a-z.[\]]{1,10}$/),
    filename: fc.option(fc.stringMatching(/^[a-zA-Z. äß日]{0,10}$/), { nil: undefined }),
    content,
  }),
  { maxLength: 6 },
)

describe('multipart/form-data', () => {
  it('gives the same parts however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        form,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
        async (parts, sizes) => {
          const expected = parts.map(({ name, filename, content: bytes }) => ({
            name,
            filename,
            content: Buffer.from(bytes).toString('hex'),
          }))
          assert.deepEqual(await read(write(parts, 'bound'), 'bound', sizes), expected)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('calls every cut body broken', async () => {
    const body = write(
      [
        { name: 'a', filename: 'f', content: Buffer.from('some content\r\n--bou') },
        { name: 'b', content: Buffer.from('x') },
      ],
      'bound',
    )
    // The line break behind the last boundary may be missing.
    for (let length = 0; length < body.length - 2; length++)
      await assert.rejects(read(body.subarray(0, length), 'bound'), { code: 'MALFORMED_BODY' }, `${length} bytes`)
  })

  it("reads what Node's own FormData writes", async () => {
    const data = new FormData()
    data.append('text', 'line\nline')
    data.append('file "quoted"', new File(['a\nb'], 'na"me\r\n.txt'))
    const request = new Request('http://localhost', { method: 'POST', body: data })
    const parts = await read(
      new Uint8Array(await request.arrayBuffer()),
      boundaryOf(request.headers.get('content-type') ?? ''),
    )
    assert.deepEqual(
      parts.map(({ name, filename, content: hex }) => [name, filename, Buffer.from(hex, 'hex').toString()]),
      [
        ['text', undefined, 'line\r\nline'],
        ['file "quoted"', 'na"me\r\n.txt', 'a\nb'],
      ],
    )
  })

  it('skips what the consumer leaves of a part', async () => {
    const body = write(
      [
        { name: 'a', content: Buffer.alloc(10_000, 1) },
        { name: 'b', content: Buffer.from('x') },
      ],
      'bound',
    )
    const names: string[] = []
    for await (const { name, body: bytes } of partsOf(inChunks(body, [100]), 'bound', LIMITS)) {
      names.push(name)
      for await (const chunk of bytes) if (chunk.length > 0) break
    }
    assert.deepEqual(names, ['a', 'b'])
  })

  it('asks for no more bytes than its consumer takes', async () => {
    let given = 0
    async function* counted(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('--bound\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n')
      for (; given < 1_000; given++) yield Buffer.alloc(1_000)
    }
    for await (const { body } of partsOf(counted(), 'bound', LIMITS)) {
      await body[Symbol.asyncIterator]().next()
      assert.ok(given <= 1, `${given}`)
      break
    }
  })

  it('ends at the limits', async () => {
    const many = write(
      Array.from({ length: 21 }, () => ({ name: 'a', content: Buffer.from('x') })),
      'bound',
    )
    await assert.rejects(read(many, 'bound'), { code: 'PAYLOAD_TOO_LARGE' })
    const headers = Buffer.from(`--bound\r\nX: ${'y'.repeat(9_000)}\r\n\r\n`)
    for (const sizes of [[1], [100], [65_536]])
      await assert.rejects(read(headers, 'bound', sizes), { code: 'PAYLOAD_TOO_LARGE' })
    await assert.rejects(read(Buffer.alloc(100_000, 'x'), 'bound'), { code: 'MALFORMED_BODY' })
  })

  it('reads the other spellings of a file name', async () => {
    const cases: [string, string | undefined][] = [
      ['filename=plain.txt', 'plain.txt'],
      ['filename="a\\"b.txt"', 'a"b.txt'],
      ['filename="C:\\dir\\a.txt"', 'C:\\dir\\a.txt'],
      ['filename="a;b.txt"', 'a;b.txt'],
      ['filename="x"; filename*=UTF-8\'\'%e2%82%ac.txt', '€.txt'],
      ['FILENAME="a"', 'a'],
      ['other="filename=x"', undefined],
    ]
    for (const [spelling, filename] of cases) {
      const body = Buffer.from(`--bound\r\ncontent-disposition: form-data; name=n; ${spelling}\r\n\r\n\r\n--bound--`)
      assert.deepEqual(await read(body, 'bound'), [{ name: 'n', filename, content: '' }], spelling)
    }
  })

  it('reads boundaries and types', () => {
    assert.equal(boundaryOf('multipart/form-data; charset=utf-8; boundary="a b"'), 'a b')
    for (const type of [
      'multipart/form-data',
      'multipart/form-data; boundary=',
      'multipart/form-data; boundary="ä"',
      `multipart/form-data; boundary=${'x'.repeat(71)}`,
    ])
      assert.throws(() => boundaryOf(type), { code: 'MALFORMED_BODY' }, type)
    assert.equal(essence('Text/HTML; charset=x'), 'text/html')
    for (const type of [undefined, '', 'text', 'text/', 'a b/c', 'text/ä', `text/${'x'.repeat(200)}`])
      assert.equal(essence(type), undefined)
  })
})
