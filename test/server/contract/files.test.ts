import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, it } from 'node:test'
import type { BlobStore } from '../../../core/index.ts'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import type { ServiceResponse } from '../../support/service.ts'
import { withMethods } from '../../support/with-methods.ts'

type Query = Readonly<Record<string, string>>

const CONTENT = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7) % 251))
const ETAG = `"${createHash('sha256').update(CONTENT).digest('hex')}"`

const bytes = ({ text }: ServiceResponse): Buffer => Buffer.from(text, 'latin1')

describe('files', () => {
  let damage: 'flipped' | 'missing' | undefined
  const wrapBlobs = (inner: BlobStore): BlobStore =>
    withMethods(inner, {
      async get(...args) {
        if (damage === 'missing') return undefined
        const found = await inner.get(...args)
        return found && damage === 'flipped' ? { ...found, body: flipLast(found.body) } : found
      },
    })
  const acme = new CompanyRequests({ wrapBlobs })
  let fileId: string
  before(async () => {
    fileId = await attach('owner', ['Zeugnis "ä".bin', CONTENT, 'video/mp4'])
  })

  /** Creates an evidence with a file, and returns the file's id. */
  async function attach(
    externalId: string,
    file: readonly [name: string, content: string | Uint8Array, type?: string],
  ): Promise<string> {
    const fields = { ...VEHICLE_CATEGORY, externalId, name: 'x' }
    await acme.ok('createEvidence', { form: formOf(fields, [['images', ...file]]) })
    return (await acme.files(externalId))[0].overlayId
  }
  const download = (query: Query = {}, headers: Query = {}): Promise<ServiceResponse> =>
    acme.call('downloadFile', { query: { fileId, ...query }, headers })
  const headersOf = (response: ServiceResponse, ...names: readonly string[]) =>
    names.map((name) => response.headers.get(name))

  it('14: sends the content with headers that protect browsers', async () => {
    const warnings: Error[] = []
    const note = (warning: Error): void => void warnings.push(warning)
    process.on('warning', note)
    const response = await download()
    process.off('warning', note)
    assert.deepEqual(warnings, [], 'no warning about listeners')
    assert.ok(bytes(response).equals(CONTENT))
    assert.deepEqual(headersOf(response, 'content-type', 'content-length', 'etag', 'accept-ranges'), [
      'video/mp4',
      '200000',
      ETAG,
      'bytes',
    ])
    assert.deepEqual(headersOf(response, 'x-content-type-options', 'content-security-policy', 'content-disposition'), [
      'nosniff',
      "default-src 'none'; sandbox",
      `attachment; filename="Zeugnis \\"?\\".bin"; filename*=UTF-8''Zeugnis%20%22%C3%A4%22.bin`,
    ])
  })

  it('14: sends single ranges', async () => {
    const cases: [string, number, string | null, Buffer | undefined][] = [
      ['bytes=0-0', 206, 'bytes 0-0/200000', CONTENT.subarray(0, 1)],
      ['bytes=0-', 206, 'bytes 0-199999/200000', CONTENT],
      ['bytes=65535-131072', 206, 'bytes 65535-131072/200000', CONTENT.subarray(65_535, 131_073)],
      ['bytes=-5', 206, 'bytes 199995-199999/200000', CONTENT.subarray(-5)],
      ['bytes=-900000', 206, 'bytes 0-199999/200000', CONTENT],
      ['bytes=199999-300000', 206, 'bytes 199999-199999/200000', CONTENT.subarray(-1)],
      ['bytes=200000-', 416, 'bytes */200000', undefined],
      ['bytes=9999999999999999999-', 416, 'bytes */200000', undefined],
      ['bytes=0-9999999999999999999', 206, 'bytes 0-199999/200000', CONTENT],
      ['bytes=-9999999999999999999', 206, 'bytes 0-199999/200000', CONTENT],
      ['bytes=-0', 416, 'bytes */200000', undefined],
      // Several ranges, another unit, and an invalid range: the whole file.
      ['bytes=0-1,3-4', 200, null, CONTENT],
      ['lines=0-1', 200, null, CONTENT],
      ['bytes=5-3', 200, null, CONTENT],
      ['bytes=-', 200, null, CONTENT],
    ]
    for (const [range, status, contentRange, content] of cases) {
      const answer = await download({}, { range })
      assert.deepEqual([answer.status, answer.headers.get('content-range')], [status, contentRange], range)
      if (content === undefined) assert.equal(answer.body.code, 'RANGE_NOT_SATISFIABLE')
      else assert.ok(bytes(answer).equals(content), range)
    }
  })

  it('14: If-None-Match and If-Range', async () => {
    for (const tag of [ETAG, `W/${ETAG}`, `"other", ${ETAG}`, '*'])
      assert.deepEqual([(await download({}, { 'if-none-match': tag })).status], [304], tag)
    assert.equal((await download({}, { 'if-none-match': '"other"' })).status, 200)
    const range = { range: 'bytes=0-9' }
    assert.equal((await download({}, { ...range, 'if-range': ETAG })).status, 206)
    for (const tag of ['"other"', `W/${ETAG}`, 'Sat, 21 Nov 2026 00:00:00 GMT'])
      assert.equal((await download({}, { ...range, 'if-range': tag })).status, 200, tag)
  })

  it('14: sends an empty file', async () => {
    const query = { fileId: await attach('empty', ['empty.txt', '']) }
    const response = await download(query)
    assert.deepEqual([response.status, response.text, ...headersOf(response, 'content-length')], [200, '', '0'])
    assert.equal((await download(query, { range: 'bytes=0-' })).status, 416)
  })

  it('14: sends the stored type, or the one in the query, always as a sandboxed attachment', async () => {
    const id = await attach('active', ['a', '<script>', 'text/html'])
    for (const [query, type] of [
      [{ fileId: id }, 'text/html'],
      [{ fileId: id.toUpperCase(), mimeType: '' }, 'text/html'],
      [{ mimeType: 'image/svg+xml' }, 'image/svg+xml'],
      [{ mimeType: 'text/plain; charset=utf-8' }, 'text/plain; charset=utf-8'],
      [{ mimeType: String.raw`text/plain; a="\"\\"; b=c` }, String.raw`text/plain; a="\"\\"; b=c`],
      [{ fileId: await attach('untyped', ['a', 'x', 'nonsense']) }, 'application/octet-stream'],
    ] as const) {
      const { headers } = await download(query)
      assert.deepEqual([headers.get('content-type'), headers.get('x-content-type-options')], [type, 'nosniff'])
      assert.match(headers.get('content-disposition') ?? '', /^attachment/)
      assert.match(headers.get('content-security-policy') ?? '', /sandbox/)
    }
    const noHeader = ['a/b;c="\r\nd: e"', 'a/b;c="\u20ac"', 'a/b;c="\0"', 'a/b;c="\x7f"', String.raw`a/b;c="\"`]
    for (const mimeType of ['nonsense', 'text/', '*/*', 'image/*', 'a/b;c', 'a/b\r\nc: d', 'ü/b', ...noHeader])
      await acme.fails('downloadFile', 400, 'VALIDATION_ERROR', { query: { fileId, mimeType } })
  })

  it('14: every entity in the query must own the file', async () => {
    const { categoryId, subcategoryId } = (await acme.page('owner')).object
    const owners = { evidenceId: 'owner', categoryId, subcategoryId }
    assert.equal((await download(owners)).status, 200)
    await acme.fails('downloadFile', 404, 'FILE_NOT_FOUND', { query: { fileId, ...owners, evidenceId: 'other' } })
    for (const query of [{ evidenceId: 'owner' }, { fileId, other: '1' }])
      await acme.fails('downloadFile', 400, 'VALIDATION_ERROR', { query })
  })

  it('14: never sends all bytes of a file that differs from the recorded one, and counts it', async () => {
    const damagedReads = async (): Promise<number> => {
      const text = await acme.service.metrics()
      return Number(/^evidence_damaged_file_reads_total (\d+)$/m.exec(text)?.[1])
    }
    const small = await attach('small', ['small.txt', 'small'])
    const earlier = await damagedReads()
    damage = 'flipped'
    await assert.rejects(download(), /terminated|other side closed|fetch failed/)
    await acme.fails('downloadFile', 500, 'INTERNAL', { query: { fileId: small } })
    damage = 'missing'
    await acme.fails('downloadFile', 500, 'INTERNAL', { query: { fileId } })
    damage = undefined
    assert.equal((await download()).status, 200)
    assert.equal(await damagedReads(), earlier + 3)
  })

  it('14: a token opens its file without a key, also in pages of other origins', async () => {
    const { token } = await acme.ok('createFileToken', { key: acme.company.keys.R, json: { fileId } })
    const params = { COMPANY_ID: 'acme' }
    for (const [request, policy] of [
      [{ query: { token } }, 'cross-origin'],
      [{ query: { token, fileId } }, 'cross-origin'],
      [{ query: { token }, key: acme.company.keys.R }, 'same-origin'],
    ] as const) {
      const opened = await acme.service.call('downloadFile', { params, ...request })
      assert.ok(bytes(opened).equals(CONTENT))
      assert.equal(opened.headers.get('cross-origin-resource-policy'), policy)
    }
    const other = await attach('other-file', ['a.txt', 'a'])
    for (const query of [
      { token, fileId: other },
      { token: `${token.slice(1)}${token[0]}` },
      { token: '' },
      { fileId },
    ]) {
      const { status, body } = await acme.service.call('downloadFile', { params, query })
      assert.deepEqual([status, body], [401, { statusCode: 401, message: 'Unauthorized' }])
    }
  })

  it('15: returns the event, of which a file of a category has none', async () => {
    const id = await attach('deleted-from', ['a.txt', 'content'])
    const query = { fileId: id, evidenceId: 'deleted-from' }
    await acme.fails('deleteFile', 404, 'FILE_NOT_FOUND', { query: { ...query, evidenceId: 'owner' } })
    const deleted = await acme.ok('deleteFile', { query })
    const { events } = await acme.page('deleted-from')
    const event = { type: 'update', updateType: 'deletefile', txId: events[1].txId, version: 2, files: [id] }
    assert.deepEqual(deleted, { status: 'ok', events: [event] })
    for (const operation of ['downloadFile', 'deleteFile'])
      await acme.fails(operation, 404, 'FILE_NOT_FOUND', { query: { fileId: id } })
    await acme.fails('deleteFile', 400, 'VALIDATION_ERROR')

    const form = formOf({ name: 'Pictured' }, [['image', 'a.png', 'a', 'image/png']])
    const { id: CATEGORY_ID } = await acme.ok('createCategory', { form })
    const { imageId } = await acme.ok('getCategory', { params: { CATEGORY_ID } })
    const image = { query: { fileId: imageId, categoryId: CATEGORY_ID } }
    assert.deepEqual(await acme.ok('deleteFile', image), { status: 'ok', events: [] })
  })
})

async function* flipLast(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    const copy = new Uint8Array(chunk)
    copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1
    yield copy
  }
}
