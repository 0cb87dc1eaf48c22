import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import { OPERATOR_KEY, serviceFor } from '../../support/service.ts'

const ORIGIN = 'https://app.example'

describe('headers of keyed responses', () => {
  const acme = new CompanyRequests({ corsOrigins: [ORIGIN], rateLimitPerMinute: 100, sealMaxWaitMs: 3_600_000 })
  const asAdmin = () => ({ key: acme.company.keys.A })

  it('tell the client that an idle connection stays open longer than its own 60 s', async () => {
    const { headers } = await acme.service.fetch('/livez')
    assert.equal(headers.get('keep-alive'), 'timeout=65')
  })

  it('201 has the Location of what was created, and it works', async () => {
    const category = await acme.call('createCategory', { json: { name: 'C' } })
    const CATEGORY_ID = category.body.id
    const inCategory = { params: { CATEGORY_ID } }
    const subcategory = await acme.call('createSubcategory', { ...inCategory, json: { name: 'S' } })
    const into = { params: { CATEGORY_ID, SUBCATEGORY_ID: subcategory.body.id } }
    const named = { categoryName: 'C', subcategoryName: 'S', name: 'x' }
    const responses = [
      await acme.call('createSourceSystem', { ...asAdmin(), json: { name: 'located' } }),
      category,
      subcategory,
      await acme.call('createEvidence', { json: { ...named, externalId: 'a/b ä' } }),
      await acme.call('createEvidences', { ...into, json: { externalId: '?', name: 'x' } }),
      await acme.call('createEvidences', { ...into, json: { evidences: [{ externalId: '#', name: 'x' }] } }),
    ]
    for (const { status, headers } of responses) {
      assert.equal(status, 201)
      const location = headers.get('location') ?? ''
      assert.equal(
        (await acme.service.fetch(location, { headers: { 'x-api-key': acme.company.keys.A } })).status,
        200,
        location,
      )
    }
    const failed = await acme.call('createCategory', { json: { name: 'C' } })
    assert.deepEqual([failed.status, failed.headers.get('location')], [409, null])
    const one = await acme.ok('getSubcategory', into)
    assert.deepEqual([one.path, one.digitalTwinsCount], ['/C/S', 3])
    const itself = { params: { CATEGORY_ID, SUBCATEGORY_ID: CATEGORY_ID } }
    await acme.fails('getSubcategory', 404, 'SUBCATEGORY_NOT_FOUND', itself)
  })

  it('Location contains the path of the public address', async (t) => {
    const behindProxy = await serviceFor(t, { publicUrl: 'https://host.example/registry' })
    const { keys, id } = await behindProxy.company('acme')
    const request = { key: keys.A, params: { COMPANY_ID: id }, json: { name: 'C' } }
    const { headers, body } = await behindProxy.call('createCategory', request)
    assert.equal(headers.get('location'), `/registry/api/v1/evidences/acme/category/${body.id}`)
  })

  it('public responses that can change are not kept by caches, and those of probes nowhere', async () => {
    const cacheOf = async (path: string): Promise<string> => {
      const { status, headers } = await acme.service.fetch(path)
      return `${status} ${headers.get('cache-control')}`
    }
    const verify = '/api/v1/merkle/verify'
    assert.deepEqual(await Promise.all([`${verify}/none`, `${verify}/x/y`, '/api/v1/merkle/root/x'].map(cacheOf)), [
      '404 no-cache',
      '400 no-cache',
      '400 no-cache',
    ])
    assert.equal(await cacheOf('/api/v1/log/tile/0/x999/999'), '404 no-cache')
    for (const path of ['/livez', '/readyz']) assert.equal(await cacheOf(path), '200 no-store')
  })

  it('3 and 11 have an ETag, which gives 304 until something changes', async () => {
    assert.equal((await acme.create('tagged')).version, 1)
    const tagged = of('tagged')
    const first = await acme.call('getEvidence', tagged)
    const etag = first.headers.get('etag') ?? ''
    assert.match(etag, /^"1-[0-9a-f]{16}"$/)
    assert.equal(first.headers.get('cache-control'), 'private, no-cache')
    const cached = await acme.call('getEvidence', { ...tagged, headers: { 'if-none-match': etag } })
    assert.deepEqual([cached.status, cached.text, cached.headers.get('etag')], [304, '', etag])
    await acme.ok('updateEvidence', { ...tagged, json: { summary: 's' } })
    assert.equal((await acme.call('getEvidence', { ...tagged, headers: { 'if-none-match': etag } })).status, 200)
    const category = { params: { CATEGORY_ID: first.body.object.categoryId } }
    const tag = (await acme.call('getCategory', category)).headers.get('etag') ?? ''
    assert.equal((await acme.call('getCategory', { ...category, headers: { 'if-none-match': tag } })).status, 304)
  })

  it('401 has a challenge, and every response says how many requests are left', async () => {
    const wrong = await acme.call('listCategories', { key: 'wrong-key-of-a-test' })
    assert.match(wrong.headers.get('www-authenticate') ?? '', /^ApiKey /)
    const { headers } = await acme.call('listCategories')
    assert.equal(headers.get('www-authenticate'), null)
    assert.equal(headers.get('ratelimit-policy'), '"minute";q=100;w=60')
    assert.match(headers.get('ratelimit') ?? '', /^"minute";r=\d\d;t=\d+$/)
  })

  it('requests with a file token count for their address, and take nothing from the keys of the company', async (t) => {
    const limit = 10
    const limited = await serviceFor(t, {
      rateLimitPerMinute: limit,
      addressLimitPerMinute: limit,
      sealMaxWaitMs: 3_600_000,
    })
    const { keys } = await limited.company('acme')
    const owner = { params: { COMPANY_ID: 'acme', EVIDENCE_EXTERNAL_ID: 'shared' }, key: keys.U }
    const fields = { categoryName: 'C', subcategoryName: 'S', externalId: 'shared', name: 'n' }
    await limited.ok('createEvidence', { ...owner, form: formOf(fields, [['images', 'a.bin', 'x']]) })
    const { dt } = await limited.ok('listEvidenceFiles', owner)
    const { token } = await limited.ok('createFileToken', { ...owner, json: { fileId: dt[0].overlayId } })
    const download = { params: { COMPANY_ID: 'acme' }, query: { token } }
    for (let count = 0; count < limit; count += 1)
      assert.equal((await limited.call('downloadFile', download)).status, 200)
    assert.equal((await limited.call('downloadFile', download)).status, 429)
    assert.equal((await limited.call('listCategories', owner)).status, 200)
  })

  it('lets scripts of the configured origins use keyed endpoints, and of no other', async () => {
    const path = '/api/v1/evidences/acme/category'
    const preflight = (origin: string) =>
      acme.service.fetch(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
    const allowed = await preflight(ORIGIN)
    assert.deepEqual([allowed.status, allowed.headers.get('access-control-allow-origin')], [204, ORIGIN])
    assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /X-API-Key/)
    assert.equal((await preflight('https://evil.example')).headers.get('access-control-allow-origin'), null)
    const { headers } = await acme.call('listCategories', { key: OPERATOR_KEY, headers: { origin: ORIGIN } })
    assert.equal(headers.get('access-control-allow-origin'), ORIGIN)
    assert.match(headers.get('vary') ?? '', /Origin/)
    assert.match(headers.get('access-control-expose-headers') ?? '', /\bRetry-After\b/)
  })
})
