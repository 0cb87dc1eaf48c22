import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { CompanyRequests } from '../../support/company-requests.ts'
import { RawRequest } from '../../support/raw-http.ts'
import { readResponse, type ServiceResponse } from '../../support/service.ts'

/** Each input is rejected with its code, changes nothing, and leaves no file behind. */
describe('bad paths and queries', () => {
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000 })
  before(() => acme.create('there'))

  const get = async (path: string): Promise<ServiceResponse> =>
    readResponse(await acme.service.fetch(`/api/v1${path}`, { headers: { 'x-api-key': acme.company.keys.A } }))
  const cases: [string, number, string][] = [
    ['/evidences/acme/evidence/a%00b', 400, 'VALIDATION_ERROR'],
    ['/evidences/acme/evidence/a%0Ab', 400, 'VALIDATION_ERROR'],
    ['/evidences/acme/evidence/%E0%A4%A', 400, 'VALIDATION_ERROR'],
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
      acme.changesNothing(async () => {
        const answer = await get(path)
        assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text)
      }),
    )

  it('a target that is a URL with a broken host is rejected', async () => {
    for (const target of ['http://[::1/api/v1/log/policy', 'http://[::1']) {
      const request = new RawRequest(acme.service.port)
      await request.send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      await acme.service.until(() => request.closed, `${target} has a response`)
      assert.match(request.received, /^HTTP\/1\.1 400 /, target)
    }
  })

  it('verification endpoints return a status, and ignore unknown parameters', async () => {
    const broken = await get('/merkle/verify/%E0%A4%A')
    assert.deepEqual([broken.status, broken.body.status, broken.body.code], [400, 'invalid', 'VALIDATION_ERROR'])
    assert.equal((await get('/merkle/verify/there?unknown=1&unknown=2')).status, 200)
  })

  it('%2F is part of an external id', async () => {
    await acme.create('a/b?c#d%2F')
    assert.equal((await get('/evidences/acme/evidence/a%2Fb%3Fc%23d%252F')).body.object.externalId, 'a/b?c#d%2F')
    assert.equal((await get('/merkle/verify/a%2Fb%3Fc%23d%252F')).body.evidenceId, 'a/b?c#d%2F')
  })
})
