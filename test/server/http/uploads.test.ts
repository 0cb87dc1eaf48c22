import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { RegistryError, type BlobStore } from '../../../core/index.ts'
import { BOUNDARY, END, MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { formOf, startService, type Company, type Service } from '../../support/service.ts'

const GOOD = { categoryName: 'Vehicles', subcategoryName: 'Cars', externalId: 'upload', name: 'x' }
const PATH = '/api/v1/evidences/acme/evidence'
const FILE_HEAD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="images"; filename="a.bin"\r\n\r\n`
const MIB = 1024 * 1024

/** `Promise.withResolvers`, which Node 20 has not. */
function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve }
}

describe('uploads', () => {
  let service: Service
  let company: Company
  /** What the blob store does with the next put. */
  let put: 'store' | 'fail' | 'stall' = 'store'
  let taken = 0
  let stalled = Promise.resolve()
  const wrapBlobs = (inner: BlobStore): BlobStore => ({
    get: (...args) => inner.get(...args),
    delete: (key) => inner.delete(key),
    close: () => inner.close(),
    put: async (key, body, options) => {
      if (put === 'fail') throw new RegistryError('UNAVAILABLE', 'the disk of the tests is broken')
      return inner.put(key, put === 'stall' ? slowly(body) : body, options)
    },
  })
  async function* slowly(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      taken += chunk.length
      yield chunk
      await stalled
    }
  }

  before(async () => {
    service = await startService({ sealMaxWaitMs: 3_600_000, uploadIdleMs: 250, maxFileBytes: 256 * MIB, wrapBlobs })
    company = await service.company('acme')
  })
  after(() => service.close())

  const headers = (more: Record<string, string | number> = {}) => ({
    'x-api-key': company.keys.U,
    'content-type': MULTIPART,
    ...more,
  })
  const texts = (externalId: string): string =>
    Object.entries({ ...GOOD, externalId })
      .map(([name, value]) => part(name, value))
      .join('')
  const begin = (length: number): RawRequest =>
    new RawRequest(service.port).head('POST', PATH, headers({ 'content-length': length }))

  /** Runs what must fail, waits until the server has cleaned up, and compares. */
  async function leavesNothing(what: () => Promise<void>): Promise<void> {
    const stored = await service.snapshot()
    await what()
    await service.until(async () => (await service.unfinished()).length === 0, 'nothing is unfinished')
    await service.until(async () => (await service.snapshot()) === stored, 'all is as it was')
  }

  it('a body that breaks off in a file leaves nothing', () =>
    leavesNothing(async () => {
      const request = begin(10 * MIB)
      await request.send(
        texts('broken') + part('images', 'whole', { filename: 'whole.txt' }) + FILE_HEAD + 'x'.repeat(MIB),
      )
      await service.until(async () => (await service.unfinished()).length === 2, 'one file is whole, one under way')
      request.breakOff()
    }))

  it('a body that breaks off in a header, between parts, or in JSON leaves nothing', () =>
    leavesNothing(async () => {
      for (const piece of [FILE_HEAD.slice(0, 40), texts('broken'), part('images', 'whole', { filename: 'w' })]) {
        const request = begin(MIB)
        await request.send(piece)
        await delay(20)
        request.breakOff()
      }
      const json = new RawRequest(service.port).head(
        'POST',
        PATH,
        headers({ 'content-type': 'application/json', 'content-length': 1_000 }),
      )
      await json.send('{"name":')
      json.breakOff()
    }))

  it('a body that ends before its last boundary, with its length kept, is refused', () =>
    leavesNothing(async () => {
      const body = texts('short') + FILE_HEAD + 'x'.repeat(1_000)
      const request = begin(Buffer.byteLength(body))
      await request.send(body)
      const { status, body: said } = await request.answer()
      assert.deepEqual([status, said['code']], [400, 'MALFORMED_BODY'])
      request.breakOff()
    }))

  it('a sender that is silent is refused after a while, and cut', () =>
    leavesNothing(async () => {
      const request = begin(10 * MIB)
      await request.send(texts('silent') + FILE_HEAD + 'x'.repeat(1_000))
      const started = performance.now()
      const { status, body } = await request.answer()
      assert.deepEqual([status, body['code']], [400, 'MALFORMED_BODY'])
      assert.ok(performance.now() - started >= 200)
      await service.until(() => request.closed, 'the connection is cut')
    }))

  it('a sender that is slow but not silent is served', async () => {
    const body = Buffer.from(texts('slow') + part('images', 'x'.repeat(300), { filename: 'a' }) + END)
    const request = begin(body.length)
    const step = Math.ceil(body.length / 6)
    for (let at = 0; at < body.length; at += step) {
      await request.send(body.subarray(at, at + step))
      await delay(100)
    }
    assert.equal((await request.answer()).status, 201)
    request.breakOff()
  })

  it('150 MB of part headers end early and are not held', () =>
    leavesNothing(async () => {
      const request = begin(160 * MIB)
      await request.send(`${texts('headers')}--${BOUNDARY}\r\nContent-Disposition: form-data; name="owner"\r\n`)
      const line = Buffer.from(`X-Filler: ${'y'.repeat(64 * 1024)}`)
      let sent = 0
      for (; sent < 150 * MIB && request.received === ''; sent += line.length) if (!(await request.send(line))) break
      const { status, body } = await request.answer()
      assert.deepEqual([status, body['code']], [413, 'PAYLOAD_TOO_LARGE'])
      assert.ok(sent < 32 * MIB, `${sent} bytes were taken before the refusal`)
      request.breakOff()
    }))

  it('a sender waits for a slow store: what came is not piled up', async () => {
    put = 'stall'
    const { promise, resolve: release } = withResolver()
    stalled = promise
    try {
      await leavesNothing(async () => {
        const request = begin(256 * MIB)
        await request.send(texts('stalled') + FILE_HEAD)
        const block = Buffer.alloc(MIB)
        // Not awaited: the socket takes what the other side lets it.
        for (let i = 0; i < 128; i++) request.socket.write(block)
        await delay(400)
        const flushed = request.socket.bytesWritten - request.socket.writableLength
        assert.ok(taken > 0 && flushed < 32 * MIB, `${flushed} bytes went out, ${taken} were stored`)
        request.breakOff()
        release()
      })
    } finally {
      release()
      put = 'store'
    }
  })

  it('a store that fails answers 503, and nothing is left', async () => {
    put = 'fail'
    try {
      await leavesNothing(async () => {
        const form = formOf({ ...GOOD, externalId: 'failed' }, [['images', 'a', 'x'.repeat(100_000)]])
        const answer = await service.refused('createEvidence', 503, 'UNAVAILABLE', {
          key: company.keys.U,
          params: { COMPANY_ID: 'acme' },
          form,
        })
        assert.ok(!answer.text.includes('disk of the tests'))
      })
    } finally {
      put = 'store'
    }
  })

  it('a refusal is heard while the body still comes, and the connection goes on', async () => {
    const request = new RawRequest(service.port).head('POST', PATH, {
      'content-type': MULTIPART,
      'content-length': 200_000,
    })
    await request.send('x'.repeat(100_000))
    assert.equal((await request.answer()).status, 401)
    await request.send('x'.repeat(100_000))
    request.head('GET', '/livez', {})
    await service.until(() => request.received.includes('{"status":"ok"}'), 'the next answer on the same connection')
    request.breakOff()
  })

  it('chunked bodies are read alike', async () => {
    const request = new RawRequest(service.port).head('POST', PATH, headers({ 'transfer-encoding': 'chunked' }))
    for (const piece of [texts('chunked'), part('images', 'abc', { filename: 'a' }), END])
      await request.send(`${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`)
    await request.send('0\r\n\r\n')
    assert.equal((await request.answer()).status, 201)
    request.breakOff()
  })

  it('files of several MiB arrive whole', async () => {
    const content = Buffer.from(Array.from({ length: 3 * MIB }, (_, i) => (i * 31) % 256))
    await service.ok('createEvidence', {
      key: company.keys.U,
      params: { COMPANY_ID: 'acme' },
      form: formOf({ ...GOOD, externalId: 'large' }, [['images', 'a', content]]),
    })
    const { dt } = await service.ok('listEvidenceFiles', {
      key: company.keys.U,
      params: { COMPANY_ID: 'acme', EVIDENCE_EXTERNAL_ID: 'large' },
    })
    const { text } = await service.call('downloadFile', {
      key: company.keys.U,
      params: { COMPANY_ID: 'acme' },
      query: { fileId: dt[0].overlayId },
    })
    assert.ok(Buffer.from(text, 'latin1').equals(content))
  })
})
