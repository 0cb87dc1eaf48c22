import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { bytes, logAppends, logEntries, listAll, RecordStorePair, type OpenedRecordStore } from './record-store-pair.ts'
import { testDamage } from './record-store-damage.ts'
import { testCounters, testListing } from './record-store-listing.ts'
import { testLog } from './record-store-log.ts'
import { testRaces, testSerializability } from './record-store-races.ts'
import { testRecords } from './record-store-records.ts'

export type { OpenedRecordStore } from './record-store-pair.ts'

/** Options of `recordStoreContract`. */
export interface RecordStoreContractOptions {
  /** Number of runs of each property test. Default: 50. */
  readonly runs?: number
  /** True if the data of the store is lost when it is closed, so that `reopen` is not tested. Default: false. */
  readonly volatile?: boolean
}

/**
 * Tests with node:test everything that the port `RecordStore` promises. Most tests share one store and use keys of
 * their own.
 *
 * @param name name of the adapter, for the output
 * @param open opens a new, empty store; it is called more than once, and the suite closes what it opens
 * @param options see `RecordStoreContractOptions`
 * @example
 * ```ts
 * import { recordStoreContract } from 'evidence-registry/adapter-kit/contract'
 *
 * const open = async (folder = temporaryFolder()) => ({ store: await openMine(folder), reopen: () => open(folder) })
 * recordStoreContract('mine', open)
 * ```
 */
export function recordStoreContract(
  name: string,
  open: () => Promise<OpenedRecordStore>,
  { runs = 50, volatile = false }: RecordStoreContractOptions = {},
): void {
  describe(`RecordStore contract: ${name}`, () => {
    const stores = new RecordStorePair()
    before(async () => stores.use(await open()))
    after(() => stores.close())

    testRecords(stores)
    testListing(stores)
    testCounters(stores)
    testLog(stores)
    testRaces(stores)
    testSerializability(stores, runs)
    if (!volatile) testReopen(stores)
    testClose(open)
    testDamage(open)
  })
}

function testReopen(stores: RecordStorePair): void {
  it('holds everything that it acknowledged when it is opened again', async () => {
    const { reopen } = stores.opened
    assert.ok(
      reopen,
      '`open` returned no `reopen`: set the option `volatile` if the store loses its data when it is closed',
    )
    const range = { gte: '', lt: '\x7f' }
    const acknowledged = await stores.commitOk({
      writes: [{ key: 'reopen/a', value: bytes('x') }],
      append: logAppends(3_000_000, 3),
    })
    const entries = await stores.listAll(range)
    const size = await stores.store.logSize()
    const log = new Uint8Array(await stores.store.readLog(0, size))
    const payloads = await stores.payloads(0, size)
    await stores.close()
    stores.use(await reopen())
    assert.deepEqual(await stores.listAll(range), entries)
    assert.equal(await stores.store.logSize(), size)
    assert.deepEqual(new Uint8Array(await stores.store.readLog(0, size)), log)
    assert.deepEqual(await stores.payloads(0, size), payloads)
    assert.deepEqual(await stores.store.positionsOf([logEntries(3_000_002, 1)]), [acknowledged.firstPosition + 2])
    const next = await stores.commitOk({
      writes: [{ key: 'reopen/a', value: null }],
      append: logAppends(4_000_000, 300),
    })
    assert.equal(next.firstPosition, size)
    assert.ok(!entries.some((entry) => entry.version === next.version), 'a version was used again')
    assert.deepEqual(new Uint8Array(await stores.store.readLog(size - 1, 301)).subarray(32), logEntries(4_000_000, 300))
    assert.deepEqual(
      await stores.payloads(size, 301),
      logAppends(4_000_000, 300).map(({ payload }) => payload),
    )
  })
}

function testClose(open: () => Promise<OpenedRecordStore>): void {
  it('finishes waiting commits when it is closed, and rejects later calls', async () => {
    const { store: closing, peer: other } = await open()
    const waiting = Array.from({ length: 30 }, (_, i) =>
      closing.commit({ writes: [{ key: `close/${i}`, value: bytes('') }] }),
    )
    const closed = closing.close()
    const late = closing.commit({ writes: [{ key: 'close/late', value: bytes('') }] })
    const [lateResult] = await Promise.allSettled([late])
    assert.ok((await Promise.all(waiting)).every((result) => result.ok))
    await closed
    assert.equal(lateResult.status, 'rejected')
    const isClosed = { code: 'CLOSED' }
    await assert.rejects(late, isClosed)
    await assert.rejects(closing.get(['a']), isClosed)
    await assert.rejects(listAll(closing, { gte: 'a', lt: 'b' }), isClosed)
    await assert.rejects(closing.commit({}), isClosed)
    await assert.rejects(closing.readLog(0, 1), isClosed)
    await assert.rejects(closing.readPayloads(0, 1), isClosed)
    await assert.rejects(closing.logSize(), isClosed)
    await assert.rejects(closing.positionsOf([]), isClosed)
    await closing.close()
    await other?.close()
  })
}
