import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formOf } from '../../support/form.ts'
import { RawRequest } from '../../support/raw-http.ts'
import {
  readResponse,
  startService,
  type ServiceResponse,
  type CallOptions,
  type Company,
  type Service,
} from '../../support/service.ts'

const GOOD = { categoryName: 'Vehicles', subcategoryName: 'Cars', externalId: 'bad', name: 'x' }

/** Each input is rejected with its code, changes nothing, and leaves no file behind. */
describe('bad paths', () => {
  let service: Service
  let company: Company
  let other: Company
  let at: { key: string; params: { COMPANY_ID: string; EVIDENCE_EXTERNAL_ID: string } }
  before(async () => {
    service = await startService({ sealMaxWaitMs: 3_600_000 })
    ;[company, other] = [await service.company('acme'), await service.company('other')]
    at = { key: company.keys.A, params: { COMPANY_ID: 'acme', EVIDENCE_EXTERNAL_ID: 'there' } }
    await service.ok('createEvidence', { ...at, json: { ...GOOD, externalId: 'there' } })
  })
  after(() => service.close())

  async function changesNothing(what: () => Promise<void>): Promise<void> {
    const stored = await service.snapshot()
    await what()
    assert.deepEqual(await service.unfinished(), [])
    assert.equal(await service.snapshot(), stored)
  }
  const refuses = (status: number, code: string, options: CallOptions, id = 'createEvidence'): Promise<void> =>
    changesNothing(async () => void (await service.fails(id, status, code, { ...at, ...options })))
  describe('paths and queries', () => {
    const get = async (path: string): Promise<ServiceResponse> =>
      readResponse(await service.fetch(`/api/v1${path}`, { headers: { 'x-api-key': at.key } }))
    const cases: [string, number, string][] = [
      ['/evidences/acme/evidence/a%00b', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidence/a%0Ab', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidence/%E0%A4%A', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidence/%ff', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidence/%', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidence/%ED%A0%80', 400, 'VALIDATION_ERROR'],
      ['/evidences/%00/evidences', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/category/%E0%A4%A', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidences?unknown=1', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidences?len=1&len=2', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidences?len=1e1', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidences?len=%20', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/evidences?__proto__=1', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/category?constructor=1', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/file?fileId=%E0%A4%A', 400, 'VALIDATION_ERROR'],
      ['/evidences/acme/file?fileId=%00', 404, 'FILE_NOT_FOUND'],
      ['/evidences/acme/evidence/none/', 404, 'NOT_FOUND'],
      ['/evidences/acme/nothing', 404, 'NOT_FOUND'],
      ['/Evidences/acme/evidences', 404, 'NOT_FOUND'],
    ]
    for (const [path, status, code] of cases)
      it(path, () =>
        changesNothing(async () => {
          const answer = await get(path)
          assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text)
        }),
      )

    it('a target that is a URL with a broken host is rejected', async () => {
      for (const target of ['http://[::1/api/v1/log/policy', 'http://[::1']) {
        const request = new RawRequest(service.port)
        await request.send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
        await service.until(() => request.closed, `${target} has a response`)
        assert.match(request.received, /^HTTP\/1\.1 400 /, target)
      }
    })

    it('verification endpoints return a status, and ignore unknown parameters', async () => {
      const broken = await get('/merkle/verify/%E0%A4%A')
      assert.deepEqual([broken.status, broken.body.status, broken.body.code], [400, 'invalid', 'VALIDATION_ERROR'])
      assert.equal((await get('/merkle/verify/there?unknown=1&unknown=2')).status, 200)
    })

    it('%2F is part of an external id', async () => {
      await service.ok('createEvidence', { ...at, json: { ...GOOD, externalId: 'a/b?c#d%2F' } })
      assert.equal((await get('/evidences/acme/evidence/a%2Fb%3Fc%23d%252F')).body.object.externalId, 'a/b?c#d%2F')
      assert.equal((await get('/merkle/verify/a%2Fb%3Fc%23d%252F')).body.evidenceId, 'a/b?c#d%2F')
    })
  })

  it('ids of another company look like ones that do not exist', async () => {
    await service.ok('createEvidence', {
      key: other.keys.A,
      params: { COMPANY_ID: 'other' },
      form: formOf({ ...GOOD, externalId: 'foreign' }, [['image', 'a.png', 'a', 'image/png']]),
    })
    const { object } = await service.ok('getEvidence', {
      key: other.keys.A,
      params: { COMPANY_ID: 'other', EVIDENCE_EXTERNAL_ID: 'foreign' },
    })
    const { categoryId, subcategoryId, imageId } = object
    const foreign = {
      ...at.params,
      CATEGORY_ID: categoryId,
      SUBCATEGORY_ID: subcategoryId,
      EVIDENCE_EXTERNAL_ID: 'foreign',
      SYSTEM_ID: other.systems.R,
    }
    const cases: [string, string, CallOptions][] = [
      ['getCategory', 'CATEGORY_NOT_FOUND', {}],
      ['updateCategory', 'CATEGORY_NOT_FOUND', { json: { description: 'x' } }],
      ['createSubcategory', 'CATEGORY_NOT_FOUND', { json: { name: 'x' } }],
      ['updateSubcategory', 'CATEGORY_NOT_FOUND', { json: { description: 'x' } }],
      ['listSubcategoryFiles', 'CATEGORY_NOT_FOUND', {}],
      ['createEvidences', 'CATEGORY_NOT_FOUND', { json: { externalId: 'new', name: 'x' } }],
      ['createEvidence', 'CATEGORY_NOT_FOUND', { json: { categoryId, subcategoryId, externalId: 'new', name: 'x' } }],
      ['getEvidence', 'EVIDENCE_NOT_FOUND', {}],
      ['updateEvidence', 'EVIDENCE_NOT_FOUND', { json: { summary: 'x' } }],
      ['listEvidenceFiles', 'EVIDENCE_NOT_FOUND', {}],
      ['downloadFile', 'FILE_NOT_FOUND', { query: { fileId: imageId } }],
      ['deleteFile', 'FILE_NOT_FOUND', { query: { fileId: imageId } }],
      ['createFileToken', 'FILE_NOT_FOUND', { json: { fileId: imageId } }],
      ['updateSourceSystem', 'SOURCE_SYSTEM_NOT_FOUND', { json: { active: false } }],
    ]
    for (const [id, code, options] of cases) await refuses(404, code, { ...options, params: foreign }, id)
  })
})
