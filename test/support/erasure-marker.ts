import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ERASABLE_FIELDS } from '../../core/schemas/index.ts'
import { eventually } from './eventually.ts'
import { formOf } from './form.ts'
import { ENDPOINTS, OPERATOR_KEY, send, type CallOptions, type ServiceResponse } from './service.ts'
import { filesBelow } from './temporary.ts'

/** In every text of the evidences that are erased. One word of the search. */
export const MARK = 'Zq8KwVx3Rt'
/** Its base64 after so many other bytes, without the digits that the bytes beside it decide, too. */
const inBase64 = (before: number): string =>
  Buffer.from('x'.repeat(before) + MARK)
    .toString('base64')
    .slice(Math.ceil((before * 8) / 6), Math.floor(((before + MARK.length) * 8) / 6))
const FORMS = [MARK, MARK.toLowerCase(), Buffer.from(MARK).toString('hex'), ...[0, 1, 2].map(inBase64)]

/** Whether the mark is in these bytes, in any of its forms. A text is read as UTF-8. */
export function holdsMark(content: Uint8Array | string): boolean {
  const bytes = Buffer.from(content)
  return FORMS.some((form) => bytes.includes(form))
}

/** The files below a folder that hold the mark. */
export async function markedFiles(folder: string): Promise<readonly string[]> {
  const names = await filesBelow(folder)
  const contents = await Promise.all(names.map((name) => readFile(join(folder, name))))
  return names.filter((_, i) => holdsMark(contents[i] ?? ''))
}

/** Sends a request about one company, by default with its key of level A. Any status is a success. */
export type Call = (id: string, options?: CallOptions) => Promise<ServiceResponse>

/** Requests about the company `acme` to a server, with the key of the operator, which it does not accept for `self`. */
export const callAt =
  (url: string, key: string): Call =>
  (id, options = {}) =>
    send(url, id, { key, ...options, params: { COMPANY_ID: 'acme', ...options.params } })

/** What names a marked evidence and its parts in paths and queries. */
export interface Marked {
  readonly id: string
  readonly params: Readonly<Record<string, string>>
  /** Of the link that discloses all of it. */
  readonly secret: string
  readonly fileIds: readonly string[]
}

const m = (name: string): string => `${MARK} ${name}`
const TEXTS = { name: m('name'), owner: m('owner'), description: m('d'), summary: m('s'), meta: { [m('key')]: m('v') } }
const REMARKS = { updateActionDescription: m('ud'), updateActionPersona: m('persona'), eventDescription: m('ed') }
const FILES = [
  ['image', m('picture.png'), m('pixels'), 'image/png'],
  // Too large for its record.
  ['images', m('paper.txt'), m('paper').repeat(600)],
] as const
const MARKLESS = {
  externalId: 'plain',
  name: 'plain',
  owner: 'Ada',
  description: '',
  summary: '',
  meta: null,
}
/** What a line of an import has. */
export const MARKED_LINE = { categoryName: 'Tools', subcategoryName: 'Drills', externalId: m('line'), ...TEXTS }

/** Operations that write and take no text of an evidence. All others have to be called by `writeMarks`. */
const WITHOUT_TEXT = [
  'createCategory updateCategory createSubcategory updateSubcategory createSourceSystem updateSourceSystem',
  'validateProof eraseSubject',
]

/**
 * Writes the mark through every operation that takes text of an evidence, also by requests that are refused, and into
 * every parameter by which a caller names an evidence. Returns three evidences: of a form, of JSON and one of many. The
 * first one has an external id and idempotency keys without the mark, so that its fields and files are all that has it.
 */
export async function writeMarks(call: Call): Promise<readonly Marked[]> {
  const called = new Set<string>()
  const write = async (id: string, options: CallOptions, status?: number): Promise<ServiceResponse['body']> => {
    called.add(id)
    const response = await call(id, options)
    assert.ok(status === undefined ? response.status < 300 : response.status === status, `${id} ${response.text}`)
    return response.body
  }
  const once = (name: string) => ({ headers: { 'idempotency-key': name } })
  const json = { categoryName: 'Tools', subcategoryName: 'Drills', externalId: m('json'), ...TEXTS }
  const { id } = await write('createEvidence', { json, ...once(m('create')) })
  await write('createEvidence', { json }, 409)
  await write('createEvidence', { json: { ...json, [m('unknown')]: 1 } }, 400)
  const created = await call('getEvidence', { params: { EVIDENCE_EXTERNAL_ID: m('json') } })
  const { categoryId, subcategoryId } = created.body.object
  const filed = { CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId }
  const { name, owner, description, summary } = TEXTS
  const texts = { name, owner, description, summary, meta: JSON.stringify(TEXTS.meta), images: m('title') }
  const form = formOf({ externalId: 'form', ...texts }, FILES)
  const { id: ofForm } = await write('createEvidences', { params: filed, form, ...once('form') })
  const many = { evidences: [{ externalId: m('many'), ...TEXTS }] }
  const { ids } = await write('createEvidences', { params: filed, json: many, ...once(m('many')) })

  const marked: Marked[] = []
  for (const [externalId, evidence] of [
    ['form', ofForm],
    [m('json'), id],
    [m('many'), ids[0]],
  ] as const) {
    const params = { EVIDENCE_EXTERNAL_ID: externalId }
    const change = { ...REMARKS, owner: m('owner 2'), name: m('name 2'), files: m('title 2') }
    const added = formOf(
      change,
      [1, 2].map((n) => ['files', m(`file ${n}.txt`), m(`content ${n}`)] as const),
    )
    await write('updateEvidence', { params, form: added, ...once(`${externalId} update`) })
    await write('updateEvidence', { params, json: { ...REMARKS, description: m('d 2'), actionType: 'stolen' } })
    await write('updateEvidence', { params, json: REMARKS, headers: { 'if-match': '"99"' } }, 412)
    const files = (await call('listEvidenceFiles', { params })).body.dt
    const fileIds: readonly string[] = files.map(({ overlayId }: { overlayId: string }) => overlayId)
    const [removed = '', shown = ''] = [fileIds.at(-1), fileIds[0]]
    await write('createFileToken', { json: { fileId: shown } })
    await write('deleteFile', { query: { fileId: removed, evidenceId: externalId } })
    const fields = ['name', 'owner', 'externalId', 'meta', 'texts', 'personaName']
    const { url } = await write('createShare', {
      params,
      json: { fields, files: 'all' },
      ...once(`${externalId} share`),
    })
    const ended = await write('createShare', { params, json: { fields, files: 'all', kind: 'certificate' } })
    await write('endShare', { params: { ...params, SHARE_ID: ended.id } })
    const [, SHARE_ID = '', secret = ''] = /#\/p\/([^.]+)\.(.+)$/.exec(url) ?? []
    const { txId } = (await call('getEvidence', { params })).body.object
    const names = { ...filed, ...params, SHARE_ID, FILE_ID: shown, fileId: shown, evidenceId: externalId, txid: txId }
    marked.push({ id: evidence, params: names, secret, fileIds: fileIds.filter((each) => each !== removed) })
  }
  await write('createEvidence', { json: { ...json, ...MARKLESS } })
  await write('eraseEvidence', {
    params: { EVIDENCE_EXTERNAL_ID: MARKLESS.externalId },
    json: { fields: ['owner'], reason: 'other' },
  })
  const writes = [...ENDPOINTS.values()].filter((endpoint) => endpoint.method !== 'GET').map((endpoint) => endpoint.id)
  const without = WITHOUT_TEXT.join(' ').split(' ')
  assert.deepEqual(
    writes.filter((each) => !called.has(each) && !without.includes(each)),
    [],
    'operations to call here',
  )
  return marked
}

/** Erases all fields and files of the first evidence, each by a request of its own, and of all others the content. */
export async function eraseMarks(call: Call, [first, ...others]: readonly Marked[]): Promise<void> {
  assert.ok(first)
  const erase = async ({ params }: Marked, json: object): Promise<void> => {
    const { status, text } = await call('eraseEvidence', { params, json: { reason: 'request', ...json } })
    assert.equal(status, 200, text)
  }
  for (const field of ERASABLE_FIELDS) await erase(first, { fields: [field] })
  for (const file of first.fileIds) await erase(first, { files: [file] })
  for (const other of others) await erase(other, { content: true })
}

const ALL = { fields: 'all', files: 'all' }
/** Of routes that have more than one kind of response, or need a query. */
const QUERIES: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
  getEvidence: [{}, { disclose: '1' }, { last: '1' }],
  getBundle: [ALL, { ...ALL, history: '1' }],
  listEvidences: [{}, { len: '9' }, { q: MARK }, { owner: m('owner 2') }, { externalId: MARK }, { sort: 'updated' }],
  verifyEvidence: [{}, { format: 'bundle' }],
  verifyFile: [{}, { format: 'bundle' }],
  getProof: [{}, { format: 'bundle' }],
}

/**
 * Every response of every route that reads, by operation and query. So a new route is among them, and fails the test if
 * it has a parameter that `writeMarks` does not know. `before`: responses whose tags are sent.
 */
export async function readEverything(
  call: Call,
  { params, secret }: Marked,
  before: ReadonlyMap<string, ServiceResponse> = new Map(),
): Promise<ReadonlyMap<string, ServiceResponse>> {
  const responses = new Map<string, ServiceResponse>()
  const { batches } = (await call('listBatches')).body
  const { sourceSystems } = (await call('listSourceSystems')).body
  const { erasures } = (await call('listErasures')).body
  const ids = { batchId: batches.at(-1)?.batchId, SYSTEM_ID: sourceSystems[0].id, ERASURE_ID: erasures[0].id }
  const all = { ...params, ...ids, L: '0', N: '000.p/1' }
  for (const { id, method, access } of ENDPOINTS.values()) {
    if (method !== 'GET') continue
    for (const query of QUERIES[id] ?? [id === 'downloadFile' ? { fileId: params['fileId'] ?? '' } : {}]) {
      const name = `${id} ${JSON.stringify(query)}`
      const headers = {
        ...(access === 'share' && { 'x-share-secret': secret }),
        'if-none-match': before.get(name)?.headers.get('etag') ?? '"none"',
      }
      responses.set(
        name,
        await call(id, { params: all, query, headers, ...(access === 'operator' && { key: OPERATOR_KEY }) }),
      )
    }
  }
  return responses
}

/**
 * Reads everything of two evidences twice, erases all, and reads again with the tags of before: no response has the
 * mark, or says that one with the mark is still right. `elsewhere`: a second server.
 */
export async function assertNoneReadable(call: Call, marked: readonly Marked[], elsewhere = call): Promise<void> {
  const before: ReadonlyMap<string, ServiceResponse>[] = []
  const read = marked.slice(0, 2)
  for (const one of read) {
    // Only then it has a proof, and its reply is kept.
    await eventually(async () => (await elsewhere('getTlogProof', one)).status === 200)
    await readEverything(elsewhere, one)
    before.push(await readEverything(elsewhere, one))
  }
  // A server may stamp nothing, and the operator is not a source system.
  const isAsked = ([name, { status }]: readonly [string, ServiceResponse]): boolean =>
    status === 200 || status === 401 || name.startsWith('getTimestampToken')
  const failed = before.flatMap((responses) => [...responses]).filter((each) => !isAsked(each))
  assert.deepEqual(textsOf(failed), [], 'before')
  const shown = [...(before[0] ?? [])].filter(([, { text }]) => holdsMark(text)).map(([name]) => name.split(' ')[0])
  for (const id of ['getEvidence', 'getBundle', 'listEvidences', 'openShare', 'downloadFile', 'downloadSharedFile'])
    assert.ok(shown.includes(id), `${id} shows the mark before`)
  await eraseMarks(call, marked)
  for (const [i, one] of read.entries()) {
    const renamed = { ...one, params: { ...one.params, EVIDENCE_EXTERNAL_ID: one.id, evidenceId: one.id } }
    const isRenamed = holdsMark(one.params['evidenceId'] ?? '')
    assert.equal((await elsewhere('getEvidence', { params: one.params })).status, isRenamed ? 404 : 200)
    for (const target of isRenamed ? [one, renamed] : [one]) {
      // A response may repeat the id that was asked for.
      const asked = `"${target.params['evidenceId']}"`
      const isWrong = ([name, { status, text }]: readonly [string, ServiceResponse]): boolean =>
        status >= 500 ||
        holdsMark(text.replaceAll(asked, '')) ||
        (status === 304 && holdsMark(before[i]?.get(name)?.text ?? ''))
      const responses = await readEverything(elsewhere, target, before[i])
      assert.deepEqual(textsOf([...responses].filter(isWrong)), [], 'after the erasure')
    }
  }
}

const textsOf = (responses: readonly (readonly [string, ServiceResponse])[]): readonly string[] =>
  responses.map(([name, { status, text }]) => `${name}: ${status} ${text}`)
