import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { it, type TestContext } from 'node:test'
import { createWitnessClient } from '../../adapters/witness/index.ts'
import { listenOnLoopback } from '../support/ports.ts'

async function ask(t: TestContext, respond: RequestListener, signal?: AbortSignal): Promise<unknown> {
  const server = createServer(respond)
  t.after(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${await listenOnLoopback(server)}`
  return createWitnessClient().addCheckpoint(url, new Uint8Array(1), signal)
}

it('the response of a witness is read up to 64 KiB', async (t) => {
  const large = ask(t, (_, response) => response.end('x'.repeat(65_537)))
  await assert.rejects(large, { code: 'WITNESS_FAILED' })
})

it('a request to a witness ends with the reason of the signal', async (t) => {
  const ending = new AbortController()
  const added = ask(t, () => ending.abort(new Error('The sealer closes')), ending.signal)
  await assert.rejects(added, { message: 'The sealer closes' })
})
