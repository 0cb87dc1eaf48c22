import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, test } from 'node:test'
import { assertBlobKey, assertBlobRange, HashingBody } from '../../../core/store/blob-calls.ts'
import { sha256 } from '../../../core/bytes.ts'
import { assertCode, collect, inChunks } from '../../contract/blob-bodies.ts'

describe('blob keys and ranges', () => {
  test('a key is a plain path segment', () => {
    for (const key of ['a', '0190f0e2-0000-7000-8000-000000000000', '-', 'x'.repeat(128)]) assertBlobKey(key)
    for (const key of ['', '..', 'a/b', 'a\n', 'x'.repeat(129)]) assert.throws(() => assertBlobKey(key), TypeError)
  })

  test('a range is not empty and lies within the size', () => {
    assertBlobRange({ start: 0, end: 1 }, 1)
    for (const [start, end] of [
      [0, 0],
      [1, 2],
      [-1, 1],
      [0, 2],
      [0, NaN],
    ] as const) {
      assert.throws(
        () => assertBlobRange({ start, end }, 1),
        (error) => {
          assertCode('RANGE_NOT_SATISFIABLE', error)
          return true
        },
      )
    }
  })
})

describe('HashingBody', () => {
  test('passes its chunks on and digests them', async () => {
    const bytes = Buffer.from('some bytes of a body')
    const hashing = new HashingBody(inChunks(bytes, 5), { maxBytes: bytes.length })
    assert.deepEqual(Buffer.from(await collect(hashing)), bytes)
    assert.deepEqual(hashing.digest(), { size: bytes.length, sha256: sha256(bytes) })
    assert.equal(hashing.failure, undefined)
  })

  test('reports its own failure, but not an error of its reader', async () => {
    const tooLong = new HashingBody(inChunks(new Uint8Array(2), 1), { maxBytes: 1 })
    await assert.rejects(collect(tooLong))
    assertCode('PAYLOAD_TOO_LARGE', tooLong.failure?.error)

    const unread = new HashingBody(inChunks(new Uint8Array(2), 1), { maxBytes: 2 })
    const disk = new Error('disk full')
    const reading = (async () => {
      for await (const chunk of unread) if (chunk.length > 0) throw disk
    })()
    await assert.rejects(reading, (error) => error === disk)
    assert.equal(unread.failure, undefined)
  })

  test('leaves no listener on a signal', async () => {
    const { signal } = new AbortController()
    await collect(new HashingBody(inChunks(new Uint8Array(100), 1), { maxBytes: 100, signal }))
    assert.equal(getEventListeners(signal, 'abort').length, 0)
  })

  test('ignores an error of the body after the abort', async () => {
    const controller = new AbortController()
    let fail: (error: Error) => void = () => assert.fail('no chunk was requested yet')
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise((_, reject) => {
            fail = reject
          }),
        return: async () => {
          throw new Error('the body cannot be ended either')
        },
      }),
    }
    const hashing = new HashingBody(body, { maxBytes: 1, signal: controller.signal })
    const reading = collect(hashing)
    await new Promise(setImmediate)
    controller.abort()
    await assert.rejects(reading, { name: 'AbortError' })
    hashing.release()
    // An unhandled rejection would fail this test.
    fail(new Error('reset by peer'))
    await new Promise(setImmediate)
  })
})
