import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formOf } from '../../support/form.ts'
import { evidenceRequests, VEHICLE_CATEGORY } from '../../support/evidence-requests.ts'
import { startService, type Company, type Service } from '../../support/service.ts'

describe('idempotent requests', () => {
  let service: Service
  let company: Company
  let at: { key: string; params: { COMPANY_ID: string } }
  before(async () => {
    service = await startService()
    company = await service.company('acme')
    at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
  })
  after(() => service.close())

  const { of, create } = evidenceRequests(() => ({ service, company }))

  describe('Idempotency-Key', () => {
    const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })
    const form = (content: string, name = 'x') =>
      formOf({ ...VEHICLE_CATEGORY, externalId: 'once', name }, [['images', 'a.txt', content]])

    it('returns the first success again for the same content, and keeps no second file', async () => {
      const first = await service.call('createEvidence', { ...at, ...keyed('k1'), form: form('content') })
      const kept = service.blobs.kept.size
      const again = await service.call('createEvidence', { ...at, ...keyed('k1'), form: form('content') })
      assert.deepEqual([again.status, again.body], [first.status, first.body])
      assert.equal(service.blobs.kept.size, kept)
      assert.deepEqual(await service.unfinished(), [])
    })

    it('rejects other content with the same key', async () => {
      for (const other of [form('other content'), form('content', 'other name')]) {
        const kept = service.blobs.kept.size
        await service.fails('createEvidence', 409, 'IDEMPOTENCY_KEY_REUSED', { ...at, ...keyed('k1'), form: other })
        assert.equal(service.blobs.kept.size, kept)
      }
    })

    it('is looked up before If-Match, and is independent on another path', async () => {
      await create('once-a')
      await create('once-b')
      const update = (id: string) => ({
        ...of(id),
        json: { summary: 'same' },
        headers: { 'idempotency-key': 'k2', 'if-match': '"1"' },
      })
      const first = await service.ok('updateEvidence', update('once-a'))
      assert.deepEqual(await service.ok('updateEvidence', update('once-a')), first)
      assert.notDeepEqual(await service.ok('updateEvidence', update('once-b')), first)
    })

    it('runs simultaneous requests with the same key once', async () => {
      const race = () =>
        service.ok('createEvidence', {
          ...at,
          ...keyed('k3'),
          form: formOf({ ...VEHICLE_CATEGORY, externalId: 'once-raced', name: 'x' }, [['images', 'a', 'a']]),
        })
      const answers = await Promise.all(Array.from({ length: 6 }, race))
      assert.equal(new Set(answers.map(({ txId }) => txId)).size, 1)
      assert.deepEqual(await service.unfinished(), [])
    })

    it('accepts 1 to 255 printable characters', async () => {
      for (const key of ['ä', 'x'.repeat(256)])
        await service.fails('createEvidence', 400, 'VALIDATION_ERROR', {
          ...at,
          ...keyed(key),
          form: form('content'),
        })
    })
  })
})
