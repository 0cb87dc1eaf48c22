import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { BOUNDARY, END, MULTIPART, part } from '../../support/raw-http.ts'
import { formOf } from '../../support/form.ts'
import { readResponse, type CallOptions, type ServiceResponse } from '../../support/service.ts'

const GOOD = { ...VEHICLE_CATEGORY, externalId: 'bad', name: 'x' }
const MAX_FILE = 10_000

/** Each input is rejected with its code, changes nothing, and leaves no file behind. */
describe('bad input', () => {
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000, maxFileBytes: MAX_FILE, maxFilesPerRequest: 3 })
  before(() => acme.create('there'))

  const refuses = (status: number, code: string, options: CallOptions, id = 'createEvidence'): Promise<void> =>
    acme.changesNothing(() => acme.fails(id, status, code, { key: acme.company.keys.A, ...options }))
  const post = async (
    body: string | Uint8Array,
    contentType: string,
    headers: Record<string, string> = {},
  ): Promise<ServiceResponse> =>
    readResponse(
      await acme.service.fetch('/api/v1/evidences/acme/evidence', {
        method: 'POST',
        headers: { 'x-api-key': acme.company.keys.U, 'content-type': contentType, ...headers },
        body: body as string,
      }),
    )
  const refusesRaw = (
    status: number,
    code: string,
    body: string | Uint8Array,
    contentType = 'application/json',
    headers: Record<string, string> = {},
  ): Promise<void> =>
    acme.changesNothing(async () => {
      const answer = await post(body, contentType, headers)
      assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text.slice(0, 300))
    })
  const good = (more: object): string => JSON.stringify({ ...GOOD, ...more })
  const fields = Object.entries(GOOD)
    .map(([name, value]) => part(name, value))
    .join('')

  // What a field may have is tested in core/registry/validation.test.ts.
  describe('fields of a form', () => {
    const forms: Record<string, Record<string, string>> = {
      'a field named like a member of Object': { constructor: 'x' },
      'meta that is not JSON': { meta: '{' },
      'meta that is not an object': { meta: '[1]' },
      'meta with a duplicate key': { meta: '{"a":1,"a":2}' },
    }
    for (const [name, more] of Object.entries(forms))
      it(name, () => refuses(400, 'VALIDATION_ERROR', { form: formOf({ ...GOOD, ...more }) }))
  })

  // Which JSON is accepted is tested in core/commitment/strict-json.test.ts.
  describe('JSON', () => {
    const cases: readonly (readonly [name: string, body: string, code: string])[] = [
      ['duplicate keys', good({}).replace('{', '{"name":"y",'), 'VALIDATION_ERROR'],
      ['broken text', '{"name":', 'MALFORMED_BODY'],
      ['an array', '[]', 'VALIDATION_ERROR'],
      ['null', 'null', 'VALIDATION_ERROR'],
      ['files in JSON', good({ images: ['a'] }), 'VALIDATION_ERROR'],
      ['an empty body', '', 'MALFORMED_BODY'],
    ]
    for (const [name, body, code] of cases) it(name, () => refusesRaw(400, code, body))
    it('bytes that are not UTF-8', () => refusesRaw(400, 'MALFORMED_BODY', Buffer.from(good({ name: 'é' }), 'latin1')))
    it('a byte order mark, and names it', async () => {
      const { status, text } = await post(`\ufeff${good({})}`, 'application/json')
      assert.deepEqual([status, /MALFORMED_BODY/.test(text), /byte order mark/.test(text)], [400, true, true])
    })
    it('more than 1 MiB', () => refusesRaw(413, 'PAYLOAD_TOO_LARGE', good({ description: 'x'.repeat(1024 * 1024) })))
    it('more than 200,000 values', () =>
      refusesRaw(413, 'PAYLOAD_TOO_LARGE', good({ meta: { a: Array.from({ length: 200_000 }, () => 1) } })))
    it('ignores empty file fields', async () => {
      const { status } = await post(good({ externalId: 'no-files', images: '', image: '' }), 'application/json')
      assert.equal(status, 201)
    })
  })

  describe('content types', () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'nonsense',
      'application/json; charset=latin1',
      // A space that Content-Type must not have.
      MULTIPART.replace(';', '\u{A0};'),
    ])
      it(type, () => refusesRaw(415, 'UNSUPPORTED_MEDIA_TYPE', good({}), type))
    it('an encoding', () =>
      refusesRaw(415, 'UNSUPPORTED_MEDIA_TYPE', good({}), 'application/json', { 'content-encoding': 'gzip' }))
    it('a form where only JSON is accepted', () =>
      refuses(415, 'UNSUPPORTED_MEDIA_TYPE', { form: formOf({ name: 'x' }) }, 'createSourceSystem'))
  })

  describe('multipart', () => {
    const image = part('image', 'content', { filename: 'a.png' })
    const longBoundary = `multipart/form-data; boundary=${'x'.repeat(71)}`
    const encoded = part('owner', 'eA==', { headers: 'Content-Transfer-Encoding: base64\r\n' })
    const mixed = '--m\r\nContent-Disposition: attachment; filename="a.txt"\r\n\r\nx\r\n--m--\r\n'
    const headed = (headers: string): string => `--${BOUNDARY}\r\n${headers}\r\n\r\nx\r\n`
    const malformed: readonly (readonly [name: string, body: string, type?: string])[] = [
      ['a boundary that is too long', fields, longBoundary],
      ['another boundary', fields, 'multipart/form-data; boundary=other'],
      ['no content at all', 'x'],
      ['a part without a name', fields + headed('Content-Disposition: form-data')],
      ['a part without headers', `${fields}--${BOUNDARY}\r\n\r\nx\r\n`],
      ['a broken header', fields + headed('Content Disposition')],
      ['a transfer encoding', fields + encoded],
      ['a form in a part', fields + part('files', mixed, { headers: 'Content-Type: multipart/mixed; boundary=m\r\n' })],
      ['a lone carriage return in a name', fields + part('ow\rner', 'x')],
    ]
    for (const [name, body, type = MULTIPART] of malformed)
      it(name, () => refusesRaw(400, 'MALFORMED_BODY', body + END, type))
    it('a text in another charset', () =>
      refusesRaw(
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        fields + part('owner', 'ä', { headers: 'Content-Type: text/plain; charset=windows-1252\r\n' }) + END,
        MULTIPART,
      ))

    const wrong: readonly (readonly [name: string, body: string])[] = [
      ['a field twice', fields + image + part('name', 'y')],
      ['__proto__', fields + image + part('__proto__', 'y')],
      ['__proto__ as a file', fields + part('__proto__', 'y', { filename: 'a' })],
      ['an unknown file', fields + image + part('picture', 'y', { filename: 'a' })],
      ['a file in place of a text', image + part('name', 'y', { filename: 'a' }) + fields],
      ['two files in place of one', fields + image + image],
      ['a wrong field after a file', image + fields + part('colour', 'x')],
    ]
    for (const [name, body] of wrong) it(name, () => refusesRaw(400, 'VALIDATION_ERROR', body + END, MULTIPART))

    const file = part('images', 'x', { filename: 'a' })
    const tooLarge: readonly (readonly [name: string, parts: string])[] = [
      ['a file over the limit', part('images', 'x'.repeat(MAX_FILE + 1), { filename: 'a' })],
      ['too many files', file.repeat(4)],
      ['10,000 files', file.repeat(10_000)],
      ['10,000 parts of text', Array.from({ length: 10_000 }, (_, i) => part(`n${i}`, 'x')).join('')],
      ['1 MiB of texts', ['a', 'b', 'c'].map((name) => part(name, 'x'.repeat(400 * 1024))).join('')],
      ['headers of 1.5 MB', part('owner', 'x', { headers: `X: ${'y'.repeat(1_500_000)}\r\n` })],
    ]
    for (const [name, parts] of tooLarge)
      it(name, () => refusesRaw(413, 'PAYLOAD_TOO_LARGE', fields + parts + END, MULTIPART))

    it('accepts a file of exactly the limit, an empty input, and odd names', async () => {
      const body =
        fields.replace('bad', 'good-form') +
        part('images', 'x'.repeat(MAX_FILE), { filename: 'C:\\dir\\..\\full.txt' }) +
        part('images', '', { filename: '' }) +
        part('images[]', `\r\n--${BOUNDARY.slice(0, -1)}`, { filename: '../../etc/pass%22wd' }) +
        END
      const answer = await post(body, MULTIPART)
      assert.equal(answer.status, 201, answer.text)
      const dt = await acme.files('good-form')
      const shownNames = dt.map(({ name }: { name: string }) => name)
      assert.deepEqual(shownNames, ['full.txt', 'pass"wd'])
      const content = await acme.call('downloadFile', { query: { fileId: dt[1].overlayId } })
      assert.equal(content.text, `\r\n--${BOUNDARY.slice(0, -1)}`)
    })

    it('a part without Content-Type but with a file name is a file, one with it but without is a text', async () => {
      const text = fields
        .replace('name="name"\r\n', 'name="name"\r\nContent-Type: application/octet-stream\r\n')
        .replace('bad', 'typed-text')
      assert.equal((await post(text + END, MULTIPART)).status, 201)
    })
  })
})
