import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formOf } from '../../support/form.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { serviceFor, startService, type Company, type Service } from '../../support/service.ts'

const PUBLIC_URL = 'https://registry.example/er'

/** Makes a link of an evidence, and returns its id and secret. */
async function shareOf(service: Service, { id, keys }: Company, json: object, evidence = 'bike-1') {
  const params = { COMPANY_ID: id, EVIDENCE_EXTERNAL_ID: evidence }
  const { url } = await service.ok('createShare', { key: keys.U, params, json })
  const [, SHARE_ID = '', secret = ''] = /#\/p\/([^.]+)\.(.+)$/.exec(String(url)) ?? []
  return { url: String(url), SHARE_ID, secret, headers: { 'x-share-secret': secret } }
}

describe('a link', () => {
  const { logger, lines } = recordingLogger()
  const service = ofSuite(() => startService({ publicUrl: PUBLIC_URL, logger, corsOrigins: ['https://own.example'] }))

  async function companyWithBike(id: string, at = service()): Promise<Company> {
    const company = await at.company(id)
    const fields = { categoryName: 'Vehicles', subcategoryName: 'Bikes', externalId: 'bike-1', name: 'Red bike' }
    const form = formOf({ ...fields, owner: 'Ada L.' }, [['image', 'front.png', 'photo', 'image/png']])
    await at.ok('createEvidence', { key: company.keys.U, params: { COMPANY_ID: id }, form })
    return company
  }

  it('shows a stranger what was chosen, and a theft that was recorded later', async () => {
    const company = await companyWithBike('acme-1')
    const params = { COMPANY_ID: 'acme-1', EVIDENCE_EXTERNAL_ID: 'bike-1' }
    const { url, headers, SHARE_ID } = await shareOf(service(), company, { fields: ['name'], files: ['image'] })
    assert.match(url, /^https:\/\/registry\.example\/er\/ui\/#\/p\/[0-9a-f-]{36}\.[\w-]{22}$/)
    await service().ok('updateEvidence', {
      key: company.keys.U,
      params,
      json: { actionType: 'stolen', owner: 'A. Thief' },
    })

    const shared = await service().call('openShare', { params: { SHARE_ID }, headers })
    assert.equal(shared.headers.get('cache-control'), 'no-store')
    assert.equal(shared.headers.get('access-control-allow-origin'), '*')
    assert.equal(shared.headers.get('etag'), null)
    assert.match(shared.text, /Red bike/)
    assert.match(shared.text, /\[\\"status\\",\\"stolen\\"\]/)
    assert.doesNotMatch(shared.text, /Ada L|A\. Thief|Vehicles|acme-1/)
    const [{ id: FILE_ID }] = shared.body.files
    const photo = await service().call('downloadSharedFile', { params: { SHARE_ID, FILE_ID }, headers })
    assert.deepEqual([photo.status, photo.text], [200, 'photo'])
    assert.equal(photo.headers.get('cache-control'), 'no-store')

    const { shares } = await service().ok('listShares', { key: company.keys.R, params })
    assert.deepEqual([shares.length, shares[0].fields, typeof shares[0].lastUsedAt], [1, ['name'], 'string'])
    await service().ok('endShare', { key: company.keys.U, params: { ...params, SHARE_ID } })
    assert.equal((await service().call('openShare', { params: { SHARE_ID }, headers })).status, 404)
  })

  it('begins with the address of the request if the public one is not known', async (t) => {
    const other = await serviceFor(t, { publicUrl: undefined })
    const company = await companyWithBike('acme', other)
    const { url } = await shareOf(other, company, { fields: [], files: [] })
    assert.ok(url.startsWith(`http://127.0.0.1:${other.port}/ui/#/p/`), url.split('#')[0])
  })

  it('is not found in the same way without it, with another secret, and after its end', async () => {
    const company = await companyWithBike('guessed')
    const choice = { fields: [], files: [] }
    const [{ SHARE_ID, headers }, other] = [
      await shareOf(service(), company, choice),
      await shareOf(service(), company, choice),
    ]
    const params = { COMPANY_ID: 'guessed', EVIDENCE_EXTERNAL_ID: 'bike-1', SHARE_ID }
    await service().ok('endShare', { key: company.keys.U, params })
    const responses = [
      await service().call('openShare', { params: { SHARE_ID }, headers }),
      await service().call('openShare', { params: { SHARE_ID: other.SHARE_ID }, headers }),
      await service().call('openShare', { params: { SHARE_ID: other.SHARE_ID } }),
      await service().call('openShare', { params: { SHARE_ID: 'x' }, headers: other.headers }),
      await service().call('downloadSharedFile', { params: { SHARE_ID, FILE_ID: SHARE_ID }, headers }),
      // A client that sends the end of the link.
      await service().call('openShare', { params: { SHARE_ID: `${other.SHARE_ID}.${other.secret}` } }),
    ]
    const seen = responses.map(({ status, headers: sent, body: { requestId: _, ...body } }) =>
      JSON.stringify([status, sent.get('cache-control'), body]),
    )
    assert.equal(new Set(seen).size, 1)
    assert.match(seen[0] ?? '', /^\[404,"no-store",.*SHARE_NOT_FOUND/)
    assert.doesNotMatch(JSON.stringify(lines), new RegExp([other.secret, headers['x-share-secret']].join('|')))
  })

  it('leaves neither a secret nor an external id in the log, wherever a client puts it', async () => {
    const company = await companyWithBike('logged')
    const { SHARE_ID, secret } = await shareOf(service(), company, { fields: [], files: [] })
    const paths = [
      `/api/v1/shares/${SHARE_ID}`,
      `/api/v1/shares/${SHARE_ID}.${secret}`,
      `/api/v1/shares/${SHARE_ID}/${secret}`,
      `/api/v1/shares/${SHARE_ID}%2F${secret}`,
      `/api/v1/evidences/logged/evidence/${secret}`,
      '/api/v1/evidences/logged/evidence/bike-1',
      `/ui/%23/p/${SHARE_ID}.${secret}`,
    ]
    const before = lines.length
    for (const path of paths) await service().fetch(path, { headers: { 'x-api-key': company.keys.R } })
    const logged = () => lines.slice(before).filter(({ message }) => message === 'request')
    await service().until(() => logged().length === paths.length, 'the requests are logged')
    assert.doesNotMatch(JSON.stringify(lines), new RegExp(`${secret}|bike-1`))
    const named = logged().flatMap(({ ids, evidence }) => ids ?? evidence ?? [])
    const { dts } = await service().ok('listEvidences', { key: company.keys.R, params: { COMPANY_ID: 'logged' } })
    assert.deepEqual(named, [SHARE_ID, dts[0]?.id])
  })

  it('may be opened by scripts of any origin, which no other path lets send its secret', async () => {
    const allowed = async (path: string) => {
      const asked = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
      const response = await service().fetch(`/api/v1${path}`, { method: 'OPTIONS', headers: asked })
      return response.headers.get('access-control-allow-headers') ?? ''
    }
    assert.match(await allowed('/shares/x'), /X-Share-Secret/)
    for (const path of ['/merkle/verify/x', '/evidences/acme/evidence/bike-1/shares', '/log/policy'])
      assert.doesNotMatch(await allowed(path), /X-Share-Secret/)
  })
})
