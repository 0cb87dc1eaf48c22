import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe } from 'node:test'
import { concatBytes, decorateBlobs, type BlobStore } from '../../adapters/kit/index.ts'
import { assertBlob, assertSame, collect, mustGet, putBlob, rejectsWith, KIB, MIB } from './blob-bodies.ts'
import { testAborts, testBodies, testBrokenBodies, testConcurrentPuts, testKeys, testLimit } from './blob-store-puts.ts'
import { assertClosed, testsOf, type TestOf } from './rules.ts'

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

/**
 * Tests with node:test everything that the port `BlobStore` promises. Run `durableBlobStoreContract` as well for a
 * store that keeps its content when it is closed.
 *
 * @param name name of the adapter, for the output
 * @param open opens a new, empty store; it is called once per test
 * @example
 * ```ts
 * import { blobStoreContract } from 'evidence-registry/adapter-kit/contract'
 *
 * blobStoreContract('mine', async () => ({ store: await openMine() }))
 * ```
 */
export function blobStoreContract(name: string, open: () => Promise<BlobStoreUnderTest>): void {
  const testSubject = testsOf(open, 'store', async ({ store, dispose }) => {
    await store.close()
    await dispose?.()
  })
  /** Also checks that no put has left a temporary file. */
  const test: TestOf<BlobStore> = (title, run) =>
    testSubject(title, async ({ store, staged }, t) => {
      await run(store, t)
      await store.close()
      assert.deepEqual((await staged?.()) ?? [], [], 'files of unfinished puts were left')
    })

  describe(`BlobStore contract: ${name}`, () => {
    testBodies(test)
    testKeys(test)
    testConcurrentPuts(test)
    testRanges(test)
    testLimit(test)
    testBrokenBodies(test)
    testAborts(test)
    testReads(test)
    testDeletes(test)
    testClose(test)
    test('can do the same in a wrapper', async (store) => {
      assert.equal(decorateBlobs(store, {}).marker, store.marker)
    })
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
  const test = testsOf(open, 'reopen', async ({ dispose }) => dispose?.())
  test(`BlobStore contract: ${name}: it holds the same blobs when it is opened again`, async ({ store, reopen }) => {
    const bytes = randomBytes(100 * KIB)
    await putBlob(store, 'survives', bytes)
    await putBlob(store, 'deleted', bytes)
    await store.delete('deleted')
    await store.close()
    const reopened = await reopen()
    await assertBlob(reopened, 'survives', bytes)
    assert.equal(await reopened.get('deleted'), undefined)
    await rejectsWith('UNAVAILABLE', putBlob(reopened, 'survives', 'x'))
    await reopened.close()
  })
}

/** Tests of ranges. */
function testRanges(test: TestOf<BlobStore>): void {
  test('returns exactly the bytes of a range, and the size of the whole blob', async (store) => {
    const size = 150 * KIB
    const bytes = randomBytes(size)
    await putBlob(store, 'ranged', bytes)
    const edges = [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 128 * KIB, size - 1, size]
    for (const start of edges) {
      for (const end of edges.filter((edge) => edge > start)) {
        const blob = await store.get('ranged', { start, end })
        assert.ok(blob)
        assert.equal(blob.size, size)
        assertSame(await collect(blob.body), bytes.subarray(start, end))
      }
    }
  })

  test('rejects a range that is empty, reversed, beyond the end, or not of integers', async (store) => {
    await putBlob(store, 'ten', randomBytes(10))
    await putBlob(store, 'empty', '')
    const starts = [0, 10, 5, -1, 0, 10, 0.5, 0, NaN, 0, 0]
    const ends = [0, 10, 4, 5, 11, 11, 5, 5.5, 5, NaN, Infinity]
    for (const [i, start] of starts.entries())
      await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('ten', { start, end: ends[i] ?? 0 }))
    await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('empty', { start: 0, end: 1 }))
  })
}

/** Tests of reads that end early, and of keys without a blob. */
function testReads(test: TestOf<BlobStore>): void {
  test('an abort ends a read', async (store) => {
    await putBlob(store, 'long', randomBytes(MIB))
    const controller = new AbortController()
    const blob = await store.get('long', undefined, controller.signal)
    assert.ok(blob)
    const reading = async (): Promise<void> => {
      for await (const _ of blob.body) controller.abort()
    }
    await assert.rejects(reading, { name: 'AbortError' })
  })

  test('a reader may stop early, and may change the bytes that it received', async (store) => {
    const bytes = randomBytes(300 * KIB)
    await putBlob(store, 'shared', bytes)
    for await (const chunk of (await mustGet(store, 'shared')).body) {
      chunk.fill(0)
      break
    }
    await (await mustGet(store, 'shared')).body[Symbol.asyncIterator]().return?.()
    await assertBlob(store, 'shared', bytes)
  })

  test('returns undefined for a key that was never put', async (store) => {
    assert.equal(await store.get('unknown'), undefined)
    assert.equal(await store.get('unknown', { start: 0, end: 1 }), undefined)
  })
}

/** Tests of deletes. */
function testDeletes(test: TestOf<BlobStore>): void {
  test('deletes a blob, also repeatedly', async (store) => {
    await store.delete('gone')
    await putBlob(store, 'gone', randomBytes(KIB))
    await putBlob(store, 'stays', 'stays')
    await Promise.all([store.delete('gone'), store.delete('gone')])
    await store.delete('gone')
    assert.equal(await store.get('gone'), undefined)
    await assertBlob(store, 'stays', 'stays')
  })

  test('a delete does not affect bodies that were opened, whether they were read or not', async (store) => {
    const bytes = randomBytes(MIB)
    await putBlob(store, 'read', bytes)
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
  })
}

/** Tests of close. */
function testClose(test: TestOf<BlobStore>): void {
  test('rejects every call after it was closed, except close', async (store) => {
    await putBlob(store, 'before', 'x')
    await store.close()
    await assertClosed(store, {
      put: () => putBlob(store, 'after', 'x'),
      get: () => store.get('before'),
      delete: () => store.delete('before'),
    })
  })
}
