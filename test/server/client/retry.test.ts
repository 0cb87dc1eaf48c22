import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createClient, EvidenceRegistryError, type Client, type RetryOptions } from '../../../server/client/index.ts'

interface Sent {
  readonly method: string
  readonly idempotencyKey: string | null
}

/** A client whose requests receive these responses, one after the other; an error breaks the connection. */
function scripted(
  responses: readonly (Response | Error)[],
  retry: Partial<RetryOptions> = {},
): { client: Client; sent: Sent[] } {
  const sent: Sent[] = []
  const client = createClient({
    baseUrl: 'https://evidence.example/api/v1',
    companyId: 'acme',
    apiKey: 'a-key-of-the-tests',
    retry: { firstPauseMs: 1, ...retry },
    fetch: async (_, init) => {
      const response = responses[sent.length]
      sent.push({
        method: init.method ?? 'GET',
        idempotencyKey: new Headers(init.headers).get('idempotency-key'),
      })
      // As fetch does, reads the body.
      if (init.body) await new Response(init.body).text()
      if (response === undefined) throw new Error('unexpected request')
      if (response instanceof Error) throw response
      return response
    },
  })
  return { client, sent }
}

const ok = (): Response => Response.json({ status: 'ok' })
const failed = (status: number, headers: Record<string, string> = {}): Response =>
  Response.json({ error: 'text', code: status === 429 ? 'RATE_LIMITED' : 'UNAVAILABLE' }, { status, headers })
const broken = (): Error => new TypeError('fetch failed')
const evidence = { externalId: 'e', name: 'E', categoryName: 'C', subcategoryName: 'S' }

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'ok'
  } catch (error) {
    assert.ok(error instanceof EvidenceRegistryError, String(error))
    return error.code
  }
}

describe('repetitions', () => {
  it('repeat a read after failures that may pass', async () => {
    for (const failure of [failed(429), failed(502), failed(503), failed(504), broken()]) {
      const { client, sent } = scripted([failure, ok()])
      assert.equal(await codeOf(client.getEvidence({ externalId: 'e' })), 'ok')
      assert.equal(sent.length, 2)
    }
  })

  it('do not repeat other failures', async () => {
    for (const status of [400, 401, 403, 404, 409, 412, 413, 500]) {
      const { client, sent } = scripted([failed(status), ok()])
      assert.notEqual(await codeOf(client.getEvidence({ externalId: 'e' })), 'ok')
      assert.equal(sent.length, 1, String(status))
    }
  })

  it('repeat a write with the same idempotency key', async () => {
    const { client, sent } = scripted([broken(), failed(503), ok(), ok()])
    await client.createEvidence(evidence)
    await client.createEvidence(evidence)
    const keys = sent.map(({ idempotencyKey }) => idempotencyKey)
    assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/)
    assert.deepEqual([keys[1], keys[2]], [keys[0], keys[0]])
    assert.notEqual(keys[3], keys[0])
  })

  it('use an idempotency key of the caller', async () => {
    const { client, sent } = scripted([ok()])
    await client.createEvidence(evidence, { idempotencyKey: 'mine' })
    assert.equal(sent[0]?.idempotencyKey, 'mine')
  })

  it('repeat a write without an idempotency key only after a rate limit', async () => {
    for (const [failure, expected] of [
      [failed(429), 'ok'],
      [failed(503), 'UNAVAILABLE'],
      [broken(), 'NETWORK_ERROR'],
    ] as const) {
      const { client, sent } = scripted([failure, ok()])
      assert.equal(await codeOf(client.updateSourceSystem({ systemId: 's', active: false })), expected)
      assert.deepEqual([sent[0]?.idempotencyKey, sent.length], [null, expected === 'ok' ? 2 : 1])
    }
  })

  it('end after the configured number', async () => {
    const responses = Array.from({ length: 9 }, broken)
    const { client, sent } = scripted(responses, { retries: 2 })
    assert.equal(await codeOf(client.livez()), 'NETWORK_ERROR')
    assert.equal(sent.length, 3)
  })

  it('wait as long as Retry-After says, unless that is too long', async () => {
    const { client, sent } = scripted([failed(429, { 'retry-after': '1' }), ok()])
    const startedAt = performance.now()
    await client.livez()
    assert.ok(performance.now() - startedAt >= 995)
    assert.equal(sent.length, 2)

    for (const header of ['3600', new Date(Date.now() + 3_600_000).toUTCString()]) {
      const patient = scripted([failed(429, { 'retry-after': header }), ok()])
      assert.equal(await codeOf(patient.client.livez()), 'RATE_LIMITED')
      assert.equal(patient.sent.length, 1)
    }
  })

  it('end when the signal aborts during a pause', async () => {
    const { client, sent } = scripted([failed(429, { 'retry-after': '60' }), ok()])
    const abort = new AbortController()
    const call = client.livez({}, { signal: abort.signal })
    setTimeout(() => abort.abort(new Error('enough')), 20)
    await assert.rejects(call, /enough/)
    assert.equal(sent.length, 1)
  })

  it('send a file again if it can be opened again, and never half of a stream', async () => {
    async function* once(): AsyncGenerator<Uint8Array, void, undefined> {
      yield new Uint8Array(10)
    }
    for (const [content, attempts] of [
      ['text', 2],
      [new Uint8Array(3), 2],
      [new Blob(['x']), 2],
      [once, 2],
      [once(), 1],
    ] as const) {
      const { client, sent } = scripted([failed(503), ok()])
      await codeOf(client.createEvidence({ ...evidence, images: [{ content }] }))
      assert.equal(sent.length, attempts)
    }
  })

  it('reject a response that is not JSON', async () => {
    const { client } = scripted([new Response('<html>a portal of the hotel</html>')])
    assert.equal(await codeOf(client.livez()), 'INVALID_RESPONSE')
    const proxy = scripted([new Response('<html>bad gateway</html>', { status: 502 })], { retries: 0 })
    assert.equal(await codeOf(proxy.client.livez()), 'HTTP_502')
  })
})
