import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import {
  afterChunks,
  assertSame,
  collect,
  inChunks,
  mustGet,
  rejectsWith,
  AMPLE,
  KIB,
  type WithStore,
} from './blob-bodies.ts'

/** Tests of the limit `maxBytes`. */
export function testLimit(withStore: WithStore): void {
  test('accepts exactly maxBytes, and keeps nothing of a body with one byte more', () =>
    withStore(async (store) => {
      for (const maxBytes of [0, 1, 64 * KIB]) {
        const bytes = randomBytes(maxBytes + 1)
        assert.equal(
          (await store.put(`fits-${maxBytes}`, inChunks(bytes.subarray(1), 4 * KIB), { maxBytes })).size,
          maxBytes,
        )
        await rejectsWith('PAYLOAD_TOO_LARGE', store.put(`over-${maxBytes}`, inChunks(bytes, 4 * KIB), { maxBytes }))
        assert.equal(await store.get(`over-${maxBytes}`), undefined)
      }
    }))

  test('ends an endless body at the limit', () =>
    withStore(async (store) => {
      let yieldedBytes = 0
      let isReturned = false
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) {
            await turn()
            yieldedBytes += KIB
            yield new Uint8Array(KIB)
          }
        } finally {
          isReturned = true
        }
      }
      await rejectsWith('PAYLOAD_TOO_LARGE', store.put('endless', endless(), { maxBytes: 10 * KIB }))
      assert.equal(yieldedBytes, 11 * KIB)
      assert.ok(isReturned)
    }))
}

/** Tests of bodies that fail during a put. */
export function testBrokenBodies(withStore: WithStore): void {
  for (const chunksBefore of [0, 1, 5]) {
    test(`keeps nothing of a body that throws after ${chunksBefore} chunks, and throws its error`, () =>
      withStore(async (store) => {
        const broken = new Error('the connection broke')
        async function* breaking(): AsyncGenerator<Uint8Array> {
          for (let n = 0; n < chunksBefore; n += 1) yield randomBytes(20 * KIB)
          throw broken
        }
        await assert.rejects(store.put('broken', breaking(), AMPLE), (error) => error === broken)
        assert.equal(await store.get('broken'), undefined)
        await store.put('broken', inChunks(Buffer.from('whole'), 5), AMPLE)
        assertSame(await collect((await mustGet(store, 'broken')).body), Buffer.from('whole'))
      }))
  }

  test('keeps nothing of a Node stream that is destroyed', () =>
    withStore(async (store) => {
      const stream = new Readable({ read: () => undefined })
      stream.push(randomBytes(KIB))
      const put = store.put('destroyed', stream, AMPLE)
      await turn()
      stream.destroy(new Error('reset by peer'))
      await assert.rejects(put, /reset by peer/)
      assert.equal(await store.get('destroyed'), undefined)
    }))

  test('a Node stream may break at any time during a put, also during a rejected one', () =>
    withStore(async (store) => {
      await store.put('taken', inChunks(new Uint8Array(1), 1), AMPLE)
      for (const key of ['free', 'taken']) {
        for (let turns = 0; turns < 6; turns += 1) {
          const stream = new Readable({ read: () => undefined })
          const put = store.put(key, stream, AMPLE)
          put.catch(() => undefined)
          for (let n = 0; n < turns; n += 1) await turn()
          // Without a listener this would end the process.
          stream.destroy(new Error('reset by peer'))
          await assert.rejects(put)
          await turn()
        }
      }
      assert.equal(await store.get('free'), undefined)
    }))
}

/** Tests of bodies that a put does not accept. */
export function testRejectedBodies(withStore: WithStore): void {
  test('ends the body of a put that it rejects', () =>
    withStore(async (store) => {
      await store.put('taken', inChunks(new Uint8Array(1), 1), AMPLE)
      const stream = Readable.from([new Uint8Array(1), new Uint8Array(1)])
      await rejectsWith('UNAVAILABLE', store.put('taken', stream, AMPLE))
      await turn()
      assert.ok(stream.destroyed)
    }))

  test('rejects chunks that are not bytes', () =>
    withStore(async (store) => {
      const text: AsyncIterable<Uint8Array> = Readable.from(['text'])
      await assert.rejects(store.put('text', text, AMPLE), TypeError)
      assert.equal(await store.get('text'), undefined)
    }))
}

/** Tests of puts and reads that are aborted. */
export function testAborts(withStore: WithStore): void {
  test('an abort ends a put at once, even if the body hangs, and keeps nothing', () =>
    withStore(async (store) => {
      const controller = new AbortController()
      const reason = new Error('the client disconnected')
      const hanging = afterChunks([randomBytes(KIB)], () => {
        controller.abort(reason)
        return new Promise<never>(() => undefined)
      })
      const put = store.put('aborted', hanging, { ...AMPLE, signal: controller.signal })
      await assert.rejects(put, (error) => error === reason)
      assert.equal(await store.get('aborted'), undefined)
    }))

  test('an abort with the last chunk keeps nothing; an abort after the put changes nothing', () =>
    withStore(async (store) => {
      const late = new AbortController()
      const ending = afterChunks([randomBytes(KIB)], async () => late.abort())
      await assert.rejects(store.put('late', ending, { ...AMPLE, signal: late.signal }), { name: 'AbortError' })
      assert.equal(await store.get('late'), undefined)

      const after = new AbortController()
      await store.put('kept', inChunks(Buffer.from('kept'), 4), { ...AMPLE, signal: after.signal })
      after.abort()
      assertSame(await collect((await mustGet(store, 'kept')).body), Buffer.from('kept'))
    }))

  test('an aborted signal rejects put and get before they begin', () =>
    withStore(async (store) => {
      const signal = AbortSignal.abort()
      let isRead = false
      async function* body(): AsyncGenerator<Uint8Array> {
        isRead = true
        yield new Uint8Array(1)
      }
      await assert.rejects(store.put('never', body(), { ...AMPLE, signal }), { name: 'AbortError' })
      assert.equal(isRead, false)
      assert.equal(await store.get('never'), undefined)
      await store.put('there', inChunks(new Uint8Array(1), 1), AMPLE)
      await assert.rejects(store.get('there', undefined, signal), { name: 'AbortError' })
    }))
}
