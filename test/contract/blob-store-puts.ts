import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { concatBytes, sha256, toHex, type BlobStore } from '../../adapters/kit/index.ts'
import {
  afterChunks,
  assertBlob,
  assertCode,
  assertSame,
  collect,
  inChunks,
  mustGet,
  putBlob,
  rejectsWith,
  throughOneBuffer,
  AMPLE,
  KIB,
  MIB,
} from './blob-bodies.ts'
import type { TestOf } from './rules.ts'

/** Tests of the bodies that a put accepts and returns unchanged. */
export function testBodies(test: TestOf<BlobStore>): void {
  for (const size of [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 5 * MIB + 3]) {
    test(`returns ${size} bytes unchanged, with their size and SHA-256`, async (store) => {
      const bytes = new Uint8Array(randomBytes(size))
      const key = randomUUID()
      const digest = await store.put(key, inChunks(bytes, 48 * KIB), AMPLE)
      assert.equal(digest.size, size)
      assert.equal(toHex(digest.sha256), toHex(sha256(bytes)))
      const blob = await mustGet(store, key)
      assert.equal(blob.size, size)
      assertSame(await collect(blob.body), bytes)
    })
  }

  test('accepts chunks of any size, empty ones and reused buffers', (store) =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 }), async (chunks) => {
        const expected = concatBytes(...chunks)
        const key = randomUUID()
        const digest = await store.put(key, throughOneBuffer(chunks), { maxBytes: expected.length })
        assert.equal(digest.size, expected.length)
        assert.equal(toHex(digest.sha256), toHex(sha256(expected)))
        await assertBlob(store, key, expected)
      }),
      { numRuns: 40 },
    ))

  test('accepts a Node stream', async (store) => {
    const bytes = randomBytes(200 * KIB)
    await store.put('stream', Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]), AMPLE)
    await assertBlob(store, 'stream', bytes)
  })

  test('requests one chunk of the body at a time', async (store) => {
    let inFlight = 0
    let left = 20
    const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
      inFlight += 1
      assert.equal(inFlight, 1, 'a chunk was requested while another one was pending')
      await turn()
      inFlight -= 1
      left -= 1
      return left < 0 ? { done: true, value: undefined } : { done: false, value: new Uint8Array(KIB) }
    }
    const counting = { [Symbol.asyncIterator]: () => ({ next }) }
    assert.equal((await store.put('slow', counting, AMPLE)).size, 20 * KIB)
  })
}

/** Tests of keys: their characters, and that each is written once. */
export function testKeys(test: TestOf<BlobStore>): void {
  test('accepts keys of 1 to 128 of A-Z a-z 0-9 _ -, and no others', async (store) => {
    for (const key of ['a', '-', '_', 'Z9', 'k'.repeat(128), randomUUID()]) {
      await putBlob(store, key, key)
      await assertBlob(store, key, key)
    }
    const invalid = ['.', '..', '../a', 'a/b', 'a\\b', 'a.b', '/etc/passwd', 'a\0', 'a\n', 'ä', 'k'.repeat(129)]
    for (const key of ['', ...invalid]) {
      await assert.rejects(putBlob(store, key, 'x'), TypeError)
      await assert.rejects(store.get(key), TypeError)
      await assert.rejects(store.delete(key), TypeError)
    }
  })

  test('is write-once: a second put is rejected and changes nothing', async (store) => {
    await putBlob(store, 'once', 'first')
    for (const second of ['other', 'first', '', 'x'.repeat(100 * KIB)])
      await rejectsWith('UNAVAILABLE', putBlob(store, 'once', second))
    await assertBlob(store, 'once', 'first')
  })
}

/** Tests of puts at the same time. */
export function testConcurrentPuts(test: TestOf<BlobStore>): void {
  test('a blob can be read only when its put is done', async (store) => {
    const bytes = new Uint8Array(randomBytes(10 * KIB))
    let seen: unknown = 'not read'
    const body = afterChunks([bytes], async () => {
      seen = await store.get('pending')
    })
    await store.put('pending', body, AMPLE)
    assert.equal(seen, undefined)
    await assertBlob(store, 'pending', bytes)
  })

  test('applies exactly one of 24 puts that race for one key', async (store) => {
    const bodies = Array.from({ length: 24 }, () => randomBytes(10 * KIB))
    // A body ends only when all have begun, or were rejected: so each put has begun before one of them wins.
    let begun = 0
    let open = (): void => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const racing = async function* (bytes: Uint8Array): AsyncGenerator<Uint8Array> {
      try {
        yield bytes
      } finally {
        begun += 1
        if (begun === bodies.length) open()
      }
      await opened
    }
    const results = await Promise.allSettled(bodies.map((bytes) => store.put('prize', racing(bytes), AMPLE)))
    const winners = bodies.filter((_, index) => results[index]?.status === 'fulfilled')
    assert.equal(winners.length, 1)
    for (const result of results) if (result.status === 'rejected') assertCode('UNAVAILABLE', result.reason)
    await assertBlob(store, 'prize', winners[0] ?? '')
  })

  test('runs puts to different keys at the same time', async (store) => {
    const blobs = Array.from({ length: 24 }, (_, n) => ({ key: `many-${n}`, bytes: randomBytes(n * 7 * KIB + n) }))
    await Promise.all(blobs.map(({ key, bytes }) => store.put(key, inChunks(bytes, 5 * KIB), AMPLE)))
    await Promise.all(blobs.map(({ key, bytes }) => assertBlob(store, key, bytes)))
  })
}

/** Tests of the limit `maxBytes`. */
export function testLimit(test: TestOf<BlobStore>): void {
  test('accepts exactly maxBytes, and keeps nothing of a body with one byte more', async (store) => {
    for (const maxBytes of [0, 1, 64 * KIB]) {
      const bytes = randomBytes(maxBytes + 1)
      const fits = await store.put(`fits-${maxBytes}`, inChunks(bytes.subarray(1), 4 * KIB), { maxBytes })
      assert.equal(fits.size, maxBytes)
      await rejectsWith('PAYLOAD_TOO_LARGE', store.put(`over-${maxBytes}`, inChunks(bytes, 4 * KIB), { maxBytes }))
      assert.equal(await store.get(`over-${maxBytes}`), undefined)
    }
  })

  test('ends an endless body at the limit', async (store) => {
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
  })
}

/** Tests of bodies that fail during a put, or that it does not accept. */
export function testBrokenBodies(test: TestOf<BlobStore>): void {
  for (const chunksBefore of [0, 1, 5]) {
    test(`keeps nothing of a body that throws after ${chunksBefore} chunks, and throws its error`, async (store) => {
      const broken = new Error('the connection broke')
      const chunks = Array.from({ length: chunksBefore }, () => randomBytes(20 * KIB))
      const breaking = afterChunks(chunks, () => Promise.reject(broken))
      await assert.rejects(store.put('broken', breaking, AMPLE), (error) => error === broken)
      assert.equal(await store.get('broken'), undefined)
      await putBlob(store, 'broken', 'whole')
      await assertBlob(store, 'broken', 'whole')
    })
  }

  test('a Node stream may break at any time during a put, also during a rejected one', async (store) => {
    await putBlob(store, 'taken', 'x')
    for (const key of ['free', 'taken']) {
      for (let turns = 0; turns < 6; turns += 1) {
        const stream = new Readable({ read: () => undefined })
        stream.push(randomBytes(KIB))
        const put = store.put(key, stream, AMPLE)
        put.catch(() => undefined)
        for (let n = 0; n < turns; n += 1) await turn()
        // Without a listener this would end the process.
        stream.destroy(new Error('reset by peer'))
        if (key === 'free') await assert.rejects(put, /reset by peer/)
        else await assert.rejects(put)
        await turn()
      }
    }
    assert.equal(await store.get('free'), undefined)
  })

  test('ends the body of a put that it rejects', async (store) => {
    await putBlob(store, 'taken', 'x')
    const stream = Readable.from([new Uint8Array(1), new Uint8Array(1)])
    await rejectsWith('UNAVAILABLE', store.put('taken', stream, AMPLE))
    await turn()
    assert.ok(stream.destroyed)
  })

  test('rejects chunks that are not bytes', async (store) => {
    const text: AsyncIterable<Uint8Array> = Readable.from(['text'])
    await assert.rejects(store.put('text', text, AMPLE), TypeError)
    assert.equal(await store.get('text'), undefined)
  })
}

/** Tests of puts and reads that are aborted. */
export function testAborts(test: TestOf<BlobStore>): void {
  test('an abort ends a put at once, even if the body hangs, and keeps nothing', async (store) => {
    const controller = new AbortController()
    const reason = new Error('the client disconnected')
    const hanging = afterChunks([randomBytes(KIB)], () => {
      controller.abort(reason)
      return new Promise<never>(() => undefined)
    })
    const put = store.put('aborted', hanging, { ...AMPLE, signal: controller.signal })
    await assert.rejects(put, (error) => error === reason)
    assert.equal(await store.get('aborted'), undefined)
  })

  test('an abort with the last chunk keeps nothing; an abort after the put changes nothing', async (store) => {
    const late = new AbortController()
    const ending = afterChunks([randomBytes(KIB)], async () => late.abort())
    await assert.rejects(store.put('late', ending, { ...AMPLE, signal: late.signal }), { name: 'AbortError' })
    assert.equal(await store.get('late'), undefined)

    const after = new AbortController()
    await store.put('kept', inChunks(Buffer.from('kept'), 4), { ...AMPLE, signal: after.signal })
    after.abort()
    await assertBlob(store, 'kept', 'kept')
  })

  test('an aborted signal rejects put and get before they begin', async (store) => {
    const signal = AbortSignal.abort()
    let isRead = false
    async function* body(): AsyncGenerator<Uint8Array> {
      isRead = true
      yield new Uint8Array(1)
    }
    await assert.rejects(store.put('never', body(), { ...AMPLE, signal }), { name: 'AbortError' })
    assert.equal(isRead, false)
    assert.equal(await store.get('never'), undefined)
    await putBlob(store, 'there', 'x')
    await assert.rejects(store.get('there', undefined, signal), { name: 'AbortError' })
  })
}
