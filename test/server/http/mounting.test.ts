import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { createApp, type AppOptions } from '../../../server/index.ts'
import { startService } from '../../support/service.ts'
import { ofSuite } from '../../support/of-suite.ts'

describe('an app in a server of another program', () => {
  const service = ofSuite(startService)

  /** What `POST /api/v1/evidences/acme/category` returns through a server with this listener. */
  async function created(name: string, listener: RequestListener): Promise<readonly [number, string, string | null]> {
    const { id, keys } = await service().company(name)
    const server = createServer(listener).listen(0, '127.0.0.1')
    try {
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const url = `http://127.0.0.1:${port}/registry/api/v1/evidences/${id}/category`
      const headers = { 'x-api-key': keys.U, 'content-type': 'application/json' }
      const response = await fetch(url, { method: 'POST', headers, body: '{"name":"Vehicles"}' })
      return [response.status, await response.text(), response.headers.get('location')]
    } finally {
      server.close()
    }
  }
  const below =
    (prefix: string, next: RequestListener): RequestListener =>
    (request, response) => {
      request.url = request.url?.slice(prefix.length)
      return next(request, response)
    }

  it('needs no option but the registry, and a public URL if it is mounted below a path', async () => {
    const app = createApp({ registry: service().registry, publicUrl: 'https://shop.example/registry' })
    const [status, , location] = await created('mounted', below('/registry', app.handle))
    assert.equal(status, 201)
    assert.match(location ?? '', /^\/registry\/api\/v1\/evidences\/mounted\/category\//)
    const { servers } = createApp({ registry: service().registry }).document() as { servers: unknown }
    assert.deepEqual(servers, [{ url: '/api/v1' }])
  })

  it('says that a body parser before it has read the body', async () => {
    const app = createApp({ registry: service().registry })
    const [status, text] = await created(
      'parsed',
      below('/registry', (request, response) => void request.resume().once('end', () => app.handle(request, response))),
    )
    assert.equal(status, 500)
    assert.match(text, /"code":"BODY_CONSUMED"/)
    assert.match(text, /mount the service before the parser/)
  })

  const wrong: readonly (readonly [string, (registry: AppOptions['registry']) => unknown, RegExp])[] = [
    ['nothing', () => undefined, /registry must have evidences/],
    ['no registry', () => ({}), /registry must have evidences/],
    ['something else as registry', () => ({ registry: { status() {} } }), /registry must have evidences/],
    ['a logger without methods', (registry) => ({ registry, logger: {} }), /logger must have debug/],
    ['a text as a number', (registry) => ({ registry, maxFileBytes: '1' }), /maxFileBytes must be a number, not "1"/],
    ['a number below 0', (registry) => ({ registry, uploadIdleMs: -1 }), /uploadIdleMs must be a number/],
    [
      'a function as public URL',
      (registry) => ({ registry, publicUrl: () => 'http://x' }),
      /publicUrl must be a string/,
    ],
  ]
  for (const [what, options, message] of wrong)
    it(`is not made of ${what}`, () => {
      assert.throws(() => createApp(options(service().registry) as AppOptions), { code: 'CONFIG_ERROR', message })
    })
})
