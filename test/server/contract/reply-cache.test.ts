import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { Cacheable } from '../../../core/index.ts'
import { ReplyCache } from '../../../server/contract/reply-cache.ts'
import { json } from '../../../server/contract/reply.ts'
import { createApp } from '../../../server/index.ts'
import { openFilledRegistry } from '../../support/sealed-registry.ts'

/** How often the reply for a result is rendered in this many reads. A read with a new state has a new result. */
async function rendersOf(cache: ReplyCache, reads: number, state?: object, key = 'key'): Promise<number> {
  let renders = 0
  for (let i = 0; i < reads; i++)
    await cache.read<Cacheable>(
      key,
      async (cached) => (cached !== undefined && cached.state === state ? cached : { state }),
      () => json(`${(renders += 1)}`),
    )
  return renders
}

describe('ReplyCache', () => {
  it('caches a reply from the second time on, while the result is the cached one', async () => {
    const cache = new ReplyCache(1_000_000)
    const [first, second] = [{}, {}]
    assert.equal(await rendersOf(cache, 3, first), 2)
    assert.equal(await rendersOf(cache, 2, first), 0)
    assert.equal(await rendersOf(cache, 2, second), 1)
    assert.equal(await rendersOf(cache, 3, first, 'other'), 2)
  })

  it('keeps nothing without a state', async () => {
    assert.equal(await rendersOf(new ReplyCache(1_000_000), 3), 3)
  })

  it('keeps no more than it may, also of short texts', async () => {
    const cache = new ReplyCache(2_000)
    const state = {}
    assert.equal(await rendersOf(cache, 3, state), 2)
    for (let i = 0; i < 20; i++) assert.equal(await rendersOf(cache, 3, state, `${i}`), 2)
    assert.equal(await rendersOf(cache, 1, state), 1)
    assert.equal(await rendersOf(cache, 3, state, 'k'.repeat(2_000)), 3)
  })
})

/** A server on a free port. */
async function serve(t: TestContext, handle: RequestListener): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/api/v1`
}

const COMPANY_PATHS = ['evidences', 'evidences?len=1', 'evidences?len=2', 'evidences?status=stolen', 'evidence/plain']
const PATHS = [
  ...['acme', 'other'].flatMap((company) => COMPANY_PATHS.map((path) => `/evidences/${company}/${path}`)),
  '/evidences/acme/evidence/plain?last=1',
  ...['', '?companyId=acme', '?companyId=other', '?format=bundle'].map((query) => `/merkle/verify/plain${query}`),
]

describe('a server that keeps replies', () => {
  it('sends what a new server sends, after every change', async (t) => {
    const { registry, scope, settle } = await openFilledRegistry(t)
    const other = { ...scope, companyId: 'other' }
    await registry.sourceSystems.create(other, { name: 'warehouse' })
    await registry.sourceSystems.setOperatorKey('operator-key-of-this-test')
    const keeping = createApp({ registry })
    t.after(() => keeping.stop())
    const kept = await serve(t, keeping.handle)
    const textOf = async (url: string): Promise<string> =>
      (await fetch(url, { headers: { 'x-api-key': 'operator-key-of-this-test' } })).text()
    const compare = async (): Promise<void> => {
      const app = createApp({ registry })
      const fresh = await serve(t, app.handle)
      for (const path of PATHS) {
        const text = await textOf(fresh + path)
        for (let use = 0; use < 3; use++) assert.equal(await textOf(kept + path), text, path)
      }
      app.stop()
    }
    await compare()
    const names = { category: { name: 'Tools' }, subcategory: { name: 'Drills' } }
    await registry.evidences.create(other, { ...names, externalId: 'plain', name: 'Of another company' })
    await compare()
    await settle()
    await compare()
  })
})
