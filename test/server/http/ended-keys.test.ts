import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { BlobStore, RecordStore } from '../../../core/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import { MULTIPART, part, END, RawRequest } from '../../support/raw-http.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { withMethods } from '../../support/with-methods.ts'

/** So many that a whole list has three pages. */
const COUNT = 700
/** The limit with which only its second page is read. */
const SECOND_PAGE = 501
const CHUNK = 64 * 1024
const UNAUTHORIZED = { statusCode: 401, message: 'Unauthorized' }

describe('a key that ends while a request is in progress', () => {
  let lookUps = 0
  /** What the second page of a list, and the middle of a file, wait for; and how many wait. */
  let held: Promise<void> | undefined
  let waiting = 0
  const wait = async (): Promise<void> => {
    waiting++
    await held
    waiting--
  }
  async function* listed<T>(entries: AsyncIterable<T>): AsyncGenerator<T> {
    await wait()
    yield* entries
  }
  async function* inChunks(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let sent = 0
    for await (const bytes of body)
      for (let at = 0; at < bytes.length; at += CHUNK) {
        if (++sent === 4) await wait()
        yield bytes.subarray(at, at + CHUNK)
      }
  }
  const wrapRecords = (records: RecordStore): RecordStore =>
    decorateRecords(records, {
      get(keys) {
        if (keys.some((key) => key.startsWith('sk/'))) lookUps++
        return records.get(keys)
      },
      list: (range) => (range.limit === SECOND_PAGE ? listed(records.list(range)) : records.list(range)),
    })
  const wrapBlobs = (blobs: BlobStore): BlobStore =>
    withMethods(blobs, {
      async get(key, range, signal) {
        const blob = await blobs.get(key, range, signal)
        return blob && { ...blob, body: inChunks(blob.body) }
      },
    })
  const { logger, lines } = recordingLogger()
  const acme = new CompanyRequests({ logger, sealMaxWaitMs: 3_600_000, wrapRecords, wrapBlobs })

  const change = (json: object) =>
    acme.ok('updateSourceSystem', { key: acme.company.keys.A, params: { SYSTEM_ID: acme.company.systems.U }, json })
  /** Changes the source system, and lets more than a second pass. Changes it back after the test. */
  async function afterChange(t: TestContext, json: object): Promise<void> {
    await change(json)
    t.after(() => change({ active: true, permissions: 'U' }))
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + 1_000)
  }
  /** A request of the key that has been authorized, and whose body is still to come. */
  async function begun(t: TestContext, method: string, path: string, headers: Record<string, string | number>) {
    const before = lookUps
    const request = new RawRequest(acme.service.port).head(method, `/api/v1/evidences/acme${path}`, {
      'x-api-key': acme.company.keys.U,
      ...headers,
    })
    t.after(() => request.disconnect())
    await acme.service.until(() => lookUps > before, 'the request is authorized')
    return request
  }
  const versionsOf = async (externalId: string): Promise<number> =>
    (await acme.page(externalId, { len: '50' })).events.length

  it('records nothing of a JSON body', async (t) => {
    await acme.create('e-json')
    const body = JSON.stringify({ owner: 'Thief' })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const request = await begun(t, 'PUT', '/evidence/e-json', headers)
    await afterChange(t, { active: false })
    await request.send(body)
    assert.deepEqual(await request.response(), { status: 401, body: UNAUTHORIZED })
    assert.match(request.received, /www-authenticate: /i)
    await change({ active: true })
    assert.equal(await versionsOf('e-json'), 1)
  })

  it('records nothing of a form, and leaves no file of it', async (t) => {
    await acme.create('e-form')
    const parts = ['a', 'b'].map((name) => part('files', name.repeat(1_000), { filename: `${name}.bin` }))
    const form = parts.join('') + END
    const headers = { 'content-type': MULTIPART, 'content-length': form.length }
    const request = await begun(t, 'PUT', '/evidence/e-form', headers)
    const kept = acme.service.blobs.kept.size
    await request.send(parts[0] ?? '')
    await acme.service.until(async () => (await acme.service.unfinished()).length > 0, 'a file is being stored')
    await afterChange(t, { active: false })
    await request.send(parts[1] + END)
    assert.deepEqual(await request.response(), { status: 401, body: UNAUTHORIZED })
    assert.deepEqual([acme.service.blobs.kept.size, await acme.service.unfinished()], [kept, []])
    await change({ active: true })
    assert.equal(await versionsOf('e-form'), 1)
  })

  it('is refused what its new level does not allow', async (t) => {
    const body = JSON.stringify({ name: 'New' })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const request = await begun(t, 'POST', '/category', headers)
    await afterChange(t, { permissions: 'R' })
    await request.send(body)
    assert.equal((await request.response()).status, 403)
  })

  /** Whether a response that is under way when its key ends has a last byte. */
  async function isWhole(t: TestContext, path: string, headers: Record<string, string> = {}): Promise<boolean> {
    let release = (): void => undefined
    held = new Promise((resolve) => (release = resolve))
    const response = await acme.service.fetch(path, { headers: { 'x-request-id': path.slice(-64), ...headers } })
    assert.equal(response.status, 200)
    await acme.service.until(() => waiting === 1, 'a part of the response has been sent')
    await afterChange(t, { active: false })
    release()
    held = undefined
    return response.arrayBuffer().then(
      () => true,
      () => false,
    )
  }

  it('gets no further page of a list, which is not logged as an error', async (t) => {
    await acme.service.fill('acme', COUNT)
    const headers = { 'x-api-key': acme.company.keys.U, 'x-request-id': 'list' }
    assert.equal(await isWhole(t, '/api/v1/evidences/acme/evidences', headers), false)
    const codes = () => lines.filter((line) => line['requestId'] === 'list').map(({ level, code }) => [level, code])
    await acme.service.until(() => codes().length > 0, 'the request is logged')
    assert.deepEqual(codes(), [['info', 'UNAUTHORIZED']])
  })

  for (const opener of ['key', 'token of it'])
    it(`gets no further part of a file: the ${opener}`, async (t) => {
      const externalId = `file by ${opener}`
      await acme.create(externalId)
      const form = formOf({}, [['files', 'a.bin', Buffer.alloc(16 * CHUNK)]])
      await acme.ok('updateEvidence', { ...of(externalId), form })
      const [{ overlayId: fileId }] = await acme.files(externalId)
      const { token } = await acme.ok('createFileToken', { json: { fileId } })
      const path = '/api/v1/evidences/acme/file'
      const isByKey = opener === 'key'
      const headers = isByKey ? { 'x-api-key': acme.company.keys.U } : {}
      assert.equal(await isWhole(t, `${path}?${isByKey ? `fileId=${fileId}` : `token=${token}`}`, headers), false)
    })
})
