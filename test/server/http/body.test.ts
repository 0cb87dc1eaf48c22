import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BodyStream } from '../../../server/http/body.ts'

const IDLE_MS = 1_000

/** A body over a request whose bytes the test writes, with a clock that the test moves. */
function openBody(t: TestContext, minBytesPerSecond = 0) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const request = new PassThrough()
  const body = new BodyStream(Object.assign(request, { headers: {} }) as unknown as IncomingMessage, {
    idleMs: IDLE_MS,
    minBytesPerSecond,
    nowMs: Date.now,
  })
  return { request, body, tick: (ms: number) => t.mock.timers.tick(ms) }
}

describe('BodyStream', () => {
  it('reads a slow sender for longer than the idle limit', async (t) => {
    const { request, body, tick } = openBody(t)
    const chunks = body[Symbol.asyncIterator]()
    for (let i = 0; i < 5; i++) {
      const next = chunks.next()
      await nextTurn()
      tick(IDLE_MS - 1)
      request.write(Buffer.of(i))
      assert.deepEqual((await next).value, Buffer.of(i))
    }
    request.end()
    assert.equal((await chunks.next()).done, true)
  })

  it('fails if the sender is silent for the idle limit', async (t) => {
    const { request, body, tick } = openBody(t)
    const chunks = body[Symbol.asyncIterator]()
    request.write('x')
    await chunks.next()
    const next = assert.rejects(chunks.next(), { code: 'MALFORMED_BODY' })
    await nextTurn()
    tick(IDLE_MS)
    await next
  })

  it('does not count the time in which the consumer reads nothing and the buffer is full', async (t) => {
    const { request, body, tick } = openBody(t)
    const chunks = body[Symbol.asyncIterator]()
    request.write(Buffer.alloc(body.readableHighWaterMark))
    await chunks.next()
    request.write(Buffer.alloc(body.readableHighWaterMark))
    await nextTurn()
    assert.equal(body.readableLength, body.readableHighWaterMark)
    tick(10 * IDLE_MS)
    assert.equal((await chunks.next()).done, false)
  })

  it('fails if a sender stays below the least rate for the idle limit, however often it sends a byte', async (t) => {
    const { request, body, tick } = openBody(t, 10)
    const chunks = body[Symbol.asyncIterator]()
    const receive = async (bytes: number): Promise<void> => {
      const next = chunks.next()
      await nextTurn()
      tick(IDLE_MS / 4)
      request.write(Buffer.alloc(bytes))
      await next
    }
    // Ten bytes in each second are enough.
    for (const bytes of [1, 1, 1, 7, 7, 1, 1, 1]) await receive(bytes)
    await assert.rejects(
      async () => {
        for (const bytes of [1, 1, 1, 6, 1]) await receive(bytes)
      },
      { code: 'MALFORMED_BODY', message: /less than 10 bytes per second/ },
    )
  })

  it('fails if the sender disconnects', async (t) => {
    const { request, body } = openBody(t)
    const next = assert.rejects(body[Symbol.asyncIterator]().next(), { code: 'MALFORMED_BODY' })
    await nextTurn()
    request.destroy()
    await next
  })
})
