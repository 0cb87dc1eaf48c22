import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import type { BlobStore } from '../index.ts'
import { assertSame, collect, inChunks, mustGet, rejectsWith, AMPLE, KIB, type WithStore } from './blob-bodies.ts'
import { testAborts, testBrokenBodies, testLimit, testRejectedBodies } from './blob-store-failures.ts'
import { testBodies, testConcurrentPuts, testKeys } from './blob-store-puts.ts'
import { testClose, testDeletes, testRanges, testReads } from './blob-store-reads.ts'

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
  /** Runs one test with a store of its own and closes it. Checks that no put has left a temporary file. */
  const withStore: WithStore = async (run) => {
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
    testBodies(withStore)
    testKeys(withStore)
    testConcurrentPuts(withStore)
    testRanges(withStore)
    testLimit(withStore)
    testBrokenBodies(withStore)
    testRejectedBodies(withStore)
    testAborts(withStore)
    testReads(withStore)
    testDeletes(withStore)
    testClose(withStore)
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
