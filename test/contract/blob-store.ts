import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { concatBytes, sha256, toHex } from '../../core/bytes.ts'
import type { BlobStore } from '../../core/ports.ts'
import {
  afterBarrier,
  afterChunks,
  assertCode,
  assertSame,
  collect,
  inChunks,
  createBarrier,
  mustGet,
  rejectsWith,
  throughOneBuffer,
} from './blob-bodies.ts'

/** The store under test. */
export interface BlobStoreUnderTest {
  /** An empty, open store. The suite closes it. */
  readonly store: BlobStore
  /** Returns the names of files of unfinished puts, if the store writes blobs under temporary names first. */
  readonly staged?: () => Promise<readonly string[]>
  /** Called last, after everything was closed. */
  readonly dispose?: () => Promise<void>
}

/** The store under test, which keeps its content when it is closed. */
export interface DurableBlobStoreUnderTest extends BlobStoreUnderTest {
  /** Opens the same content again, after the suite has closed the store. */
  readonly reopen: () => Promise<BlobStore>
}

const KIB = 1024
const MIB = 1024 * KIB
const AMPLE = { maxBytes: 64 * MIB }

/**
 * Tests with node:test everything that the port `BlobStore` promises. Run `durableBlobStoreContract` as well for a
 * store that keeps its content when it is closed.
 *
 * @param name name of the adapter, for the output
 * @param open opens a new, empty store; it is called once per test
 * @example
 * ```ts
 * import { blobStoreContract } from 'evidence-registry/test/contract/blob-store'
 *
 * blobStoreContract('mine', async () => ({ store: await openMine() }))
 * ```
 */
export function blobStoreContract(name: string, open: () => Promise<BlobStoreUnderTest>): void {
  /** Runs one test with a store of its own and closes it. Checks that no put has left a temporary file. */
  const withStore = async (run: (store: BlobStore) => Promise<void>): Promise<void> => {
    const subject = await open()
    try {
      await run(subject.store)
      await subject.store.close()
      assert.deepEqual((await subject.staged?.()) ?? [], [], 'files of unfinished puts were left')
    } finally {
      await subject.store.close()
      await subject.dispose?.()
    }
  }

  describe(`BlobStore contract: ${name}`, () => {
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

    test('rejects every call after it was closed, except close', () =>
      withStore(async (store) => {
        await store.put('before', inChunks(new Uint8Array(1), 1), AMPLE)
        await store.close()
        await rejectsWith('CLOSED', store.put('after', inChunks(new Uint8Array(1), 1), AMPLE))
        await rejectsWith('CLOSED', store.get('before'))
        await rejectsWith('CLOSED', store.delete('before'))
        await store.close()
      }))
  })
}

/**
 * Tests with node:test that a store still holds its content when it is opened again.
 *
 * @param name name of the adapter, for the output
 * @param open opens a new, empty store
 * @example
 * ```ts
 * durableBlobStoreContract('mine', async () => ({ store: await openMine(folder), reopen: () => openMine(folder) }))
 * ```
 */
export function durableBlobStoreContract(name: string, open: () => Promise<DurableBlobStoreUnderTest>): void {
  test(`BlobStore contract: ${name}: it holds the same blobs when it is opened again`, async () => {
    const { store, reopen, dispose } = await open()
    try {
      const bytes = randomBytes(100 * KIB)
      await store.put('survives', inChunks(bytes, 64 * KIB), AMPLE)
      await store.put('deleted', inChunks(bytes, 64 * KIB), AMPLE)
      await store.delete('deleted')
      await store.close()
      const reopened = await reopen()
      assertSame(await collect((await mustGet(reopened, 'survives')).body), bytes)
      assert.equal(await reopened.get('deleted'), undefined)
      await rejectsWith('UNAVAILABLE', reopened.put('survives', inChunks(new Uint8Array(1), 1), AMPLE))
      await reopened.close()
    } finally {
      await dispose?.()
    }
  })
}
