import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { OPERATOR, RegistryError, type BlobStore } from '../../../core/index.ts'
import { BOUNDARY, END, MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { formOf } from '../../support/form.ts'
import { present } from '../../support/present.ts'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { serviceFor } from '../../support/service.ts'
import { withMethods } from '../../support/with-methods.ts'

const GOOD = { ...VEHICLE_CATEGORY, externalId: 'upload', name: 'x' }
const PATH = '/api/v1/evidences/acme/evidence'
const FILE_HEAD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="images"; filename="a.bin"\r\n\r\n`
const MIB = 1024 * 1024
/** Only ends a test that hangs. */
const HANG_MS = 60_000

/** As `Promise.withResolvers`, which Node 20 does not have. */
function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve }
}

/** Waits until a value has not changed for 200 ms, and returns it. */
async function stableValue(read: () => number): Promise<number> {
  for (let value = read(), equalReadings = 0; ;) {
    await delay(10)
    equalReadings = read() === value ? equalReadings + 1 : 0
    value = read()
    if (equalReadings === 20) return value
  }
}

describe('uploads', () => {
  /** How the blob store handles the next put. */
  let put: 'store' | 'fail' | 'stall' | 'late' = 'store'
  /** Called by a `late` store, which reads nothing of a file before this resolves. */
  let beginLate = async (): Promise<void> => undefined
  let taken = 0
  let stalled = Promise.resolve()
  const wrapBlobs = (inner: BlobStore): BlobStore =>
    withMethods(inner, {
      async put(key, body, options) {
        if (put === 'late') await beginLate()
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

  const acme = new CompanyRequests({
    sealMaxWaitMs: 3_600_000,
    uploadIdleMs: 60_000,
    maxFileBytes: 256 * MIB,
    wrapBlobs,
  })

  const headers = (more: Record<string, string | number> = {}) => ({
    'x-api-key': acme.company.keys.U,
    'content-type': MULTIPART,
    ...more,
  })
  const texts = (externalId: string): string =>
    Object.entries({ ...GOOD, externalId })
      .map(([name, value]) => part(name, value))
      .join('')
  const begin = (length: number): RawRequest =>
    new RawRequest(acme.service.port).head('POST', PATH, headers({ 'content-length': length }))

  /** Runs a request that must fail, waits until the server has cleaned up, and compares the stores. */
  async function leavesNothing(what: () => Promise<void>): Promise<void> {
    const stored = await acme.service.snapshot()
    await what()
    await acme.service.until(async () => (await acme.service.unfinished()).length === 0, 'no upload is unfinished')
    await acme.service.until(async () => (await acme.service.snapshot()) === stored, 'the stores are unchanged')
  }

  it('a body that breaks off in a file leaves nothing behind', () =>
    leavesNothing(async () => {
      const request = begin(10 * MIB)
      await request.send(
        texts('broken') + part('images', 'whole', { filename: 'whole.txt' }) + FILE_HEAD + 'x'.repeat(MIB),
      )
      await acme.service.until(
        async () => (await acme.service.unfinished()).length === 2,
        'one file is stored, one is being stored',
      )
      request.disconnect()
    }))

  it('leave no listener at a connection that sends many', async (t) => {
    const warnings: string[] = []
    const warn = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', warn)
    t.after(() => process.off('warning', warn))
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    for (let i = 0; i < 15; i++) {
      const sent = httpRequest({ agent, port: acme.service.port, method: 'POST', path: PATH, headers: headers() })
      sent.end(texts(`kept-${i}`) + part('images', 'x', { filename: 'a' }) + END)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      assert.equal(response.statusCode, 201)
      await once(response.resume(), 'end')
    }
    assert.deepEqual(warnings, [])
  })

  it('takes as many files as the setting allows, besides the texts', async (t) => {
    const many = await serviceFor(t, { sealMaxWaitMs: 3_600_000, maxFilesPerRequest: 300 })
    const { keys } = await many.company('acme')
    const send = (count: number): Promise<Response> =>
      many.fetch(PATH, {
        method: 'POST',
        headers: { 'x-api-key': keys.U, 'content-type': MULTIPART },
        body: texts(`many-${count}`) + part('images', 'x', { filename: 'a' }).repeat(count) + END,
      })
    assert.equal((await send(300)).status, 201)
    assert.equal((await send(301)).status, 413)
  })

  it('a body that breaks off in a header, between parts, or in JSON leaves nothing behind', () =>
    leavesNothing(async () => {
      for (const piece of [FILE_HEAD.slice(0, 40), texts('broken'), part('images', 'whole', { filename: 'w' })]) {
        const request = begin(MIB)
        await request.send(piece)
        request.disconnect()
      }
      const json = new RawRequest(acme.service.port).head(
        'POST',
        PATH,
        headers({ 'content-type': 'application/json', 'content-length': 1_000 }),
      )
      await json.send('{"name":')
      json.disconnect()
    }))

  it('a form that fails before its files leaves nothing behind, although the parser has read them', () =>
    leavesNothing(async () => {
      const files = part('images', 'x'.repeat(1_000), { filename: 'a' }).repeat(20)
      for (let i = 0; i < 10; i++) {
        const request = begin(MIB)
        await request.send(part('__proto__', 'x') + files)
        assert.equal((await request.response()).status, 400)
        request.disconnect()
      }
      await acme.service.until(
        async () => /\nevidence_requests_running\{class="uploads"\} 0\n/.test(await acme.service.metrics()),
        'no place is taken',
      )
    }))

  it('a body that ends before its last boundary is rejected, also if its length is right', () =>
    leavesNothing(async () => {
      const body = texts('short') + FILE_HEAD + 'x'.repeat(1_000)
      const request = begin(Buffer.byteLength(body))
      await request.send(body)
      const { status, body: said } = await request.response()
      assert.deepEqual([status, said['code']], [400, 'MALFORMED_BODY'])
      request.disconnect()
    }))

  it('a silent sender is rejected after a while, and its connection closed', async (t) => {
    const impatient = await serviceFor(t, { sealMaxWaitMs: 3_600_000, uploadIdleMs: 250 })
    // Without HTTP: on a slow machine this server would end any request with a body.
    const scope = { companyId: 'acme', principal: OPERATOR }
    const { apiKey } = await impatient.registry.sourceSystems.create(scope, { name: 'U', permissions: 'U' })
    const stored = await impatient.snapshot()
    const startedMs = performance.now()
    const request = new RawRequest(impatient.port).head('POST', PATH, {
      'x-api-key': present(apiKey),
      'content-type': MULTIPART,
      'content-length': 10 * MIB,
    })
    await request.send(texts('silent') + FILE_HEAD + 'x'.repeat(1_000))
    const { status, body } = await request.response()
    assert.deepEqual([status, body['code']], [400, 'MALFORMED_BODY'])
    assert.ok(performance.now() - startedMs >= 200)
    await impatient.until(() => request.closed, 'the connection is closed')
    await impatient.until(async () => (await impatient.unfinished()).length === 0, 'no upload is unfinished')
    assert.equal(await impatient.snapshot(), stored)
  })

  it('150 MB of part headers are rejected early and not kept in memory', () =>
    leavesNothing(async () => {
      const request = begin(160 * MIB)
      await request.send(`${texts('headers')}--${BOUNDARY}\r\nContent-Disposition: form-data; name="owner"\r\n`)
      const line = Buffer.from(`X-Filler: ${'y'.repeat(64 * 1024)}`)
      let sent = 0
      for (; sent < 150 * MIB && request.received === ''; sent += line.length) if (!(await request.send(line))) break
      const { status, body } = await request.response()
      assert.deepEqual([status, body['code']], [413, 'PAYLOAD_TOO_LARGE'])
      assert.ok(sent < 32 * MIB, `${sent} bytes were accepted before the error`)
      request.disconnect()
    }))

  it('a sender waits for a slow store: bytes do not pile up in memory', async () => {
    put = 'stall'
    const { promise, resolve: release } = withResolver()
    stalled = promise
    try {
      await leavesNothing(async () => {
        const request = begin(256 * MIB)
        await request.send(texts('stalled') + FILE_HEAD)
        const block = Buffer.alloc(MIB)
        for (let i = 0; i < 128; i++) request.socket.write(block)
        await acme.service.until(() => taken > 0, 'the first bytes are stored')
        const flushed = await stableValue(() => request.socket.bytesWritten - request.socket.writableLength)
        assert.ok(taken > 0 && flushed < 32 * MIB, `${flushed} bytes went out, ${taken} were stored`)
        request.disconnect()
        release()
      })
    } finally {
      release()
      put = 'store'
    }
  })

  it('goes on behind a file that has ended before its store begins to read', { timeout: HANG_MS }, async (t) => {
    t.after(() => (put = 'store'))
    put = 'late'
    // The end of the file comes in one packet with its bytes, which are more than a stream holds without a pause.
    const file = part('images', 'x'.repeat(20_000), { filename: 'a.bin' })
    const first = texts('late') + file + `--${BOUNDARY}\r\n`
    const rest = `Content-Disposition: form-data; name="description"\r\n\r\nlast\r\n${END}`
    const request = begin(Buffer.byteLength(first + rest))
    const begun = withResolver()
    const { promise: mayRead, resolve: read } = withResolver()
    beginLate = () => {
      begun.resolve()
      return mayRead
    }
    await request.send(first)
    await begun.promise
    read()
    await request.send(rest)
    assert.equal((await request.response(HANG_MS)).status, 201)
    request.disconnect()
  })

  it('a failing store results in 503 and leaves nothing behind', async (t) => {
    put = 'fail'
    t.after(() => (put = 'store'))
    await leavesNothing(async () => {
      const form = formOf({ ...GOOD, externalId: 'failed' }, [['images', 'a', 'x'.repeat(100_000)]])
      const answer = await acme.fails('createEvidence', 503, 'UNAVAILABLE', { form })
      assert.ok(!answer.text.includes('disk of the tests'))
    })
  })

  it('an error is received while the body is still sent, and the connection stays usable', async () => {
    const request = new RawRequest(acme.service.port).head('POST', PATH, {
      'content-type': MULTIPART,
      'content-length': 200_000,
    })
    await request.send('x'.repeat(100_000))
    assert.equal((await request.response()).status, 401)
    await request.send('x'.repeat(100_000))
    request.head('GET', '/livez', {})
    await acme.service.until(
      () => request.received.includes('{"status":"ok"}'),
      'the next response on the same connection',
    )
    request.disconnect()
  })

  const late = [
    ['1.0', '', 401],
    ['1.1', '', 401],
    ['1.1', `X: ${'x'.repeat(20_000)}\r\n`, 431],
  ] as const
  for (const [version, header, status] of late)
    it(`a client of HTTP/${version} that reads late hears why its body was refused: ${status}`, async () => {
      const request = new RawRequest(acme.service.port)
      request.socket.pause()
      const head = `POST ${PATH} HTTP/${version}\r\nHost: a\r\nConnection: close\r\nContent-Length: 5000000\r\n`
      request.socket.write(`${head}${header}\r\n`)
      for (let sent = 0; sent < 5_000_000; sent += 100_000) await request.send('x'.repeat(100_000))
      request.socket.resume()
      assert.equal((await request.response()).status, status)
    })

  it('reads chunked bodies', async () => {
    const request = new RawRequest(acme.service.port).head('POST', PATH, headers({ 'transfer-encoding': 'chunked' }))
    for (const piece of [texts('chunked'), part('images', 'abc', { filename: 'a' }), END])
      await request.send(`${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`)
    await request.send('0\r\n\r\n')
    assert.equal((await request.response()).status, 201)
    request.disconnect()
  })

  it('stores files of several MiB completely', async () => {
    const content = Buffer.from(Array.from({ length: 3 * MIB }, (_, i) => (i * 31) % 256))
    await acme.ok('createEvidence', { form: formOf({ ...GOOD, externalId: 'large' }, [['images', 'a', content]]) })
    const [{ overlayId: fileId }] = await acme.files('large')
    const { text } = await acme.call('downloadFile', { query: { fileId } })
    assert.ok(Buffer.from(text, 'latin1').equals(content))
  })
})
