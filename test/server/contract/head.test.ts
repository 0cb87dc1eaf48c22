import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { isKeyless } from '../../../server/contract/endpoint.ts'
import { BASE_PATH } from '../../../server/index.ts'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { DocumentCheck } from '../../support/document-check.ts'
import { formOf } from '../../support/form.ts'
import {
  ENDPOINTS,
  endpointOf,
  OPERATOR_KEY,
  pathOf,
  readResponse,
  type CallOptions,
  type ServiceResponse,
} from '../../support/service.ts'

/** Headers that differ between two responses to the same request. `fetch` closes the connection after HEAD. */
const VARYING = new Set([
  'date',
  'x-request-id',
  'ratelimit',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
])

describe('HEAD, other methods and too many headers', () => {
  let check: DocumentCheck
  let params: Readonly<Record<string, string>>
  let secret: Readonly<Record<string, string>>
  const acme = new CompanyRequests({ rateLimitPerMinute: 1_000 })
  before(async () => {
    check = new DocumentCheck(acme.service.app.document())
    const fields = { ...VEHICLE_CATEGORY, externalId: 'e-1', name: 'x' }
    const { id, txId } = await acme.ok('createEvidence', { form: formOf(fields, [['image', 'a.png', 'content']]) })
    const [{ overlayId }] = await acme.files('e-1')
    await acme.service.until(async () => {
      const { status, body } = await acme.service.call('verifyEvidence', { params: { evidenceId: id } })
      return status === 200 && body.tsa !== undefined && body.merkle?.sendStatus === 'C'
    }, 'the proof')
    const { object } = await acme.page('e-1')
    const proof = await acme.service.ok('getProof', { params: { txid: txId } })
    const shared = { params: { EVIDENCE_EXTERNAL_ID: 'e-1' }, json: { fields: [], files: 'all' } }
    const { id: shareId, url } = await acme.ok('createShare', shared)
    const erased = { key: acme.company.keys.A, json: { subject: 'Ada', reason: 'other' } }
    const { id: erasureId } = await acme.ok('eraseSubject', erased)
    secret = { 'x-share-secret': String(url).split('.').at(-1) ?? '' }
    params = {
      SHARE_ID: shareId,
      ERASURE_ID: erasureId,
      FILE_ID: overlayId,
      COMPANY_ID: 'acme',
      EVIDENCE_EXTERNAL_ID: 'e-1',
      CATEGORY_ID: object.categoryId,
      SUBCATEGORY_ID: object.subcategoryId,
      evidenceId: id,
      fileId: overlayId,
      txid: txId,
      batchId: proof.batchId,
      L: '0',
      N: '000.p/1',
      SYSTEM_ID: acme.company.systems.R,
    }
  })

  const QUERIES: Readonly<Record<string, (fileId: string) => Readonly<Record<string, string>>>> = {
    downloadFile: (fileId) => ({ fileId }),
    getBundle: () => ({ fields: 'all', files: 'none' }),
  }
  const request = (id: string): CallOptions => ({
    params,
    headers: secret,
    key: id === 'listCompanies' ? OPERATOR_KEY : acme.company.keys.A,
    query: QUERIES[id]?.(params['fileId'] ?? '') ?? {},
  })
  const head = async (id: string, options: CallOptions): Promise<ServiceResponse> => {
    const { key = '' } = options
    const response = await acme.service.fetch(pathOf(endpointOf(id), options), {
      method: 'HEAD',
      headers: { ...secret, 'x-api-key': key },
    })
    const read = await readResponse(response)
    check.check(`head${id.slice(0, 1).toUpperCase()}${id.slice(1)}`, read)
    return read
  }
  const comparable = (headers: Headers): object =>
    Object.fromEntries([...headers].filter(([name]) => !VARYING.has(name)))

  for (const { id, method } of ENDPOINTS.values()) {
    if (method !== 'GET') continue
    it(`HEAD of ${id} has the headers of GET and no body, also if it fails`, async () => {
      const get = await acme.service.call(id, request(id))
      assert.equal(get.status, 200, get.text)
      const own = await head(id, request(id))
      assert.deepEqual([own.status, own.text], [200, ''])
      assert.deepEqual(comparable(own.headers), comparable(get.headers))
      if (isKeyless(endpointOf(id).access)) return
      const rejected = await head(id, { ...request(id), key: 'a-wrong-key-of-a-test' })
      assert.deepEqual([rejected.status, rejected.text], [401, ''])
    })
  }

  it('HEAD of the whole list can be repeated any number of times', async () => {
    for (let i = 0; i < 5; i++) assert.equal((await head('listEvidences', request('listEvidences'))).status, 200)
    assert.equal((await acme.service.call('listEvidences', request('listEvidences'))).status, 200)
  })

  it('a method that a path does not have is 405 with the others, as the document says', async () => {
    const methodsOf = new Map<string, { id: string; methods: Set<string> }>()
    for (const { id, method, path } of ENDPOINTS.values()) {
      const known = methodsOf.get(path) ?? { id, methods: new Set() }
      for (const each of method === 'GET' ? ['GET', 'HEAD'] : [method]) known.methods.add(each)
      methodsOf.set(path, known)
    }
    assert.ok(methodsOf.size > 25)
    for (const { id, methods } of methodsOf.values())
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((each) => !methods.has(each))) {
        const response = await acme.service.fetch(pathOf(endpointOf(id), { params }), { method })
        const read = await readResponse(response)
        // Another path can have the same form: `healthz` could be the id of a source system.
        if (read.status === 401) continue
        check.check(id, read)
        assert.equal(read.status, 405, `${method} ${id}`)
        const allowed = read.headers.get('allow')?.split(', ') ?? []
        for (const each of methods) assert.ok(allowed.includes(each), `${id}: ${allowed.join()}`)
        assert.ok(!allowed.includes(method))
        assert.equal(read.body.code, 'METHOD_NOT_ALLOWED')
      }
  })

  it('headers of more than 16 KiB are 431', async () => {
    const response = await acme.service.fetch(`${BASE_PATH}/sourceSystem/acme/healthz`, {
      headers: { 'x-api-key': acme.company.keys.R, 'x-padding': 'x'.repeat(17 * 1_024) },
    })
    assert.equal(response.status, 431)
    check.check('checkSourceSystem', await readResponse(response))
  })
})
