import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'

const ORIGIN = { origin: 'https://marketplace.example' }

describe('GET /status', () => {
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000, trustProxy: true })
  let address = 0

  /** From another address each time, unless `from` names one. */
  const ask = async (EVIDENCE_EXTERNAL_ID: string, from = `192.0.2.${++address}`) =>
    acme.service.call('getPublicStatus', {
      params: { COMPANY_ID: acme.company.id, EVIDENCE_EXTERNAL_ID },
      headers: { ...ORIGIN, 'x-forwarded-for': from },
    })

  it('says active, stolen since when, or unknown, and nothing else', async () => {
    await acme.create('bike-1', { ...VEHICLE_CATEGORY, name: 'Red bike', owner: 'Ada L.' })
    const closed = await ask('bike-1')
    const none = await ask('no-bike')
    for (const { status, text, headers } of [closed, none]) {
      assert.deepEqual([status, text], [200, '{"state":"unknown"}'])
      assert.deepEqual([headers.get('cache-control'), headers.get('etag')], ['no-store', null])
      assert.equal(headers.get('access-control-allow-origin'), '*')
      assert.equal(headers.get('ratelimit-policy'), '"minute";q=30;w=60')
    }
    const { categoryId: CATEGORY_ID } = (await acme.page('bike-1')).object
    const opened = { key: acme.company.keys.A, params: { CATEGORY_ID }, json: { publicStatus: true } }
    await acme.ok('updateCategory', opened)
    assert.equal((await ask('bike-1')).text, '{"state":"active"}')
    await acme.ok('updateEvidence', {
      params: { EVIDENCE_EXTERNAL_ID: 'bike-1' },
      json: { actionType: 'stolen', eventDescription: 'from the yard' },
    })
    const { events } = await acme.page('bike-1')
    const { timestamp } = events.find(({ version }: { readonly version: number }) => version === 2)
    assert.deepEqual((await ask('bike-1')).body, { state: 'stolen', since: timestamp })
  })

  it('is limited for each address, and for an IPv6 client as one network', async () => {
    for (let i = 0; i < 30; i++) assert.equal((await ask('none', `2001:db8::${i}`)).status, 200)
    const refused = await ask('none', '2001:db8::ffff')
    assert.deepEqual([refused.status, refused.body.code], [429, 'RATE_LIMITED'])
    assert.equal(refused.headers.get('cache-control'), 'no-store')
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    assert.equal((await ask('none', '2001:db8:0:1::')).status, 200)
  })

  it('refuses texts that are not ids, also very long ones', async () => {
    const params = { COMPANY_ID: 'a'.repeat(65), EVIDENCE_EXTERNAL_ID: 'x' }
    const headers = { 'x-forwarded-for': '198.51.100.1' }
    for (const wrong of [params, { COMPANY_ID: 'acme', EVIDENCE_EXTERNAL_ID: 'x'.repeat(129) }])
      await acme.fails('getPublicStatus', 400, 'VALIDATION_ERROR', { params: wrong, headers })
  })
})
