import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GuardedBody } from '../../../server/http/guarded-body.ts'
import { MemoryBudget } from '../../../server/http/memory-budget.ts'

const STEP_MS = 10_000
const MIN_BYTES_PER_SECOND = 100
const STEP_BYTES = (MIN_BYTES_PER_SECOND * STEP_MS) / 1_000

/** A body of a sender whose time only `send` changes. */
function slowBody(t: TestContext) {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const request = Object.assign(new PassThrough(), { headers: {}, complete: false })
  const guard = new GuardedBody(request as unknown as IncomingMessage, {
    pace: { idleMs: 3_600_000, minBytesPerSecond: MIN_BYTES_PER_SECOND },
    memory: new MemoryBudget(1_000_000).reserve({ name: 'acme', hasKey: true }),
    maxBytes: 1_000_000,
    tooLarge: '',
  })
  t.after(() => guard.destroy())
  guard.read(0)
  return {
    guard,
    /** Sends bytes after some time. */
    send: async (bytes: number, ms: number): Promise<void> => {
      nowMs += ms
      const arrived = once(request, 'data')
      request.write(Buffer.alloc(bytes))
      await arrived
      // The server asks for the next bytes.
      await nextTurn()
    },
  }
}

describe('the body of a slow sender', () => {
  it('ends below the least rate, once the server has waited a minute for it', async (t) => {
    const { guard, send } = slowBody(t)
    guard.resume()
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += STEP_MS) await send(STEP_BYTES - 1, STEP_MS)
    assert.equal(guard.errored, null)
    await send(STEP_BYTES - 1, STEP_MS)
    assert.match(String(guard.errored), /less than 100 bytes per second/)
  })

  it('goes on at the least rate', async (t) => {
    const { guard, send } = slowBody(t)
    guard.resume()
    for (let i = 0; i < 20; i++) await send(STEP_BYTES, STEP_MS)
    assert.equal(guard.errored, null)
  })

  it('may wait for the server as long as it takes', async (t) => {
    const { guard, send } = slowBody(t)
    // More than the stream holds, so that nothing more is read.
    await send(guard.readableHighWaterMark + 1, 0)
    const later = send(1, 3_600_000)
    guard.resume()
    await later
    await send(1, STEP_MS)
    assert.equal(guard.errored, null)
  })
})
