import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { concatBytes } from '../index.ts'
import { assertSame, collect, inChunks, mustGet, rejectsWith, AMPLE, KIB, MIB, type WithStore } from './blob-bodies.ts'

/** Tests of ranges. */
export function testRanges(withStore: WithStore): void {
  test('returns exactly the bytes of a range, and the size of the whole blob', () =>
    withStore(async (store) => {
      const size = 150 * KIB
      const bytes = randomBytes(size)
      await store.put('ranged', inChunks(bytes, 32 * KIB), AMPLE)
      const edges = [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 128 * KIB, size - 1, size]
      for (const start of edges) {
        for (const end of edges.filter((edge) => edge > start)) {
          const blob = await store.get('ranged', { start, end })
          assert.ok(blob)
          assert.equal(blob.size, size)
          assertSame(await collect(blob.body), bytes.subarray(start, end))
        }
      }
    }))

  test('rejects a range that is empty, reversed, beyond the end, or not of integers', () =>
    withStore(async (store) => {
      await store.put('ten', inChunks(randomBytes(10), 10), AMPLE)
      await store.put('empty', inChunks(new Uint8Array(), 1), AMPLE)
      const invalid: readonly (readonly [number, number])[] = [
        [0, 0],
        [10, 10],
        [5, 4],
        [-1, 5],
        [0, 11],
        [10, 11],
        [0.5, 5],
        [0, 5.5],
        [NaN, 5],
        [0, NaN],
        [0, Infinity],
      ]
      for (const [start, end] of invalid) await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('ten', { start, end }))
      await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('empty', { start: 0, end: 1 }))
    }))
}

/** Tests of reads that end early, and of keys without a blob. */
export function testReads(withStore: WithStore): void {
  test('an abort ends a read', () =>
    withStore(async (store) => {
      await store.put('long', inChunks(randomBytes(MIB), 64 * KIB), AMPLE)
      const controller = new AbortController()
      const blob = await store.get('long', undefined, controller.signal)
      assert.ok(blob)
      const reading = (async () => {
        let read = 0
        for await (const chunk of blob.body) {
          read += chunk.length
          controller.abort()
        }
        return read
      })()
      await assert.rejects(reading, { name: 'AbortError' })
    }))

  test('a reader may stop early, and may change the bytes that it received', () =>
    withStore(async (store) => {
      const bytes = randomBytes(300 * KIB)
      await store.put('shared', inChunks(bytes, 64 * KIB), AMPLE)
      for await (const chunk of (await mustGet(store, 'shared')).body) {
        chunk.fill(0)
        break
      }
      await (await mustGet(store, 'shared')).body[Symbol.asyncIterator]().return?.()
      assertSame(await collect((await mustGet(store, 'shared')).body), bytes)
    }))

  test('returns undefined for a key that was never put', () =>
    withStore(async (store) => {
      assert.equal(await store.get('unknown'), undefined)
      assert.equal(await store.get('unknown', { start: 0, end: 1 }), undefined)
    }))
}

/** Tests of deletes. */
export function testDeletes(withStore: WithStore): void {
  test('deletes a blob, also repeatedly', () =>
    withStore(async (store) => {
      await store.delete('gone')
      await store.put('gone', inChunks(randomBytes(KIB), KIB), AMPLE)
      await store.put('stays', inChunks(Buffer.from('stays'), KIB), AMPLE)
      await Promise.all([store.delete('gone'), store.delete('gone')])
      await store.delete('gone')
      assert.equal(await store.get('gone'), undefined)
      assertSame(await collect((await mustGet(store, 'stays')).body), Buffer.from('stays'))
    }))

  test('a delete does not affect bodies that were opened, whether they were read or not', () =>
    withStore(async (store) => {
      const bytes = randomBytes(MIB)
      await store.put('read', inChunks(bytes, 64 * KIB), AMPLE)
      const started = (await mustGet(store, 'read')).body[Symbol.asyncIterator]()
      const first = await started.next()
      assert.equal(first.done, false)
      const fresh = await store.get('read', { start: 10, end: MIB })
      assert.ok(fresh)
      await store.delete('read')
      assert.equal(await store.get('read'), undefined)
      const rest = await collect({ [Symbol.asyncIterator]: () => started })
      assertSame(concatBytes(first.value, rest), bytes)
      assertSame(await collect(fresh.body), bytes.subarray(10))
    }))
}

/** Tests of close. */
export function testClose(withStore: WithStore): void {
  test('rejects every call after it was closed, except close', () =>
    withStore(async (store) => {
      await store.put('before', inChunks(new Uint8Array(1), 1), AMPLE)
      await store.close()
      await rejectsWith('CLOSED', store.put('after', inChunks(new Uint8Array(1), 1), AMPLE))
      await rejectsWith('CLOSED', store.get('before'))
      await rejectsWith('CLOSED', store.delete('before'))
      await store.close()
    }))
}
