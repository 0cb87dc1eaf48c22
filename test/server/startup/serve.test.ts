import assert from 'node:assert/strict'
import { Server, type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { loadConfig } from '../../../server/settings/load.ts'
import { createLogger } from '../../../server/startup/logger.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { serve } from '../../../server/startup/serve.ts'
import { temporaryFor } from '../../support/temporary.ts'

describe('serving', () => {
  it('shows the address in the OpenAPI document from the first request on', async (t) => {
    const dataDir = await temporaryFor(t)
    const args = ['--data-dir', dataDir, '--port', '0', '--tsa', 'none', '--anchor', 'none', '--log-level', 'silent']
    const config = loadConfig({ args: [...args, '--metrics-address', '127.0.0.1:0'], env: {} })
    const logger = createLogger(config.logLevel)
    const opened = await openConfiguredRegistry(config, logger)
    t.after(() => opened.registry.close())

    const servers: Server[] = []
    let document: unknown
    // While the address of the metrics is opened, the service itself already receives a request.
    const originalListen = Reflect.get(Server.prototype, 'listen')
    t.mock.method(Server.prototype, 'listen', function listen(this: Server, ...options: unknown[]) {
      const [service] = servers
      servers.push(this)
      const listenNow = (): Server => Reflect.apply(originalListen, this, options) as Server
      if (service === undefined) return listenNow()
      const { port } = service.address() as AddressInfo
      void fetch(`http://127.0.0.1:${port}/api/v1/openapi.json`)
        .then(async (response) => (document = await response.json()))
        .finally(listenNow)
      return this
    })
    const service = await serve({ config, logger, opened })
    t.after(() => service.close())
    assert.equal(service.url, `http://127.0.0.1:${service.port}`)
    assert.equal(service.publicUrl, service.url)
    assert.deepEqual((document as { servers: unknown }).servers, [{ url: `${service.url}/api/v1` }])
  })
})
