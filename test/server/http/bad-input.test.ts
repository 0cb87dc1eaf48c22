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

  describe('fields', () => {
    const long = (length: number): string => 'x'.repeat(length)
    const cases: Record<string, object> = {
      'missing externalId': { externalId: undefined },
      'missing name': { name: undefined },
      'unknown field': { colour: 'blue' },
      'a field named like a member of Object': { constructor: 'x' },
      'another one': { toString: 'x', hasOwnProperty: 'y' },
      'externalId of a wrong type': { externalId: ['x'] },
      'null as name': { name: null },
      'meta that is a text': { meta: '{}' },
      'externalId ..': { externalId: '..' },
      'owner too long': { owner: long(257) },
      'description too long': { description: long(8_193) },
      'summary too long': { summary: long(8_193) },
      'categoryName too long': { categoryName: long(257) },
      'control character in name': { name: 'a\u0000b' },
      'DEL in a text': { summary: 'a\u007fb' },
    }
    for (const [name, more] of Object.entries(cases))
      it(name, () => refuses(400, 'VALIDATION_ERROR', { json: { ...GOOD, ...more } }))

    const forms: Record<string, Record<string, string>> = {
      'unknown field in a form': { colour: 'blue' },
      'a field named like a member of Object in a form': { constructor: 'x' },
      'meta that is not JSON in a form': { meta: '{' },
      'meta that is not an object in a form': { meta: '[1]' },
      'meta with a duplicate key in a form': { meta: '{"a":1,"a":2}' },
      'meta with __proto__ in a form': { meta: '{"a":{"__proto__":1}}' },
      'meta too deep in a form': { meta: JSON.stringify(nested(33)) },
      'a text in place of a file': { image: 'x' },
    }
    for (const [name, more] of Object.entries(forms))
      it(name, () => refuses(400, 'VALIDATION_ERROR', { form: formOf({ ...GOOD, ...more }) }))
  })

  describe('JSON', () => {
    const cases: [string, string, string][] = [
      ['duplicate keys', good({}).replace('{', '{"name":"y",'), 'VALIDATION_ERROR'],
      ['duplicate keys spelt differently', good({}).replace('{', '{"n\\u0061me":"y",'), 'VALIDATION_ERROR'],
      ['__proto__', good({}).replace('{', '{"__proto__":{"name":"y"},'), 'VALIDATION_ERROR'],
      ['__proto__ deep in meta', good({}).replace('{', '{"meta":{"a":[{"__proto__":1}]},'), 'VALIDATION_ERROR'],
      ['a lone surrogate', good({}).replace('{', '{"owner":"\\ud800",'), 'VALIDATION_ERROR'],
      ['a lone surrogate as a key', good({}).replace('{', '{"meta":{"\\udc00":1},'), 'VALIDATION_ERROR'],
      ['an unsafe integer', good({}).replace('{', '{"meta":{"a":9007199254740993},'), 'VALIDATION_ERROR'],
      [
        'a decimal that does not round-trip',
        good({}).replace('{', '{"meta":{"a":0.1000000000000000055},'),
        'VALIDATION_ERROR',
      ],
      ['-0', good({}).replace('{', '{"meta":{"a":-0},'), 'VALIDATION_ERROR'],
      ['depth 5,000', `{"meta":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 'VALIDATION_ERROR'],
      ['broken text', '{"name":', 'MALFORMED_BODY'],
      ['text after it', `${good({})}x`, 'MALFORMED_BODY'],
      ['an array', '[]', 'VALIDATION_ERROR'],
      ['a text', '"x"', 'VALIDATION_ERROR'],
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
      assert.equal(
        (await post(good({ externalId: 'no-files', images: '', image: '' }), 'application/json')).status,
        201,
      )
    })
  })

  describe('content types', () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/xml',
      'application/jsonx',
      'nonsense',
    ])
      it(type, () => refusesRaw(415, 'UNSUPPORTED_MEDIA_TYPE', good({}), type))
    it('another charset', () => refusesRaw(415, 'UNSUPPORTED_MEDIA_TYPE', good({}), 'application/json; charset=latin1'))
    it('an encoding', () =>
      refusesRaw(415, 'UNSUPPORTED_MEDIA_TYPE', good({}), 'application/json', { 'content-encoding': 'gzip' }))
    it('a form where only JSON is accepted', () =>
      refuses(415, 'UNSUPPORTED_MEDIA_TYPE', { form: formOf({ name: 'x' }) }, 'createSourceSystem'))
  })

  describe('multipart', () => {
    const image = part('image', 'content', { filename: 'a.png' })
    const cases: [string, string, string, (string | undefined)?][] = [
      ['no boundary', fields + END, 'MALFORMED_BODY', 'multipart/form-data'],
      [
        'a boundary that is too long',
        fields + END,
        'MALFORMED_BODY',
        `multipart/form-data; boundary=${'x'.repeat(71)}`,
      ],
      ['another boundary', fields + END, 'MALFORMED_BODY', 'multipart/form-data; boundary=other'],
      ['no last boundary', fields + image, 'MALFORMED_BODY'],
      ['no content at all', 'x', 'MALFORMED_BODY'],
      [
        'a part without a name',
        `${fields}--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\nx\r\n${END}`,
        'MALFORMED_BODY',
      ],
      ['a part without headers', `${fields}--${BOUNDARY}\r\n\r\nx\r\n${END}`, 'MALFORMED_BODY'],
      ['a broken header', `${fields}--${BOUNDARY}\r\nContent Disposition\r\n\r\nx\r\n${END}`, 'MALFORMED_BODY'],
      [
        'a transfer encoding',
        fields + part('owner', 'eA==', { headers: 'Content-Transfer-Encoding: base64\r\n' }) + END,
        'MALFORMED_BODY',
      ],
      ['a field twice', fields + image + part('name', 'y') + END, 'VALIDATION_ERROR'],
      ['__proto__', fields + image + part('__proto__', 'y') + END, 'VALIDATION_ERROR'],
      ['__proto__ as a file', fields + part('__proto__', 'y', { filename: 'a' }) + END, 'VALIDATION_ERROR'],
      ['an unknown file', fields + image + part('picture', 'y', { filename: 'a' }) + END, 'VALIDATION_ERROR'],
      ['a file in place of a text', image + part('name', 'y', { filename: 'a' }) + fields + END, 'VALIDATION_ERROR'],
      ['two files in place of one', fields + image + image + END, 'VALIDATION_ERROR'],
      ['a wrong field after a file', image + fields + part('colour', 'x') + END, 'VALIDATION_ERROR'],
      ['a lone carriage return in a name', fields + part('ow\rner', 'x') + END, 'MALFORMED_BODY'],
    ]
    for (const [name, body, code, type = MULTIPART] of cases) it(name, () => refusesRaw(400, code, body, type))

    it('text that is not UTF-8', () =>
      refusesRaw(400, 'MALFORMED_BODY', Buffer.from(fields + part('owner', 'é') + END, 'latin1'), MULTIPART))
    it('a file over the limit', () =>
      refusesRaw(
        413,
        'PAYLOAD_TOO_LARGE',
        fields + part('images', 'x'.repeat(MAX_FILE + 1), { filename: 'a' }) + END,
        MULTIPART,
      ))
    it('a space that Content-Type must not have', () =>
      refusesRaw(415, 'UNSUPPORTED_MEDIA_TYPE', fields + END, MULTIPART.replace(';', '\u{A0};')))
    it('too many files', () =>
      refusesRaw(413, 'PAYLOAD_TOO_LARGE', fields + part('images', 'x', { filename: 'a' }).repeat(4) + END, MULTIPART))
    it('10,000 parts of text', () =>
      refusesRaw(
        413,
        'PAYLOAD_TOO_LARGE',
        fields + Array.from({ length: 10_000 }, (_, i) => part(`n${i}`, 'x')).join('') + END,
        MULTIPART,
      ))
    it('10,000 files', () =>
      refusesRaw(
        413,
        'PAYLOAD_TOO_LARGE',
        fields + part('images', 'x', { filename: 'a' }).repeat(10_000) + END,
        MULTIPART,
      ))
    it('headers of 1.5 MB', () =>
      refusesRaw(
        413,
        'PAYLOAD_TOO_LARGE',
        fields + part('owner', 'x', { headers: `X: ${'y'.repeat(1_500_000)}\r\n` }) + END,
        MULTIPART,
      ))
    it('a preamble', () => refusesRaw(400, 'MALFORMED_BODY', `y${fields}${END}`, MULTIPART))
    it('1 MiB of texts', () =>
      refusesRaw(
        413,
        'PAYLOAD_TOO_LARGE',
        fields + ['a', 'b', 'c'].map((name) => part(name, 'x'.repeat(400 * 1024))).join('') + END,
        MULTIPART,
      ))

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

/** `depth` objects, one in the other. */
function nested(depth: number): object {
  let value = {}
  for (let i = 1; i < depth; i++) value = { a: value }
  return value
}
