import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { endIfIdle, idlePeriodCounter } from '../../../server/http/idle-client.ts'
import { eventually } from '../../support/eventually.ts'
import { RawRequest } from '../../support/raw-http.ts'

describe('the idle time of a response', () => {
  it('does not hold for the next request of the connection', async () => {
    const timeouts: (number | undefined)[] = []
    const server = createServer((_, response) => {
      if (response.socket === null)
        response.once('socket', (socket) => setImmediate(() => timeouts.push(socket.timeout)))
      else {
        endIfIdle(response, 500_000)
        response.end('x')
      }
    })
    server.setTimeout(300_000)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const request = new RawRequest((server.address() as AddressInfo).port)
    await request.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2))
    await eventually(() => timeouts.length === 1)
    assert.deepEqual(timeouts, [300_000])
    request.disconnect()
    server.close()
  })
})

describe('the idle periods of a client', () => {
  const counts = (reports: readonly (readonly [nowMs: number, bytesWritten: number])[]): readonly number[] => {
    const count = idlePeriodCounter(1_000)
    return reports.map((report) => count(...report))
  }

  it('are counted while nothing is accepted, also if the timer is late', () => {
    const reports = [
      [1_000, 7],
      [2_000, 7],
      [3_001, 7],
      [4_400, 7],
      [5_400, 7],
    ] as const
    assert.deepEqual(counts(reports), [1, 2, 3, 4, 5])
  })

  it('begin again after a period in which a part was accepted, which Node does not report', () => {
    const reports = [
      [2_000, 7],
      [3_000, 7],
      [5_000, 7],
      [6_000, 7],
    ] as const
    assert.deepEqual(counts(reports), [1, 2, 1, 2])
  })

  it('begin again if more was written', () => {
    const reports = [
      [1_000, 7],
      [2_000, 7],
      [3_100, 8],
      [4_100, 8],
    ] as const
    assert.deepEqual(counts(reports), [1, 2, 1, 2])
  })
})
