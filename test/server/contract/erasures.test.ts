import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { eventually } from '../../support/eventually.ts'
import type { CallOptions } from '../../support/service.ts'

const MARK = 'Zq8Kw2'

describe('the erasure of an evidence', () => {
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000 })
  const erase = (externalId: string, json: object): CallOptions => ({
    ...of(externalId),
    json,
    key: acme.company.keys.A,
  })

  it('says what is gone, and no tag of before gives a 304', async () => {
    await acme.create('tagged', { owner: MARK })
    const { headers } = await acme.call('getEvidence', of('tagged'))
    const cached = { ...of('tagged'), headers: { 'if-none-match': headers.get('etag') ?? '' } }
    // Twice, so that the reply is kept.
    for (const _ of [1, 2]) assert.equal((await acme.call('getEvidence', cached)).status, 304)
    const { status, erased, disk, receipt } = await acme.ok(
      'eraseEvidence',
      erase('tagged', { fields: ['owner'], reason: 'request' }),
    )
    assert.deepEqual([status, erased, disk], ['ok', [{ version: 1, field: 'owner' }], 'done'])
    assert.match(receipt.txId, /^[0-9a-f]{64}$/)
    const after = await acme.call('getEvidence', cached)
    assert.equal(after.status, 200)
    const [{ ownerName, erased: ofEvent }] = after.body.events
    assert.deepEqual([after.body.object.owner, ownerName, ofEvent.length], [undefined, '', 1])
    const [{ field, at }] = after.body.object.erased
    assert.ok(field === 'owner' && Date.parse(at) > 0)
  })

  it('of a subject runs in the background, and shows what it found', async () => {
    const { id: evidenceId } = await acme.create('e-1', { owner: `${MARK} Ada` })
    const json = { subject: `${MARK.toLowerCase()} ADA`, reason: 'court', dryRun: true }
    const admin = { key: acme.company.keys.A }
    const { status, body } = await acme.call('eraseSubject', { ...admin, json })
    assert.deepEqual([status, body.status], [202, 'ok'])
    const shown = await eventually(async () => {
      const erasure = await acme.ok('getErasure', { ...admin, params: { ERASURE_ID: body.id } })
      return erasure.state === 'done' && erasure
    })
    const place = { evidenceId, externalId: 'e-1', version: 1, field: 'owner' }
    assert.deepEqual([shown.kind, shown.dryRun, shown.found, shown.isMore], ['subject', true, [place], false])
    const { erasures } = await acme.ok('listErasures', admin)
    assert.deepEqual([erasures[0].id, erasures[0].progress], [body.id, shown.progress])
    assert.ok(![shown, erasures].some((each) => JSON.stringify(each).toLowerCase().includes('ada"')))
    await acme.fails('getErasure', 404, 'ERASURE_NOT_FOUND', { ...admin, params: { ERASURE_ID: evidenceId } })
    await acme.fails('eraseSubject', 400, 'VALIDATION_ERROR', { ...admin, json: { subject: '', reason: 'court' } })
  })
})
