import assert from 'node:assert/strict'
import { Server } from 'node:net'
import { describe, it } from 'node:test'
import { Connections } from '../../../server/http/connections.ts'
import { listen } from '../../../server/http/listen.ts'
import { warningLogger } from '../../support/warning-logger.ts'

describe('listening', () => {
  it('goes on after a connection that could not be accepted', async (t) => {
    const { logger, warnings } = warningLogger()
    const listening = t.mock.method(Server.prototype, 'listen')
    const running = await listen(
      {
        handle: (_, response) => response.end('here'),
        stop: () => undefined,
        connections: new Connections(),
        errorShapeOf: () => 'operation',
      },
      { host: '127.0.0.1', port: 0, headersTimeoutMs: 60_000, uploadIdleMs: 60_000, shutdownMs: 1_000, logger },
    )
    t.after(() => running.close())
    const server = listening.mock.calls[0]?.this
    assert.ok(server instanceof Server)
    server.emit('error', new Error('accept ENOBUFS'))
    assert.deepEqual(warnings, ['a connection could not be accepted'])
    assert.equal(await (await fetch(`http://127.0.0.1:${running.port}/`)).text(), 'here')
  })
})
