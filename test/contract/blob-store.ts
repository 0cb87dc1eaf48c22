import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { concatBytes, sha256, toHex } from '../../core/bytes.ts'
import type { BlobStore } from '../../core/ports.ts'
import {
  afterChunks,
  afterMeeting,
  assertCode,
  assertSame,
  collect,
  inChunks,
  meetingOf,
  mustGet,
  rejectsWith,
  throughOneBuffer,
} from './blob-bodies.ts'

export interface BlobStoreUnderTest {
  /** Empty, open. The suite closes it. */
  readonly store: BlobStore
  /** Names of whatever unfinished puts have left where the store keeps them; for stores that stage. */
  readonly staged?: () => Promise<readonly string[]>
  /** Called last, with everything closed. */
  readonly dispose?: () => Promise<void>
}

export interface DurableBlobStoreUnderTest extends BlobStoreUnderTest {
  /** Opens the same content again, after the suite closed the store. */
  readonly reopen: () => Promise<BlobStore>
}

const KIB = 1024
const MIB = 1024 * KIB
const ROOMY = { maxBytes: 64 * MIB }

/**
 * What every BlobStore must do, as node:test tests; one that keeps its content also `durableBlobStoreContract`. `open` gives a new and empty store each time it is called.
 * An adapter's whole test is `blobStoreContract('mine', async () => ({ store: await openMine() }))`.
 */
export function blobStoreContract(name: string, open: () => Promise<BlobStoreUnderTest>): void {
  /** One store for one test, closed and disposed of whatever happens; no put may have left anything half done. */
  const withStore = async (run: (store: BlobStore) => Promise<void>): Promise<void> => {
    const subject = await open()
    try {
      await run(subject.store)
      await subject.store.close()
      assert.deepEqual((await subject.staged?.()) ?? [], [], 'something was left in staging')
    } finally {
      await subject.store.close()
      await subject.dispose?.()
    }
  }

  describe(`BlobStore contract: ${name}`, () => {
    for (const size of [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 5 * MIB + 3]) {
      test(`gives back ${size} bytes as they were put, with their size and SHA-256`, () =>
        withStore(async (store) => {
          const bytes = new Uint8Array(randomBytes(size))
          const key = randomUUID()
          const digest = await store.put(key, inChunks(bytes, 48 * KIB), ROOMY)
          assert.equal(digest.size, size)
          assert.equal(toHex(digest.sha256), toHex(sha256(bytes)))
          const found = await mustGet(store, key)
          assert.equal(found.size, size)
          assertSame(await collect(found.body), bytes)
        }))
    }

    test('takes any chunking, also empty chunks and buffers that are used again', () =>
      withStore((store) =>
        fc.assert(
          fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 }), async (chunks) => {
            const want = concatBytes(...chunks)
            const key = randomUUID()
            const digest = await store.put(key, throughOneBuffer(chunks), { maxBytes: want.length })
            assert.equal(digest.size, want.length)
            assert.equal(toHex(digest.sha256), toHex(sha256(want)))
            assertSame(await collect((await mustGet(store, key)).body), want)
          }),
          { numRuns: 40 },
        ),
      ))

    test('takes a Node stream', () =>
      withStore(async (store) => {
        const bytes = randomBytes(200 * KIB)
        await store.put('stream', Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]), ROOMY)
        assertSame(await collect((await mustGet(store, 'stream')).body), bytes)
      }))

    test('reads nothing of the body ahead of what it writes', () =>
      withStore(async (store) => {
        let inFlight = 0
        const counting: AsyncIterable<Uint8Array> = {
          [Symbol.asyncIterator]: () => {
            let left = 20
            return {
              next: async () => {
                inFlight += 1
                assert.equal(inFlight, 1, 'asked for a chunk while another was outstanding')
                await turn()
                inFlight -= 1
                left -= 1
                return left < 0 ? { done: true, value: undefined } : { done: false, value: new Uint8Array(KIB) }
              },
            }
          },
        }
        assert.equal((await store.put('slow', counting, ROOMY)).size, 20 * KIB)
      }))

    test('keys may hold all of A-Z a-z 0-9 _ - up to 128, and nothing else', () =>
      withStore(async (store) => {
        for (const key of ['a', '-', '_', 'Z9', 'k'.repeat(128), randomUUID()]) {
          await store.put(key, inChunks(Buffer.from(key), 16), ROOMY)
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
          await assert.rejects(store.put(key, inChunks(new Uint8Array(1), 1), ROOMY), TypeError)
          await assert.rejects(store.get(key), TypeError)
          await assert.rejects(store.delete(key), TypeError)
        }
      }))

    test('is write-once: a second put is refused and changes nothing', () =>
      withStore(async (store) => {
        await store.put('once', inChunks(Buffer.from('first'), 2), ROOMY)
        for (const second of ['other', 'first', '']) {
          await rejectsWith('UNAVAILABLE', store.put('once', inChunks(Buffer.from(second), 2), ROOMY))
        }
        assertSame(await collect((await mustGet(store, 'once')).body), Buffer.from('first'))
      }))

    test('of 24 puts that race for one key exactly one wins, and its bytes stay', () =>
      withStore(async (store) => {
        const bodies = Array.from({ length: 24 }, () => new Uint8Array(randomBytes(10 * KIB)))
        const meet = meetingOf(bodies.length)
        const results = await Promise.allSettled(
          bodies.map((bytes) => store.put('prize', afterMeeting(meet, bytes), ROOMY)),
        )
        const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []))
        assert.equal(winners.length, 1)
        for (const result of results) if (result.status === 'rejected') assertCode('UNAVAILABLE', result.reason)
        assertSame(await collect((await mustGet(store, 'prize')).body), bodies[winners[0] ?? -1] ?? new Uint8Array())
      }))

    test('puts to different keys do not disturb each other', () =>
      withStore(async (store) => {
        const blobs = Array.from({ length: 24 }, (_, n) => ({ key: `many-${n}`, bytes: randomBytes(n * 7 * KIB + n) }))
        await Promise.all(blobs.map(({ key, bytes }) => store.put(key, inChunks(bytes, 5 * KIB), ROOMY)))
        await Promise.all(
          blobs.map(async ({ key, bytes }) => assertSame(await collect((await mustGet(store, key)).body), bytes)),
        )
      }))

    test('gives exactly the bytes of a range, and the size of the whole', () =>
      withStore(async (store) => {
        const size = 150 * KIB
        const bytes = randomBytes(size)
        await store.put('ranged', inChunks(bytes, 32 * KIB), ROOMY)
        const edges = [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 128 * KIB, size - 1, size]
        for (const start of edges) {
          for (const end of edges.filter((edge) => edge > start)) {
            const found = await store.get('ranged', { start, end })
            assert.ok(found)
            assert.equal(found.size, size)
            assertSame(await collect(found.body), bytes.subarray(start, end))
          }
        }
      }))

    test('refuses a range that is empty, reversed, beyond the end, or not of whole numbers', () =>
      withStore(async (store) => {
        await store.put('ten', inChunks(randomBytes(10), 10), ROOMY)
        await store.put('empty', inChunks(new Uint8Array(), 1), ROOMY)
        const bad: readonly (readonly [number, number])[] = [
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
        for (const [start, end] of bad) await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('ten', { start, end }))
        await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('empty', { start: 0, end: 1 }))
      }))

    test('takes exactly maxBytes, and keeps nothing of one byte more', () =>
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

    test('stops at the limit: an endless body is let go, not read on', () =>
      withStore(async (store) => {
        let given = 0
        let letGo = false
        async function* endless(): AsyncGenerator<Uint8Array> {
          try {
            for (;;) {
              await turn()
              given += KIB
              yield new Uint8Array(KIB)
            }
          } finally {
            letGo = true
          }
        }
        await rejectsWith('PAYLOAD_TOO_LARGE', store.put('endless', endless(), { maxBytes: 10 * KIB }))
        assert.equal(given, 11 * KIB)
        assert.ok(letGo)
      }))

    for (const chunksBefore of [0, 1, 5]) {
      test(`keeps nothing of a body that throws after ${chunksBefore} chunks, and passes its error on`, () =>
        withStore(async (store) => {
          const broken = new Error('the connection broke')
          async function* breaking(): AsyncGenerator<Uint8Array> {
            for (let n = 0; n < chunksBefore; n += 1) yield randomBytes(20 * KIB)
            throw broken
          }
          await assert.rejects(store.put('broken', breaking(), ROOMY), (error) => error === broken)
          assert.equal(await store.get('broken'), undefined)
          await store.put('broken', inChunks(Buffer.from('whole'), 5), ROOMY)
          assertSame(await collect((await mustGet(store, 'broken')).body), Buffer.from('whole'))
        }))
    }

    test('keeps nothing of a Node stream that is destroyed midway', () =>
      withStore(async (store) => {
        const stream = new Readable({ read: () => undefined })
        stream.push(randomBytes(KIB))
        const put = store.put('destroyed', stream, ROOMY)
        await turn()
        stream.destroy(new Error('reset by peer'))
        await assert.rejects(put, /reset by peer/)
        assert.equal(await store.get('destroyed'), undefined)
      }))

    test('a Node stream may break at any moment of a put, also of one that is refused', () =>
      withStore(async (store) => {
        await store.put('taken', inChunks(new Uint8Array(1), 1), ROOMY)
        for (const key of ['free', 'taken']) {
          for (let turns = 0; turns < 6; turns += 1) {
            const stream = new Readable({ read: () => undefined })
            const put = store.put(key, stream, ROOMY)
            put.catch(() => undefined)
            for (let n = 0; n < turns; n += 1) await turn()
            // With nobody listening this would end the process.
            stream.destroy(new Error('reset by peer'))
            await assert.rejects(put)
            await turn()
          }
        }
        assert.equal(await store.get('free'), undefined)
      }))

    test('lets go of the body of a put that it refuses', () =>
      withStore(async (store) => {
        await store.put('taken', inChunks(new Uint8Array(1), 1), ROOMY)
        const stream = Readable.from([new Uint8Array(1), new Uint8Array(1)])
        await rejectsWith('UNAVAILABLE', store.put('taken', stream, ROOMY))
        await turn()
        assert.ok(stream.destroyed)
      }))

    test('refuses chunks that are not bytes', () =>
      withStore(async (store) => {
        const text: AsyncIterable<Uint8Array> = Readable.from(['text'])
        await assert.rejects(store.put('text', text, ROOMY), TypeError)
        assert.equal(await store.get('text'), undefined)
      }))

    test('an abort ends a put at once, also where the body hangs, and keeps nothing', () =>
      withStore(async (store) => {
        const controller = new AbortController()
        const reason = new Error('the client went away')
        const hanging = afterChunks([randomBytes(KIB)], () => {
          controller.abort(reason)
          return new Promise<never>(() => undefined)
        })
        const put = store.put('aborted', hanging, { ...ROOMY, signal: controller.signal })
        await assert.rejects(put, (error) => error === reason)
        assert.equal(await store.get('aborted'), undefined)
      }))

    test('an abort with the last chunk keeps nothing either; one after the put changes nothing', () =>
      withStore(async (store) => {
        const late = new AbortController()
        const ending = afterChunks([randomBytes(KIB)], async () => late.abort())
        await assert.rejects(store.put('late', ending, { ...ROOMY, signal: late.signal }), { name: 'AbortError' })
        assert.equal(await store.get('late'), undefined)

        const after = new AbortController()
        await store.put('kept', inChunks(Buffer.from('kept'), 4), { ...ROOMY, signal: after.signal })
        after.abort()
        assertSame(await collect((await mustGet(store, 'kept')).body), Buffer.from('kept'))
      }))

    test('an aborted signal refuses put and get before they begin', () =>
      withStore(async (store) => {
        const signal = AbortSignal.abort()
        let asked = false
        async function* body(): AsyncGenerator<Uint8Array> {
          asked = true
          yield new Uint8Array(1)
        }
        await assert.rejects(store.put('never', body(), { ...ROOMY, signal }), { name: 'AbortError' })
        assert.equal(asked, false)
        assert.equal(await store.get('never'), undefined)
        await store.put('there', inChunks(new Uint8Array(1), 1), ROOMY)
        await assert.rejects(store.get('there', undefined, signal), { name: 'AbortError' })
      }))

    test('an abort ends a read', () =>
      withStore(async (store) => {
        await store.put('long', inChunks(randomBytes(MIB), 64 * KIB), ROOMY)
        const controller = new AbortController()
        const found = await store.get('long', undefined, controller.signal)
        assert.ok(found)
        const reading = (async () => {
          let read = 0
          for await (const chunk of found.body) {
            read += chunk.length
            controller.abort()
          }
          return read
        })()
        await assert.rejects(reading, { name: 'AbortError' })
      }))

    test('a reader may stop early, and may change what it was given', () =>
      withStore(async (store) => {
        const bytes = randomBytes(300 * KIB)
        await store.put('shared', inChunks(bytes, 64 * KIB), ROOMY)
        for await (const chunk of (await mustGet(store, 'shared')).body) {
          chunk.fill(0)
          break
        }
        await (await mustGet(store, 'shared')).body[Symbol.asyncIterator]().return?.()
        assertSame(await collect((await mustGet(store, 'shared')).body), bytes)
      }))

    test('knows nothing of a key that was never put', () =>
      withStore(async (store) => {
        assert.equal(await store.get('unknown'), undefined)
        assert.equal(await store.get('unknown', { start: 0, end: 1 }), undefined)
      }))

    test('deletes, and deletes again', () =>
      withStore(async (store) => {
        await store.delete('gone')
        await store.put('gone', inChunks(randomBytes(KIB), KIB), ROOMY)
        await store.put('stays', inChunks(Buffer.from('stays'), KIB), ROOMY)
        await Promise.all([store.delete('gone'), store.delete('gone')])
        await store.delete('gone')
        assert.equal(await store.get('gone'), undefined)
        assertSame(await collect((await mustGet(store, 'stays')).body), Buffer.from('stays'))
      }))

    test('a delete does not cut readers that have their body, begun or not', () =>
      withStore(async (store) => {
        const bytes = randomBytes(MIB)
        await store.put('read', inChunks(bytes, 64 * KIB), ROOMY)
        const begun = (await mustGet(store, 'read')).body[Symbol.asyncIterator]()
        const first = await begun.next()
        assert.equal(first.done, false)
        const fresh = await store.get('read', { start: 10, end: MIB })
        assert.ok(fresh)
        await store.delete('read')
        assert.equal(await store.get('read'), undefined)
        const rest = await collect({ [Symbol.asyncIterator]: () => begun })
        assertSame(concatBytes(first.value, rest), bytes)
        assertSame(await collect(fresh.body), bytes.subarray(10))
      }))

    test('refuses everything once it is closed; closing again is no fault', () =>
      withStore(async (store) => {
        await store.put('before', inChunks(new Uint8Array(1), 1), ROOMY)
        await store.close()
        await rejectsWith('CLOSED', store.put('after', inChunks(new Uint8Array(1), 1), ROOMY))
        await rejectsWith('CLOSED', store.get('before'))
        await rejectsWith('CLOSED', store.delete('before'))
        await store.close()
      }))
  })
}

/** What a BlobStore that outlives its process must do besides `blobStoreContract`. */
export function durableBlobStoreContract(name: string, open: () => Promise<DurableBlobStoreUnderTest>): void {
  test(`BlobStore contract: ${name}: what was put and deleted is so in a store opened again`, async () => {
    const { store, reopen, dispose } = await open()
    try {
      const bytes = randomBytes(100 * KIB)
      await store.put('survives', inChunks(bytes, 64 * KIB), ROOMY)
      await store.put('deleted', inChunks(bytes, 64 * KIB), ROOMY)
      await store.delete('deleted')
      await store.close()
      const again = await reopen()
      assertSame(await collect((await mustGet(again, 'survives')).body), bytes)
      assert.equal(await again.get('deleted'), undefined)
      await rejectsWith('UNAVAILABLE', again.put('survives', inChunks(new Uint8Array(1), 1), ROOMY))
      await again.close()
    } finally {
      await dispose?.()
    }
  })
}
