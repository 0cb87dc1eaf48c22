import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'

describe('Idempotency-Key', () => {
  const acme = new CompanyRequests()

  it('returns the first success again for the same content, and keeps no second file', async () => {
    const { service } = acme
    const request = (content: string) => ({
      headers: { 'idempotency-key': 'k1' },
      form: formOf({ ...VEHICLE_CATEGORY, externalId: 'once', name: 'x' }, [['images', 'a.txt', content]]),
    })
    const first = await acme.call('createEvidence', request('content'))
    const kept = service.blobs.kept.size
    const again = await acme.call('createEvidence', request('content'))
    assert.deepEqual([again.status, again.body], [first.status, first.body])
    await acme.fails('createEvidence', 409, 'IDEMPOTENCY_KEY_REUSED', request('other content'))
    await acme.fails('createEvidence', 400, 'VALIDATION_ERROR', {
      ...request('x'),
      headers: { 'idempotency-key': 'ä' },
    })
    assert.equal(service.blobs.kept.size, kept)
    assert.deepEqual(await service.unfinished(), [])
  })
})
