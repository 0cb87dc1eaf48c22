import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { Connections, connectionLimit, type ConnectionLimits } from '../../../server/http/connections.ts'
import { eventually } from '../../support/eventually.ts'

describe('the limit of connections', () => {
  it('leaves file descriptors to the stores', () => {
    assert.equal(connectionLimit(10_000, 1_048_576), 10_000)
    assert.equal(connectionLimit(10_000, 4_096), 2_596)
    assert.equal(connectionLimit(10_000, 1_024), 256)
    assert.equal(connectionLimit(100, 1_024), 100)
  })

  /** How many of so many connections of one client are kept. */
  async function keptOf(count: number, limits: ConnectionLimits): Promise<number> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const connections = new Connections()
    connections.limit(server, limits)
    const { port } = server.address() as AddressInfo
    const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => undefined))
    await eventually(() => connections.open + connections.dropped === count)
    const kept = connections.open
    for (const socket of sockets) socket.destroy()
    await eventually(() => connections.open === 0)
    server.close()
    return kept
  }

  it('leaves a third of them to other clients, unless all come from a proxy', async () => {
    assert.equal(await keptOf(9, { max: 9, hasProxy: false }), 6)
    assert.equal(await keptOf(9, { max: 9, hasProxy: true }), 9)
  })
})
