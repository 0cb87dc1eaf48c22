import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import fc from 'fast-check'
import { concatBytes, sha256, toHex } from '../index.ts'
import {
  afterBarrier,
  afterChunks,
  createBarrier,
  assertCode,
  assertSame,
  collect,
  inChunks,
  mustGet,
  rejectsWith,
  throughOneBuffer,
  AMPLE,
  KIB,
  MIB,
  type WithStore,
} from './blob-bodies.ts'

/** Tests of the bodies that a put accepts and returns unchanged. */
export function testBodies(withStore: WithStore): void {
  for (const size of [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 5 * MIB + 3]) {
    test(`returns ${size} bytes unchanged, with their size and SHA-256`, () =>
      withStore(async (store) => {
        const bytes = new Uint8Array(randomBytes(size))
        const key = randomUUID()
        const digest = await store.put(key, inChunks(bytes, 48 * KIB), AMPLE)
        assert.equal(digest.size, size)
        assert.equal(toHex(digest.sha256), toHex(sha256(bytes)))
        const blob = await mustGet(store, key)
        assert.equal(blob.size, size)
        assertSame(await collect(blob.body), bytes)
      }))
  }

  test('accepts chunks of any size, empty ones and reused buffers', () =>
    withStore((store) =>
      fc.assert(
        fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 }), async (chunks) => {
          const expected = concatBytes(...chunks)
          const key = randomUUID()
          const digest = await store.put(key, throughOneBuffer(chunks), { maxBytes: expected.length })
          assert.equal(digest.size, expected.length)
          assert.equal(toHex(digest.sha256), toHex(sha256(expected)))
          assertSame(await collect((await mustGet(store, key)).body), expected)
        }),
        { numRuns: 40 },
      ),
    ))

  test('accepts a Node stream', () =>
    withStore(async (store) => {
      const bytes = randomBytes(200 * KIB)
      await store.put('stream', Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]), AMPLE)
      assertSame(await collect((await mustGet(store, 'stream')).body), bytes)
    }))

  test('requests one chunk of the body at a time', () =>
    withStore(async (store) => {
      let inFlight = 0
      const counting: AsyncIterable<Uint8Array> = {
        [Symbol.asyncIterator]: () => {
          let left = 20
          return {
            next: async () => {
              inFlight += 1
              assert.equal(inFlight, 1, 'a chunk was requested while another one was pending')
              await turn()
              inFlight -= 1
              left -= 1
              return left < 0 ? { done: true, value: undefined } : { done: false, value: new Uint8Array(KIB) }
            },
          }
        },
      }
      assert.equal((await store.put('slow', counting, AMPLE)).size, 20 * KIB)
    }))
}

/** Tests of keys: their characters, and that each is written once. */
export function testKeys(withStore: WithStore): void {
  test('accepts keys of 1 to 128 of A-Z a-z 0-9 _ -, and no others', () =>
    withStore(async (store) => {
      for (const key of ['a', '-', '_', 'Z9', 'k'.repeat(128), randomUUID()]) {
        await store.put(key, inChunks(Buffer.from(key), 16), AMPLE)
        assert.equal(Buffer.from(await collect((await mustGet(store, key)).body)).toString(), key)
      }
      for (const key of [
        '',
        '.',
        '..',
        '../a',
        'a/b',
        'a\\b',
        'a.b',
        '/etc/passwd',
        'a\0',
        'a\n',
        'ä',
        'k'.repeat(129),
      ]) {
        await assert.rejects(store.put(key, inChunks(new Uint8Array(1), 1), AMPLE), TypeError)
        await assert.rejects(store.get(key), TypeError)
        await assert.rejects(store.delete(key), TypeError)
      }
    }))

  test('is write-once: a second put is rejected and changes nothing', () =>
    withStore(async (store) => {
      await store.put('once', inChunks(Buffer.from('first'), 2), AMPLE)
      for (const second of ['other', 'first', '']) {
        await rejectsWith('UNAVAILABLE', store.put('once', inChunks(Buffer.from(second), 2), AMPLE))
      }
      assertSame(await collect((await mustGet(store, 'once')).body), Buffer.from('first'))
    }))
}

/** Tests of puts at the same time. */
export function testConcurrentPuts(withStore: WithStore): void {
  test('a blob can be read only when its put is done', () =>
    withStore(async (store) => {
      const bytes = new Uint8Array(randomBytes(10 * KIB))
      let seen: unknown = 'not read'
      const body = afterChunks([bytes], async () => {
        seen = await store.get('pending')
      })
      await store.put('pending', body, AMPLE)
      assert.equal(seen, undefined)
      assertSame(await collect((await mustGet(store, 'pending')).body), bytes)
    }))

  test('applies exactly one of 24 puts that race for one key', () =>
    withStore(async (store) => {
      const bodies = Array.from({ length: 24 }, () => new Uint8Array(randomBytes(10 * KIB)))
      const arrive = createBarrier(bodies.length)
      const results = await Promise.allSettled(
        bodies.map((bytes) => store.put('prize', afterBarrier(arrive, bytes), AMPLE)),
      )
      const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []))
      assert.equal(winners.length, 1)
      for (const result of results) if (result.status === 'rejected') assertCode('UNAVAILABLE', result.reason)
      assertSame(await collect((await mustGet(store, 'prize')).body), bodies[winners[0] ?? -1] ?? new Uint8Array())
    }))

  test('runs puts to different keys at the same time', () =>
    withStore(async (store) => {
      const blobs = Array.from({ length: 24 }, (_, n) => ({ key: `many-${n}`, bytes: randomBytes(n * 7 * KIB + n) }))
      await Promise.all(blobs.map(({ key, bytes }) => store.put(key, inChunks(bytes, 5 * KIB), AMPLE)))
      await Promise.all(
        blobs.map(async ({ key, bytes }) => assertSame(await collect((await mustGet(store, key)).body), bytes)),
      )
    }))
}
