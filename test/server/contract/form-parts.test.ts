import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { BOUNDARY, END, MULTIPART, part } from '../../support/raw-http.ts'
import { endpointOf, pathOf, readResponse, type ServiceResponse } from '../../support/service.ts'

type Body = ServiceResponse['body']

const PNG_TYPE = 'Content-Type: image/png\r\n'
const UNTYPED = 'Content-Type: application/octet-stream\r\n'

/** A part with these parameters of its disposition. */
const partWith = (parameters: string, headers = ''): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; ${parameters}\r\n${headers}\r\ncontent\r\n`

describe('parts of forms', () => {
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000 })
  let ids: Record<string, string> = {}
  let made = 0
  before(async () => {
    await acme.create('there')
    const { categoryId: CATEGORY_ID, subcategoryId: SUBCATEGORY_ID } = (await acme.page('there')).object
    ids = { CATEGORY_ID, SUBCATEGORY_ID, EVIDENCE_EXTERNAL_ID: 'there' }
  })

  async function send(id: string, body: string): Promise<ServiceResponse> {
    const endpoint = endpointOf(id)
    const path = pathOf(endpoint, { params: { COMPANY_ID: 'acme', ...ids } })
    const headers = { 'x-api-key': acme.company.keys.U, 'content-type': MULTIPART }
    return readResponse(await acme.service.fetch(path, { method: endpoint.method, headers, body }))
  }
  const evidence = (externalId: string): string =>
    Object.entries({ ...VEHICLE_CATEGORY, externalId, name: 'x' })
      .map(([name, value]) => part(name, value))
      .join('')
  /** Creates an evidence with these parts, and returns its files. */
  async function filesOf(parts: string): Promise<Body[]> {
    const externalId = `made-${(made += 1)}`
    const { status, text } = await send('createEvidence', evidence(externalId) + parts + END)
    assert.equal(status, 201, text)
    return acme.files(externalId)
  }
  const refuses = (parts: string, code = 'VALIDATION_ERROR', id = 'createEvidence'): Promise<void> =>
    acme.changesNothing(async () => {
      const { status, body, text } = await send(id, evidence('refused') + parts)
      assert.deepEqual([status, body.code], [400, code], `${parts}: ${text}`)
    })

  const names: readonly (readonly [parameters: string, headers: string, name: string, type?: string])[] = [
    ['', 'Content-Type: application/pdf\r\n', 'file.pdf', 'application/pdf'],
    ['', UNTYPED, 'file', 'application/octet-stream'],
    ['; filename=""', 'Content-Type: text/csv\r\n', 'file.csv', 'text/csv'],
    ['; filename=""', 'Content-Type: text/plain\r\n', 'file.txt', 'text/plain'],
    ["; filename*=UTF-8''Pr%C3%BCf%25bericht.jpg", '', 'Prüf%bericht.jpg'],
    [`; filename*="utf-8'de'%e2%82%AC 1.jpg"`, UNTYPED, '€ 1.jpg'],
    ["; filename*=iso-8859-1''Pr%FCf.jpg", UNTYPED, 'Prüf.jpg'],
    ["; filename*=utf-8''; filename=a.jpg", '', 'a.jpg'],
    ["; filename*=utf-8''b.jpg; filename=a.pdf", '', 'b.jpg'],
    // As .NET sends it.
    [`; filename="=?utf-8?B?UHLDvGYuanBn?="; filename*=utf-8''Pr%C3%BCf.jpg`, '', 'Prüf.jpg'],
    ['; filename="=?utf-8?B?UHLDvGYuanBn?="', '', 'Prüf.jpg'],
    ['; filename="=?utf-8?B?UHLD?= =?UTF-8*de?b?vGYuanBn?="', '', 'Prüf.jpg'],
    ['; filename="=?iso-8859-1?Q?Pr=FCf_?=  =?utf-8?q?=C3=BC.jpg?="', '', 'Prüf ü.jpg'],
    ['; filename="a =?utf-8?Q?a?=.jpg"', '', 'a =?utf-8?Q?a?=.jpg'],
    ['; filename=my photo.jpg', '', 'my photo.jpg'],
  ]
  for (const [parameters, headers, name, type = 'image/jpeg'] of names)
    it(`${parameters} ${headers.trim()} is ${name}`, async () => {
      const [file, ...others] = await filesOf(partWith(`name="images"${parameters}`, headers))
      assert.deepEqual([file.name, file.mimeType, file.size, others], [name, type, 7, []])
      assert.equal(file.iconId, type.startsWith('image/') ? file.overlayId : undefined)
    })

  for (const parameter of [
    "filename*=utf-8''%FF.jpg",
    "filename*=utf-8''%C3.jpg; filename=a.jpg",
    "filename*=utf-8''%4.jpg",
    'filename*=a.jpg',
    "filename*=utf-8''ü.jpg",
    "filename*=koi8-r''a.jpg",
    'filename*0=a; filename*1=.jpg',
    'filename="=?utf-8?B?/w==?="',
    'filename="=?utf-8?B?*?="',
    'filename="=?utf-8?Q?=4?="',
    'filename="=?koi8-r?Q?a?="',
  ])
    it(`${parameter} cannot be decoded`, async () => {
      const code = /%FF|%C3|\/w/.test(parameter) ? 'MALFORMED_BODY' : 'VALIDATION_ERROR'
      await refuses(partWith(`name="images"; ${parameter}`) + END, code)
    })

  it('every slot of every endpoint keeps a file without a name', async () => {
    const item = part('externalId', 'nine') + part('name', 'x')
    for (const [id, fields, slots] of [
      ['createCategory', part('name', 'C'), ['image']],
      ['createSubcategory', part('name', 'S'), ['image']],
      ['updateCategory', '', ['file']],
      ['updateSubcategory', '', ['file']],
      ['createEvidence', evidence('eight'), ['image', 'images', 'images.items', 'images[]', 'images[1]']],
      ['createEvidences', item, ['image', 'images']],
      ['updateEvidence', '', ['file', 'files', 'files.items', 'files.items[0]', 'files[]']],
    ] as const) {
      const count = await fileCount()
      const sent = slots.map((slot) => part(slot, 'a', { headers: PNG_TYPE })).join('')
      const { status, text } = await send(id, fields + sent + END)
      assert.ok(status < 300, text)
      assert.equal((await fileCount()) - count, slots.length, id)
    }
  })
  const fileCount = async (): Promise<number> => (await acme.ok('getOverview')).counts.files

  it('what is empty and has no name is not given', async () => {
    for (const options of [{ filename: '' }, { headers: PNG_TYPE }, { filename: '', headers: PNG_TYPE }])
      assert.deepEqual(await filesOf(part('images', '', options) + part('image', '', options)), [])
  })

  it('a field of JSON is a text, whatever the name of its part', async () => {
    const meta = partWith(`name="meta"; filename="a"; filename*=utf-8''a`, PNG_TYPE).replace('content', '{"a":1}')
    const { status, text } = await send('createEvidence', evidence('meta') + meta + END)
    assert.equal(status, 201, text)
    assert.deepEqual((await acme.page('meta')).object.meta, { a: 1 })
    const evidences = part('evidences', '[{"externalId":"many","name":"x"}]', { filename: 'a', headers: UNTYPED })
    assert.equal((await send('createEvidences', evidences + END)).status, 201)
  })

  const file = (name: string, filename: string): string => part(name, 'a', { filename })
  it('titles are a text for all files, or a list in order, or by index if all parts have one', async () => {
    const two = file('images', 'a.txt') + file('images', 'b.txt')
    const indexed = file('images[1]', 'b.txt') + file('images.items[0]', 'a.txt')
    const [plain, json] = ['text/plain; charset=utf-8', 'application/json'].map((type) => ({
      headers: `Content-Type: ${type}\r\n`,
    }))
    for (const [sent, titles] of [
      [part('images', '[draft', plain) + two, ['[draft', '[draft']],
      [part('images', '["A"]', json) + two, ['A', 'b']],
      [part('images', '["","B"]') + two, ['a', 'B']],
      [part('images', ' ') + two, ['a', 'b']],
      [part('images', '["A","B"]') + indexed, ['B', 'A']],
      [part('images', '[]'), []],
    ] as const) {
      const titlesOfFiles = (await filesOf(sent)).map(({ title }) => title)
      assert.deepEqual(titlesOfFiles, titles)
    }
  })

  it('titles that are wrong, or for which there is no file, are refused', async () => {
    const one = file('images', 'a.txt')
    for (const list of ['["a","b"]', '[1]', '["a",null]', '[["a"]]', '["\\ud800"]'])
      await refuses(part('images', list) + one + END)
    await refuses(part('images', '["a"]') + file('images[1]', 'b.txt') + END)
    await refuses(part('images[0]', 'a') + one + END)
    await refuses(part('images', 'photo.jpg') + END)
    await refuses(part('images', '["photo.jpg"]') + part('images', '', { filename: '' }) + END)
  })

  it('a form that is cut anywhere before the end of its closing boundary is refused, and only then', async () => {
    const closing = END.trimEnd()
    const form = evidence('cut') + file('images', 'a.txt') + file('images', 'b.txt') + closing
    await acme.changesNothing(async () => {
      for (let length = 1; length < form.length; length += 1) {
        const { status, text } = await send('createEvidence', form.slice(0, length))
        assert.equal(status, 400, `${length} of ${form.length} bytes: ${text}`)
      }
    })
    for (const end of ['', '\r', '\r\n', '\r\n\0epilogue', ' --']) {
      const own = form.replaceAll('\r\ncut\r\n', `\r\ncut-${(made += 1)}\r\n`)
      const { status, text } = await send('createEvidence', own + end)
      assert.equal(status, 201, text)
    }
    await refuses(closing + `\r\n${file('images', 'lost.txt')}${END}`, 'MALFORMED_BODY')
    assert.equal((await acme.files(`cut-${made}`)).length, 2)
  })

  it('a line that begins with the boundary and is none is refused: the parts behind it would be lost', async () => {
    const text = part('description', 'x')
    for (const more of [' ', '\t', '-', '\r', 'x', '\r\r'])
      await refuses(
        text + file('images', 'a.txt').replace(`--${BOUNDARY}`, `--${BOUNDARY}${more}`) + END,
        'MALFORMED_BODY',
      )
    // formidable would store CR, which follows the next boundary, in place of `-`.
    const line = part('images', `a\r\n--${BOUNDARY}-b`, { filename: 'a.txt' })
    await refuses(line + text + END, 'MALFORMED_BODY')
    const content = `\r\n--${BOUNDARY.slice(0, -1)}\r\n--\r\n-${BOUNDARY}--\r\n`
    const [{ sha256 }] = await filesOf(part('images', content, { filename: 'a.txt' }) + text)
    assert.equal(sha256, createHash('sha256').update(content).digest('hex'))
  })
})
