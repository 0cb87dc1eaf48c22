import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { verification } from '../../../server/routes/verification.ts'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import type { CallOptions } from '../../support/service.ts'

const UNKNOWN_HASH = 'ab'.repeat(32)
const UNKNOWN_ID = '01a2001d-d203-7054-970f-5ae201bd8dba'
/** Texts that can be an external id, but are not the id of anything. */
const UNKNOWN_EVIDENCES = ['no-such-evidence', UNKNOWN_ID, UNKNOWN_HASH, 'a/b', 'ä ö', "'", '0', 'null']
const UNKNOWN_TX_IDS = [UNKNOWN_HASH, UNKNOWN_HASH.toUpperCase(), `0x${UNKNOWN_HASH}`, '0'.repeat(64)]

describe('404 of the verification paths', () => {
  const acme = new CompanyRequests()
  let fileId: string
  before(async () => {
    const fields = { ...VEHICLE_CATEGORY, externalId: 'known', name: 'E' }
    await acme.ok('createEvidence', { form: formOf(fields, [['images', 'a.txt', 'content']]) })
    fileId = (await acme.files('known'))[0].overlayId
  })

  const formats: readonly CallOptions[] = [{}, { query: { format: 'bundle' } }]
  const requests: Readonly<Record<string, () => readonly CallOptions[]>> = {
    verifyEvidence: () => [
      ...UNKNOWN_EVIDENCES.map((evidenceId) => ({ params: { evidenceId } })),
      ...formats.map((format) => ({ ...format, params: { evidenceId: 'unknown' } })),
      { params: { evidenceId: 'known' }, query: { companyId: 'another' } },
      { params: { evidenceId: 'known' }, query: { txId: UNKNOWN_HASH } },
    ],
    verifyFile: () => [
      ...UNKNOWN_EVIDENCES.map((evidenceId) => ({ params: { evidenceId, fileId } })),
      ...formats.map((format) => ({ ...format, params: { evidenceId: 'known', fileId: UNKNOWN_ID } })),
      ...formats.map((format) => ({ ...format, params: { evidenceId: 'unknown', fileId } })),
      { params: { evidenceId: 'known', fileId }, query: { companyId: 'another' } },
    ],
    getProof: () => UNKNOWN_TX_IDS.map((txid) => ({ params: { txid } })),
    getTlogProof: () => UNKNOWN_TX_IDS.map((txid) => ({ params: { txid } })),
    getRoot: () => UNKNOWN_TX_IDS.map((txid) => ({ params: { txid } })),
    getTimestampToken: () => [UNKNOWN_ID, UNKNOWN_ID.toUpperCase()].map((batchId) => ({ params: { batchId } })),
  }

  for (const { id } of verification.endpoints.filter(({ method }) => method === 'GET'))
    it(`${id} has the body that the document describes`, async () => {
      const calls = requests[id]?.() ?? []
      assert.ok(calls.length > 0, `no request of this test gets a 404 of ${id}`)
      for (const call of calls) {
        // It also checks the response against the document.
        const { status, body, text } = await acme.service.call(id, call)
        assert.equal(status, 404, `${JSON.stringify(call).slice(0, 200)}: ${text.slice(0, 200)}`)
        assert.equal(body.status, 'not_found')
      }
    })

  it('a path without an endpoint has a body of the same form', async () => {
    for (const path of ['/merkle', '/merkle/verify', '/merkle/verify/a/b/c', '/merkle/root/', '/merkle/nothing']) {
      const response = await acme.service.fetch(`/api/v1${path}`)
      const body = (await response.json()) as Record<string, unknown>
      assert.deepEqual([response.status, body['code']], [404, 'NOT_FOUND'], path)
      assert.equal(typeof body['error'], 'string')
    }
  })
})
