import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { loadConfig } from '../../../server/settings/load.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

async function start(
  t: TestContext,
  address: string,
): Promise<{ url: string; metrics: string; server: ServerProcess }> {
  const server = new ServerProcess(await temporaryFor(t), { EVIDENCE_METRICS_ADDRESS: address })
  t.after(() => server.stop('SIGKILL'))
  const url = await server.ready()
  const line = server.lines.find(({ msg }) => msg === 'serving /metrics')
  assert.ok(line, server.output)
  return { url, metrics: `http://${address.replace(/0$/, String(line['port']))}`, server }
}

describe('EVIDENCE_METRICS_ADDRESS', () => {
  it('serves the operations there, and no metrics at the address of the service', async (t) => {
    const { url, metrics, server } = await start(t, '127.0.0.1:0')
    assert.notEqual(new URL(metrics).port, new URL(url).port)
    const response = await fetch(`${metrics}/metrics`)
    assert.equal(response.status, 200)
    assert.match(await response.text(), /^evidence_log_entries \d+$/m)
    for (const path of ['/livez', '/readyz']) {
      assert.equal((await fetch(`${metrics}${path}`)).status, 200)
      assert.equal((await fetch(`${url}${path}`)).status, 200)
    }
    assert.equal((await fetch(`${url}/metrics`)).status, 404)
    // The service itself is not there.
    for (const path of ['/docs', '/api/v1/openapi.json', '/api/v1/log/checkpoint', '/'])
      assert.equal((await fetch(`${metrics}${path}`)).status, 404, path)
    assert.equal(await server.stop(), 0)
    await assert.rejects(fetch(`${metrics}/metrics`))
  })

  it('can be an IPv6 address, and ends the start if it is not an address, or is in use', async (t) => {
    for (const address of ['9464', 'localhost', '127.0.0.1:', 'a b:1', '::1:9464x'])
      assert.throws(
        () => loadConfig({ args: [], env: { EVIDENCE_METRICS_ADDRESS: address } }),
        /EVIDENCE_METRICS_ADDRESS must be HOST:PORT/,
      )
    const { metrics } = await start(t, '[::1]:0')
    assert.equal((await fetch(`${metrics}/metrics`)).status, 200)
    const second = new ServerProcess(await temporaryFor(t), { EVIDENCE_METRICS_ADDRESS: new URL(metrics).host })
    t.after(() => second.stop('SIGKILL'))
    assert.equal(await second.ended(), 2)
    assert.ok(second.stderr.includes(`cannot listen on ${new URL(metrics).host} (EADDRINUSE)`), second.stderr)
  })
})
