import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, describe, it } from 'node:test'
import { createClient, EvidenceRegistryError, type Client, type CompanyEvent } from '../../../server/client/index.ts'
import { companyEvents } from '../../../server/client/paging.ts'
import { DEFAULT_RETRY } from '../../../server/client/retry.ts'
import { BASE_PATH } from '../../../server/index.ts'
import { moduleUrl, nodeFlags, root } from '../../support/repository.ts'
import { startService } from '../../support/service.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { arrayOf } from '../../support/array-of.ts'

it('pauses as long as the server asks, and as briefly as at first once a request has succeeded', async (t) => {
  const pauses: (number | undefined)[] = []
  t.mock.method(Math, 'random', () => 1)
  t.mock.method(globalThis, 'setTimeout', (go: () => void, ms?: number) => {
    pauses.push(ms)
    return setImmediate(go)
  })
  const down = new EvidenceRegistryError('down', { code: 'NETWORK_ERROR', status: 0 })
  const details = { code: 'UNAVAILABLE', status: 503, retryAfterMs: 3_600_000 }
  const stopped = new EvidenceRegistryError('stopped for an hour', details)
  const script = [down, stopped, { events: [], cursor: 'c', isMore: false }, down, new Error('enough')]
  const listEvents = async () => {
    const next = script.shift()
    if (next instanceof Error) throw next
    return next
  }
  const events = companyEvents({ listEvents } as never, {}, { retry: DEFAULT_RETRY })
  await assert.rejects(arrayOf(events), /enough/)
  assert.deepEqual(pauses, [250, 3_600_500, 250])
})

describe("the client's feed of events", () => {
  let client: Client
  /** The server cannot be reached. */
  let isDown = false
  let failures = 0
  const service = ofSuite(startService)
  const company = ofSuite(() => service().company('acme'))
  before(async () => {
    client = createClient({
      baseUrl: `${service().url}${BASE_PATH}`,
      companyId: 'acme',
      apiKey: company().keys.U,
      retry: { firstPauseMs: 1, maxPauseMs: 1 },
      fetch: async (url, init) => {
        if (!isDown) return fetch(url, init)
        failures++
        throw new TypeError('connect ECONNREFUSED')
      },
    })
    for (const externalId of ['e-1', 'e-2', 'e-3']) await create(externalId)
  })

  const create = (externalId: string) =>
    client.createEvidence({ categoryName: 'Vehicles', subcategoryName: 'Cars', name: 'Golf', externalId })

  it('ends at the end of the log if it does not wait, and begins after a cursor', async () => {
    const seen: (string | undefined)[] = []
    let cursor = ''
    for await (const event of client.events({ wait: 0, len: 2 })) {
      seen.push(event.externalId)
      if (seen.length === 2) cursor = event.cursor
    }
    assert.deepEqual(seen, ['e-1', 'e-2', 'e-3'])
    const rest = await arrayOf(client.events({ wait: 0, after: cursor }))
    const externalIds = rest.map(({ externalId }) => externalId)
    assert.deepEqual(externalIds, ['e-3'])
  })

  it('goes on while the server is stopped, and has every event once', async () => {
    const ending = new AbortController()
    const seen: (string | undefined)[] = []
    const following = (async () => {
      for await (const { externalId } of client.events({}, { signal: ending.signal })) seen.push(externalId)
    })()
    await service().until(() => seen.length === 3, 'it has what there is')
    await create('e-4')
    await service().until(() => seen.length === 4, 'it has the next event')
    isDown = true
    // Ends the request that is held.
    await service().registry.evidences.create(
      { companyId: 'acme', principal: { kind: 'operator' } },
      { externalId: 'e-5', name: 'Golf', category: { name: 'Vehicles' }, subcategory: { name: 'Cars' } },
    )
    await service().until(() => failures > 20, 'it has failed more often than other calls are repeated')
    isDown = false
    await create('e-6')
    await service().until(() => seen.length === 6, 'it has what was recorded meanwhile')
    assert.deepEqual(seen, ['e-1', 'e-2', 'e-3', 'e-4', 'e-5', 'e-6'])
    ending.abort(new Error('enough'))
    await assert.rejects(following, /enough/)
  })

  it('ends with an error that does not pass', async () => {
    const stranger = createClient({ baseUrl: `${service().url}${BASE_PATH}`, companyId: 'acme', apiKey: 'not-a-key' })
    for (const [events, code] of [
      [stranger.events(), 'UNAUTHORIZED'],
      [client.events({ after: 'nonsense' }), 'VALIDATION_ERROR'],
    ] as const)
      await assert.rejects(arrayOf(events), (error) => error instanceof EvidenceRegistryError && error.code === code)
  })

  it('posts each event to a webhook by the example of its README, and again if it was refused', async (t) => {
    const posts: { readonly id: string; readonly externalId: string | undefined; readonly isSigned: boolean }[] = []
    const key = Buffer.from(Array.from({ length: 32 }, (_, i) => i))
    const receive = ({ headers }: IncomingMessage, body: string): number => {
      const id = String(headers['webhook-id'])
      const signed = `${id}.${String(headers['webhook-timestamp'])}.${body}`
      const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
      const { data } = JSON.parse(body) as { data: CompanyEvent }
      posts.push({ id, externalId: data.externalId, isSigned: headers['webhook-signature'] === signature })
      return posts.length === 1 ? 500 : 200
    }
    const receiver = createServer((request, response) => {
      void text(request).then((body) => response.writeHead(receive(request, body)).end())
    })
    await once(receiver.listen(0, '127.0.0.1'), 'listening')
    t.after(() => receiver.close())
    const address = receiver.address()
    assert.ok(typeof address === 'object' && address !== null, 'it listens')
    const folder = await temporaryFor(t)
    const readme = readFileSync(join(root, 'server/client/README.md'), 'utf8')
    const example =
      [...readme.matchAll(/```js\n([^]*?)```/g)].find(([, code]) => code?.includes('webhook-id'))?.[1] ?? ''
    assert.ok(example.split('\n').length <= 32, 'it has at most 30 lines, of which two are empty')
    const code = example
      .replace("'evidence-registry/client'", `'${moduleUrl('server/client/index.ts').href}'`)
      .replace('http://127.0.0.1:8080', service().url)
      .replace(/pausesS = .*/, 'pausesS = [0]')
    await writeFile(join(folder, 'program.mjs'), code)
    await writeFile(join(folder, 'cursor'), (await client.listEvents({ after: 'latest' })).cursor)
    const { txId } = await create('posted-1')
    const env = { ...process.env, EVIDENCE_API_KEY: company().keys.R, WEBHOOK_URL: `http://127.0.0.1:${address.port}` }
    const secret = `whsec_${key.toString('base64')}`
    const child = spawn(process.execPath, [...nodeFlags, 'program.mjs'], {
      cwd: folder,
      env: { ...env, WEBHOOK_SECRET: secret },
      stdio: 'inherit',
    })
    t.after(() => child.kill())
    await service().until(() => posts.length === 2, 'it was posted twice')
    const next = await create('posted-2')
    await service().until(() => posts.length === 3, 'the next event is posted')
    const first = { id: txId, externalId: 'posted-1', isSigned: true }
    assert.deepEqual(posts, [first, first, { id: next.txId, externalId: 'posted-2', isSigned: true }])
    const saved = async () =>
      (await client.listEvents({ after: await readFile(join(folder, 'cursor'), 'utf8') })).events.length === 0
    await service().until(saved, 'the cursor is saved')
  })
})
