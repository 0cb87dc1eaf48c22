import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { BlobStore } from '../../../core/index.ts'
import { formOf } from '../../support/form.ts'
import { startService, type ServiceResponse, type Company, type Service } from '../../support/service.ts'

const CONTENT = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7) % 251))
const ETAG = `"${createHash('sha256').update(CONTENT).digest('hex')}"`
const PLACE = { categoryName: 'Vehicles', subcategoryName: 'Cars' }

describe('files', () => {
  let service: Service
  let company: Company
  let at: { key: string; params: { COMPANY_ID: string } }
  let fileId: string
  /** Flips a byte of what is read, as a broken disk would. */
  let isBroken = false
  /** Finds no bytes, as if another volume was mounted. */
  let isMissing = false
  const wrapBlobs = (inner: BlobStore): BlobStore => ({
    put: (...args) => inner.put(...args),
    delete: (key) => inner.delete(key),
    close: () => inner.close(),
    async get(...args) {
      if (isMissing) return undefined
      const found = await inner.get(...args)
      return found && isBroken ? { ...found, body: flipLast(found.body) } : found
    },
  })

  before(async () => {
    service = await startService({ wrapBlobs })
    company = await service.company('acme')
    at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
    fileId = (await attach('owner', [['images', 'Zeugnis "ä".bin', CONTENT, 'video/mp4']]))[0] as string
  })
  after(() => service.close())

  async function attach(externalId: string, files: Parameters<typeof formOf>[1]): Promise<string[]> {
    await service.ok('createEvidence', { ...at, form: formOf({ ...PLACE, externalId, name: 'x' }, files) })
    const { dt } = await service.ok('listEvidenceFiles', {
      ...at,
      params: { ...at.params, EVIDENCE_EXTERNAL_ID: externalId },
    })
    return dt.map(({ overlayId }: { overlayId: string }) => overlayId)
  }
  const download = (
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<ServiceResponse> => service.call('downloadFile', { ...at, query: { fileId, ...query }, headers })
  const bytes = ({ text }: ServiceResponse): Buffer => Buffer.from(text, 'latin1')

  it('14: sends the content with headers that protect browsers', async () => {
    const answer = await download()
    assert.ok(bytes(answer).equals(CONTENT))
    const shown = [
      'content-type',
      'content-length',
      'etag',
      'accept-ranges',
      'x-content-type-options',
      'content-security-policy',
      'content-disposition',
    ].map((name) => answer.headers.get(name))
    assert.deepEqual(shown, [
      'video/mp4',
      '200000',
      ETAG,
      'bytes',
      'nosniff',
      "default-src 'none'; sandbox",
      `attachment; filename="Zeugnis \\"?\\".bin"; filename*=UTF-8''Zeugnis%20%22%C3%A4%22.bin`,
    ])
  })

  it('14: prints no warning about listeners', async () => {
    const warnings: Error[] = []
    const note = (warning: Error): void => void warnings.push(warning)
    process.on('warning', note)
    try {
      assert.equal((await download()).status, 200)
      assert.deepEqual(warnings, [])
    } finally {
      process.off('warning', note)
    }
  })

  it('14: HEAD returns the same headers without the content', async () => {
    const response = await service.fetch(`/api/v1/evidences/acme/file?fileId=${fileId}`, {
      method: 'HEAD',
      headers: { 'x-api-key': at.key },
    })
    assert.deepEqual(
      [response.status, response.headers.get('content-length'), response.headers.get('etag'), await response.text()],
      [200, '200000', ETAG, ''],
    )
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
    const [empty = ''] = await attach('empty', [['images', 'empty.txt', '']])
    const answer = await download({ fileId: empty })
    assert.deepEqual([answer.status, answer.text, answer.headers.get('content-length')], [200, '', '0'])
    assert.equal((await download({ fileId: empty }, { range: 'bytes=0-' })).status, 416)
  })

  it('14: sends the stored type, or the one in the query, always as a sandboxed attachment', async () => {
    const stored = [
      'text/html',
      'image/svg+xml',
      'application/javascript',
      'application/xhtml+xml',
      'text/xml',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    ]
    for (const [i, type] of stored.entries()) {
      const [id = ''] = await attach(`active-${i}`, [['images', 'a', '<script>', type]])
      for (const query of [{ fileId: id }, { mimeType: type }, { fileId: id.toUpperCase(), mimeType: '' }]) {
        const { headers } = await download(query)
        assert.equal(headers.get('content-type'), type)
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
        assert.match(headers.get('content-disposition') ?? '', /^attachment/)
        assert.match(headers.get('content-security-policy') ?? '', /sandbox/)
      }
    }
    const [untyped = ''] = await attach('untyped', [['images', 'a', 'x', 'nonsense']])
    assert.equal((await download({ fileId: untyped })).headers.get('content-type'), 'application/octet-stream')
    const charset = 'text/plain; charset=utf-8'
    assert.equal((await download({ mimeType: charset })).headers.get('content-type'), charset)
    for (const quoted of ['text/plain;a="b c"', String.raw`text/plain; a="\"\\"; b=c`])
      assert.equal((await download({ mimeType: quoted })).headers.get('content-type'), quoted)
    const noHeader = ['a/b;c="\r\nd: e"', 'a/b;c="\u20ac"', 'a/b;c="\0"', 'a/b;c="\x7f"', String.raw`a/b;c="\"`]
    for (const mimeType of ['nonsense', 'text/', 'a/b;c', 'a/b\r\nc: d', 'ü/b', ...noHeader])
      await service.fails('downloadFile', 400, 'VALIDATION_ERROR', { ...at, query: { fileId: untyped, mimeType } })
    assert.equal((await download({ mimeType: 'application/pdf' })).headers.get('content-type'), 'application/pdf')
    assert.equal((await download({ mimeType: 'text/plain' })).headers.get('content-type'), 'text/plain')
  })

  it('14: every entity in the query must own the file', async () => {
    const { object } = await service.ok('getEvidence', {
      ...at,
      params: { ...at.params, EVIDENCE_EXTERNAL_ID: 'owner' },
    })
    const owners = { evidenceId: 'owner', categoryId: object.categoryId, subcategoryId: object.subcategoryId }
    assert.equal((await download(owners)).status, 200)
    for (const [name, value] of Object.entries({
      evidenceId: 'other',
      categoryId: object.subcategoryId,
      subcategoryId: object.categoryId,
    }))
      await service.fails('downloadFile', 404, 'FILE_NOT_FOUND', {
        ...at,
        query: { fileId, ...owners, [name]: value },
      })
    await service.fails('downloadFile', 404, 'FILE_NOT_FOUND', { ...at, query: { fileId: object.id } })
    await service.fails('downloadFile', 400, 'VALIDATION_ERROR', { ...at, query: { evidenceId: 'owner' } })
    await service.fails('downloadFile', 400, 'VALIDATION_ERROR', { ...at, query: { fileId, other: '1' } })
  })

  it('14: never sends all bytes of a file that differs from the recorded one', async () => {
    isBroken = true
    try {
      await assert.rejects(download(), /terminated|other side closed|fetch failed/)
    } finally {
      isBroken = false
    }
    assert.equal((await download()).status, 200)
  })

  const damagedReads = async (): Promise<number> => {
    const text = await (await service.fetch('/metrics')).text()
    return Number(/^evidence_damaged_file_reads (\d+)$/m.exec(text)?.[1])
  }

  it('14: is 500 for a small file that differs from the recorded one, and counts it', async () => {
    const [small = ''] = await attach('small', [['images', 'small.txt', Buffer.from('small'), 'text/plain']])
    const earlier = await damagedReads()
    isBroken = true
    try {
      await service.fails('downloadFile', 500, 'INTERNAL', { ...at, query: { fileId: small } })
    } finally {
      isBroken = false
    }
    assert.equal(await damagedReads(), earlier + 1)
  })

  it('14: is 500 if the recorded bytes are missing, and counts it', async () => {
    const earlier = await damagedReads()
    isMissing = true
    try {
      await service.fails('downloadFile', 500, 'INTERNAL', { ...at, query: { fileId } })
    } finally {
      isMissing = false
    }
    assert.equal(await damagedReads(), earlier + 1)
  })

  describe('tokens', () => {
    const tokenFor = (id: string): Promise<{ token: string; expiresAt: string }> =>
      service.ok('createFileToken', { key: company.keys.R, params: at.params, json: { fileId: id } })
    const open = (query: Record<string, string>, params = at.params): Promise<ServiceResponse> =>
      service.call('downloadFile', { params, query })

    it('open one file without a key for five minutes', async () => {
      const requestedAt = Date.now()
      const { token, expiresAt } = await tokenFor(fileId)
      const createdAt = Date.parse(expiresAt) - 5 * 60_000
      assert.ok(createdAt >= requestedAt && createdAt <= Date.now(), expiresAt)
      for (const query of [{ token }, { token, fileId }]) assert.ok(bytes(await open(query)).equals(CONTENT))
      const [other = ''] = await attach('other-file', [['images', 'a.txt', 'a']])
      const middle = Math.floor(token.length / 2)
      const changed = `${token.slice(0, middle)}${token[middle] === 'A' ? 'B' : 'A'}${token.slice(middle + 1)}`
      const refusals = [
        open({ token, fileId: other }),
        open({ token: changed }),
        open({ token: '' }),
        open({ fileId }),
        open({ token }, { COMPANY_ID: 'another' }),
      ]
      for (const answer of await Promise.all(refusals))
        assert.deepEqual([answer.status, answer.body], [401, { statusCode: 401, message: 'Unauthorized' }])
    })

    it('are only created for files that exist', async () => {
      await service.fails('createFileToken', 404, 'FILE_NOT_FOUND', {
        ...at,
        json: { fileId: '01890a5d-ac96-774b-bcce-b302099a8057' },
      })
    })
  })

  it('15: records an event and destroys the bytes', async () => {
    const [id = ''] = await attach('deleted-from', [['images', 'a.txt', 'secret content']])
    assert.ok(service.blobs.kept.has(id))
    const { token } = await service.ok('createFileToken', { ...at, json: { fileId: id } })
    await service.fails('deleteFile', 404, 'FILE_NOT_FOUND', { ...at, query: { fileId: id, evidenceId: 'owner' } })
    assert.deepEqual(await service.ok('deleteFile', { ...at, query: { fileId: id, evidenceId: 'deleted-from' } }), {
      status: 'ok',
    })
    assert.ok(!service.blobs.kept.has(id))
    assert.deepEqual(await service.unfinished(), [])
    const { events } = await service.ok('getEvidence', {
      ...at,
      params: { ...at.params, EVIDENCE_EXTERNAL_ID: 'deleted-from' },
    })
    assert.deepEqual(
      events.map((event: ServiceResponse['body']) => [event.type, event.updateType]),
      [
        ['create', undefined],
        ['update', 'deletefile'],
      ],
    )
    await service.fails('downloadFile', 404, 'FILE_NOT_FOUND', { ...at, query: { fileId: id } })
    await service.fails('downloadFile', 404, 'FILE_NOT_FOUND', { params: at.params, query: { token } })
    await service.fails('deleteFile', 404, 'FILE_NOT_FOUND', { ...at, query: { fileId: id } })
    await service.fails('deleteFile', 400, 'VALIDATION_ERROR', at)
    const { dt } = await service.ok('listEvidenceFiles', {
      ...at,
      params: { ...at.params, EVIDENCE_EXTERNAL_ID: 'deleted-from' },
    })
    assert.deepEqual(dt, [])
  })

  it("15: a category's image goes without an event", async () => {
    const { id } = await service.ok('createCategory', {
      ...at,
      form: formOf({ name: 'Pictured' }, [['image', 'a.png', 'a', 'image/png']]),
    })
    const { imageId } = await service.ok('getCategory', { ...at, params: { ...at.params, CATEGORY_ID: id } })
    await service.ok('deleteFile', { ...at, query: { fileId: imageId, categoryId: id } })
    const details = await service.ok('getCategory', { ...at, params: { ...at.params, CATEGORY_ID: id } })
    assert.deepEqual(['imageId' in details, details.fileIds], [false, []])
  })

  it('14, 15: a file of another company looks like one that does not exist', async () => {
    const other = await service.company('stranger')
    for (const id of ['downloadFile', 'deleteFile'])
      await service.fails(id, 404, 'FILE_NOT_FOUND', {
        key: other.keys.A,
        params: { COMPANY_ID: other.id },
        query: { fileId },
      })
  })
})

it('14, 15: a small file, which is not a blob, is sent and deleted as any other one', async () => {
  const service = await startService({ smallFileBytes: 1_024 })
  try {
    const company = await service.company('acme')
    const at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
    const content = CONTENT.subarray(0, 1_024)
    const form = formOf({ ...PLACE, externalId: 'small', name: 'x' }, [['images', 'a.bin', content]])
    await service.ok('createEvidence', { ...at, form })
    const params = { ...at.params, EVIDENCE_EXTERNAL_ID: 'small' }
    const { dt } = await service.ok('listEvidenceFiles', { ...at, params })
    const query = { fileId: dt[0].overlayId as string }
    assert.equal(service.blobs.kept.size, 0)
    const whole = await service.call('downloadFile', { ...at, query })
    assert.ok(Buffer.from(whole.text, 'latin1').equals(content))
    assert.equal(whole.headers.get('content-length'), '1024')
    const part = await service.call('downloadFile', { ...at, query, headers: { range: 'bytes=1000-' } })
    assert.equal(part.status, 206)
    assert.ok(Buffer.from(part.text, 'latin1').equals(content.subarray(1_000)))
    await service.ok('deleteFile', { ...at, query })
    await service.fails('downloadFile', 404, 'FILE_NOT_FOUND', { ...at, query })
    assert.deepEqual(await service.unfinished(), [])
  } finally {
    await service.close()
  }
})

async function* flipLast(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    const copy = new Uint8Array(chunk)
    copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1
    yield copy
  }
}
