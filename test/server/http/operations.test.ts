import assert from 'node:assert/strict'
import { readdir, readlink } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { RegistryError, type RecordStore } from '../../../core/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { VERSION } from '../../../server/version.ts'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { recordingLogger, type LogLine } from '../../support/recording-logger.ts'
import { RawRequest } from '../../support/raw-http.ts'
import { ENDPOINTS, OPERATOR_KEY, serviceFor, startService } from '../../support/service.ts'

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const LINUX = { skip: process.platform !== 'linux' && 'needs /proc' }

describe('operations', () => {
  const { logger, lines } = recordingLogger()
  let isPoisoned = false
  const wrapRecords = (inner: RecordStore) =>
    decorateRecords(inner, {
      async commit(commit) {
        if (isPoisoned) throw new RegistryError('STORE_POISONED', 'secret internals of the store')
        return inner.commit(commit)
      },
    })
  const acme = new CompanyRequests({ logger, wrapRecords, trustProxy: true })

  const json = async (path: string, init?: RequestInit) => {
    const response = await acme.service.fetch(path, init)
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    }
  }

  it('is alive and ready', async () => {
    for (const path of ['/livez', '/readyz']) {
      const { status, body } = await json(path)
      assert.deepEqual([status, body], [200, { status: 'ok', ...(path === '/readyz' && { version: VERSION }) }])
    }
  })

  it('names the settings of a database that can lose records', async () => {
    const unsafe = await startService({ unsafeSettings: ['fsync'] })
    const ready = await (await unsafe.fetch('/readyz')).json()
    await unsafe.close()
    assert.deepEqual(ready, { status: 'ok', version: VERSION, unsafeSettings: ['fsync'] })
  })

  it('shows metrics by route, never by path', async () => {
    await acme.call('getEvidence', of('some-secret-id'))
    const text = await acme.service.metrics()
    const route = '/api/v1/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}'
    const line = `evidence_http_requests_total{method="GET",route="${route}",status="404"} 1`
    assert.ok(text.includes(line), text)
    for (const name of [
      'evidence_http_request_duration_seconds_bucket',
      `evidence_build_info{version="${VERSION}"} 1`,
      '# TYPE evidence_log_entries gauge',
      'evidence_log_entries 1',
      'evidence_log_sealed_entries 0',
      '# TYPE evidence_sealer_failures_total counter',
      'evidence_sealer_failures_total{step="seal"} 0',
      'process_resident_memory_bytes',
    ])
      assert.ok(text.includes(name), name)
    assert.ok(!text.includes('some-secret-id'))
  })

  it('serves metrics only to their token, which opens nothing else', async () => {
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
    for (const init of [undefined, bearer('metrics-token-of-the-test'), { headers: { 'x-api-key': OPERATOR_KEY } }]) {
      const { status, headers } = await acme.service.fetch('/metrics', init)
      assert.deepEqual([status, headers.get('www-authenticate')], [401, 'Bearer'])
    }
    assert.equal((await acme.service.fetch('/api/v1/companies', bearer('metrics-token-of-the-tests'))).status, 401)
  })

  it('gives each response an id, and keeps a well-formed one of the client', async () => {
    const ids = [await json('/livez'), await json('/livez')].map(({ headers }) => headers.get('x-request-id'))
    assert.ok(ids[0] && ids[0] !== ids[1])
    assert.equal(
      (await json('/livez', { headers: { 'x-request-id': 'my-id.1' } })).headers.get('x-request-id'),
      'my-id.1',
    )
    for (const bad of ['a b', 'x'.repeat(129), '<x>'])
      assert.notEqual((await json('/livez', { headers: { 'x-request-id': bad } })).headers.get('x-request-id'), bad)
  })

  it('logs where a request is in its trace, and ignores what is none', async () => {
    const send = async (requestId: string, traceparent: string): Promise<unknown> => {
      await acme.service.fetch('/livez', { headers: { 'x-request-id': requestId, traceparent } })
      const isOf = (line: LogLine): boolean => line['requestId'] === requestId
      await acme.service.until(() => lines.some(isOf), 'the line is written')
      return lines.find(isOf)?.['traceparent']
    }
    assert.equal(await send('traced', TRACE), TRACE)
    assert.equal(await send('later-version', `01${TRACE.slice(2)}-more`), `01${TRACE.slice(2)}`)
    for (const [i, wrong] of [
      TRACE.toUpperCase(),
      `${TRACE}-more`,
      `${TRACE}x`,
      `ff${TRACE.slice(2)}`,
      `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
      `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`,
      TRACE.slice(0, -1),
      `${TRACE}, ${TRACE}`,
    ].entries())
      assert.equal(await send(`untraced-${i}`, wrong), undefined, wrong)
  })

  it('logs each request without keys, tokens, bodies or external ids', async () => {
    const externalId = '0190163d-8694-739b-aea5-966c26f8ad91'
    await acme.call('getEvidence', of(externalId))
    await acme.call('createCategory', {
      json: { name: 'secret-name-in-a-body' },
      headers: { 'x-request-id': 'logged-1', 'x-forwarded-for': '192.0.2.7' },
    })
    await acme.service.call('downloadFile', {
      params: { COMPANY_ID: 'acme' },
      query: { token: 'secret-token-in-the-query', fileId: 'x' },
      headers: { 'x-request-id': 'logged-2' },
    })
    await acme.service.until(() => lines.some(({ requestId }) => requestId === 'logged-2'), 'the lines are written')
    const line = lines.find(({ requestId }) => requestId === 'logged-1')
    assert.deepEqual(
      [line?.level, line?.['method'], line?.['route'], line?.['status']],
      ['info', 'POST', '/api/v1/evidences/{COMPANY_ID}/category', 201],
    )
    const { id } = await acme.ok('getOwnSourceSystem')
    assert.deepEqual([line?.['company'], line?.['sender'], line?.['address']], ['acme', id, '192.0.2.7'])
    const refused = lines.find(({ requestId }) => requestId === 'logged-2')
    assert.deepEqual(
      [refused?.['code'], refused?.['company'], refused?.['sender']],
      ['UNAUTHORIZED', undefined, undefined],
    )
    const all = JSON.stringify(lines)
    const texts = ['secret-token-in-the-query', 'secret-name-in-a-body', externalId]
    for (const secret of [acme.company.keys.U, OPERATOR_KEY, ...texts]) assert.ok(!all.includes(secret), secret)
  })

  it('lets any origin read public responses, and no others', async () => {
    const origin = { headers: { origin: 'https://elsewhere.example' } }
    for (const path of ['/api/v1/merkle/verify/none', '/api/v1/log/checkpoint', '/api/v1/openapi.json']) {
      const { headers } = await acme.service.fetch(path, origin)
      const shown = ['access-control-allow-origin', 'cross-origin-resource-policy', 'vary'].map((name) =>
        headers.get(name),
      )
      assert.deepEqual(shown, ['*', 'cross-origin', null], path)
      const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? []
      for (const name of ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'ETag', 'Content-Disposition'])
        assert.ok(exposed.includes(name), name)
    }
    for (const path of ['/api/v1/evidences/acme/evidences', '/metrics', '/docs', '/api/v1/sourceSystem/acme'])
      assert.equal((await acme.service.fetch(path, origin)).headers.get('access-control-allow-origin'), null, path)
    const preflight = {
      method: 'OPTIONS',
      headers: {
        ...origin.headers,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    }
    const allowed = await acme.service.fetch('/api/v1/merkle/validate', preflight)
    assert.deepEqual(
      [allowed.status, allowed.headers.get('access-control-allow-headers')],
      [204, 'Content-Type, Traceparent, Tracestate, X-Request-Id'],
    )
    assert.equal(
      (await acme.service.fetch('/api/v1/evidences/acme/evidence', preflight)).headers.get(
        'access-control-allow-origin',
      ),
      null,
    )
  })

  it('sends headers that protect browsers', async () => {
    const { headers } = await acme.service.fetch('/api/v1/merkle/verify/none')
    assert.deepEqual(
      [headers.get('x-content-type-options'), headers.get('content-security-policy'), headers.get('referrer-policy')],
      ['nosniff', "default-src 'none';frame-ancestors 'none'", 'no-referrer'],
    )
    assert.equal(headers.get('x-powered-by'), null)
  })

  it('serves its page without other origins', async () => {
    const page = await acme.service.fetch('/docs')
    const html = await page.text()
    assert.equal(page.status, 200)
    assert.ok(!/(?:src|href)="(?:https?:)?\/\//.test(html))
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self'/)
    const script = await acme.service.fetch('/docs/rapidoc.js')
    assert.deepEqual([script.status, script.headers.get('content-type')], [200, 'text/javascript; charset=utf-8'])
    assert.match(await script.text(), /rapi-doc/)
    assert.ok(html.includes('src="docs/rapidoc.js"') && html.includes('spec-url="api/v1/openapi.json?json=1"'))
  })

  it('keeps no file open for clients that read its script slowly', LINUX, async () => {
    const responses = await Promise.all(Array.from({ length: 30 }, () => acme.service.fetch('/docs/rapidoc.js')))
    const open = await readdir('/proc/self/fd')
    const names = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
    const unexpected = names.filter((name) => name.endsWith('rapidoc.js'))
    assert.deepEqual(unexpected, [])
    for (const response of responses) await response.body?.cancel()
  })

  it('makes the text of the OpenAPI document once', async (t) => {
    const first = await (await acme.service.fetch('/api/v1/openapi.json')).text()
    const { mock } = t.mock.method(JSON, 'stringify')
    const second = await acme.service.fetch('/api/v1/openapi.json')
    assert.equal(second.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(await second.text(), first)
    assert.ok(mock.calls.every(({ arguments: [value] }) => !Object.hasOwn(Object(value), 'openapi')))
  })

  it('redirects / to the API page', async () => {
    const response = await acme.service.fetch('/', { redirect: 'manual' })
    assert.deepEqual([response.status, response.headers.get('location')], [302, 'docs'])
  })

  it('redirects browsers from / to the dashboard', async () => {
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const response = await acme.service.fetch('/', { redirect: 'manual', headers })
    assert.deepEqual([response.status, response.headers.get('location')], [302, 'ui/'])
    assert.equal(response.headers.get('vary'), 'Accept')
  })

  it('limits the rate of each company and of each address', async (t) => {
    const limited = await serviceFor(t, { rateLimitPerMinute: 5, addressLimitPerMinute: 5, trustProxy: true })
    const registry = limited.registry.sourceSystems
    const scope = { companyId: 'acme', principal: { kind: 'operator' } } as const
    await registry.create(scope, { name: 'a', apiKey: 'the-key-of-system-a', permissions: 'R' })
    await registry.create(scope, { name: 'b', apiKey: 'the-key-of-system-b', permissions: 'R' })
    const elsewhere = { ...scope, companyId: 'other' }
    await registry.create(elsewhere, { name: 'c', apiKey: 'the-key-of-system-c', permissions: 'R' })
    const list = (key: string, address = '10.0.0.1', companyId = 'acme') =>
      limited.call('listCategories', {
        key,
        params: { COMPANY_ID: companyId },
        headers: { 'x-forwarded-for': `spoofed-${Math.random()}, ${address}` },
      })
    for (let i = 0; i < 5; i++) assert.equal((await list('the-key-of-system-a')).status, 200)
    const refused = await list('the-key-of-system-a', '10.0.0.2')
    assert.deepEqual([refused.status, refused.body.code], [429, 'RATE_LIMITED'])
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    assert.equal((await list('the-key-of-system-b')).status, 429)
    assert.equal((await list('the-key-of-system-c', '10.0.0.1', 'other')).status, 200)
    const forbidden = { key: 'the-key-of-system-c', params: { COMPANY_ID: 'other' } }
    for (let i = 0; i < 4; i++) assert.equal((await limited.call('createCategory', forbidden)).status, 403)
    assert.equal((await limited.call('createCategory', forbidden)).status, 429, 'what is forbidden counts')
    for (let i = 0; i < 5; i++) assert.equal((await list('a-key-of-no-source-system', '10.0.0.3')).status, 401)
    assert.equal((await list('a-key-of-no-source-system', '10.0.0.3')).status, 429)
    const statusFrom = async (address: string): Promise<number> =>
      (await limited.fetch('/api/v1/merkle/verify/x', { headers: { 'x-forwarded-for': address } })).status
    for (let i = 1; i <= 5; i++) assert.equal(await statusFrom(`2001:db8::${i}`), 404)
    assert.equal(await statusFrom('2001:db8::6'), 429, 'a client has a whole network')
    assert.equal(await statusFrom('2001:db8:0:1::6'), 404)
    const verify = await limited.call('verifyEvidence', {
      params: { evidenceId: 'x' },
      headers: { 'x-forwarded-for': '10.0.0.3' },
    })
    assert.deepEqual([verify.status, verify.body.status], [429, 'error'])
    assert.equal((await limited.fetch('/livez', { headers: { 'x-forwarded-for': '10.0.0.3' } })).status, 200)
  })

  it('closes a connection whose headers do not end', async (t) => {
    const impatient = await serviceFor(t, { headersTimeoutMs: 1_000 })
    const request = new RawRequest(impatient.port)
    await request.send('GET /livez HTTP/1.1\r\nX-Slow: ')
    await impatient.until(() => request.closed, 'the connection is closed')
    assert.match(request.received, /^HTTP\/1\.1 408 /)
  })

  it('hides internal messages, logs them, and is not ready after the store stopped accepting writes', async () => {
    isPoisoned = true
    const answer = await acme.fails('createCategory', 503, 'UNAVAILABLE', {
      json: { name: 'x' },
      headers: { 'x-request-id': 'poisoned', traceparent: TRACE },
    })
    assert.ok(!answer.text.includes('secret internals'))
    assert.ok(
      lines.some(
        ({ level, requestId, traceparent, err }) =>
          level === 'error' && requestId === 'poisoned' && traceparent === TRACE && err instanceof RegistryError,
      ),
    )
    const ready = await json('/readyz')
    assert.deepEqual(
      [ready.status, ready.body],
      [503, { status: 'unavailable', reason: 'STORE_POISONED', version: VERSION }],
    )
    assert.equal((await acme.call('listCategories')).status, 200)
    assert.equal((await json('/livez')).status, 200)
  })

  it('makes links from the configuration, never from the request', async () => {
    const { body } = await json('/api/v1/openapi.json', {
      headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' },
    })
    assert.deepEqual(body['servers'], [{ url: 'https://evidence.example/api/v1' }])
    assert.ok(ENDPOINTS.size > 20)
  })
})
