import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decorateRecords, isRegistryError, type RecordStore } from '../../adapters/kit/index.ts'
import { testLog } from './record-store-log.ts'
import {
  bytes,
  counter,
  listAll,
  logAppends,
  logEntries,
  RecordStorePair,
  text,
  type OpenedRecordStore,
} from './record-store-pair.ts'
import { testRaces, testSerializability } from './record-store-races.ts'
import { testListing, testReads } from './record-store-reads.ts'
import { testCounters, testRecords } from './record-store-records.ts'
import { assertClosed, notOffered } from './rules.ts'

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
    testReads(stores)
    testListing(stores)
    testCounters(stores)
    testLog(stores)
    testRaces(stores)
    testWrapper(stores)
    testSerializability(stores, runs)
    testReopen(stores, volatile)
    testClose(open)
    testDamage(open)
  })
}

function testWrapper(stores: RecordStorePair): void {
  it('can do the same in a wrapper: without an eraser, deleted files would stay on disk', async () => {
    const { store } = stores
    const wrapped = decorateRecords(store, {})
    const abilitiesOf = (each: RecordStore): readonly unknown[] => [
      each.eraser,
      each.snapshots,
      each.fileChecker,
      each.isShared,
      each.isPoisoned(),
    ]
    assert.deepEqual(abilitiesOf(wrapped), abilitiesOf(store))
    await stores.commitOk({ writes: [{ key: 'wrapped/a', value: bytes('x') }] })
    await wrapped.eraser?.eraseHistory(['wrapped/a'])
    const snapshot = await wrapped.snapshots?.snapshot()
    if (snapshot !== undefined) assert.equal(await snapshot.logSize(), await store.logSize())
    await snapshot?.close()
  })
}

function testReopen(stores: RecordStorePair, isVolatile: boolean): void {
  it('holds everything that it acknowledged when it is opened again', async (t) => {
    if (isVolatile) return notOffered(t, 'this store is `volatile`')
    const { reopen } = stores.opened
    assert.ok(
      reopen,
      '`open` returned no `reopen`: set the option `volatile` if the store loses its data when it is closed',
    )
    const contents = async (size: number) => ({
      entries: await stores.listAll({ gte: '', lt: '\x7f' }),
      size: await stores.store.logSize(),
      log: new Uint8Array(await stores.store.readLog(0, size)),
      payloads: await stores.payloads(0, size),
    })
    const writes = [{ key: 'reopen/a', value: bytes('x') }]
    const { firstPosition } = await stores.commitOk({ writes, append: logAppends(3_000_000, 3) })
    const size = await stores.store.logSize()
    const acknowledged = await contents(size)
    await stores.close()
    stores.use(await reopen())
    assert.deepEqual(await contents(size), acknowledged)
    assert.deepEqual(await stores.store.positionsOf([logEntries(3_000_002, 1)]), [firstPosition + 2])
    const append = logAppends(4_000_000, 300)
    const next = await stores.commitOk({ writes: [{ key: 'reopen/a', value: null }], append })
    assert.equal(next.firstPosition, size)
    assert.ok(!acknowledged.entries.some((entry) => entry.version === next.version), 'a version was used again')
    assert.deepEqual(new Uint8Array(await stores.store.readLog(size - 1, 301)).subarray(32), logEntries(4_000_000, 300))
    assert.deepEqual(
      await stores.payloads(size, 301),
      append.map(({ payload }) => payload),
    )
  })
}

function testClose(open: () => Promise<OpenedRecordStore>): void {
  it('finishes waiting commits when it is closed, and rejects later calls', async () => {
    const { store: closing, peer: other } = await open()
    const put = (key: string) => closing.commit({ writes: [{ key, value: bytes('') }] })
    const waiting = Array.from({ length: 30 }, (_, i) => put(`close/${i}`))
    const closed = closing.close()
    await assert.rejects(put('close/late'), { code: 'CLOSED' })
    assert.ok((await Promise.all(waiting)).every((result) => result.ok))
    await closed
    await assertClosed(closing, {
      get: () => closing.get(['a']),
      list: () => listAll(closing, { gte: 'a', lt: 'b' }),
      commit: () => closing.commit({}),
      readLog: () => closing.readLog(0, 1),
      readPayloads: () => closing.readPayloads(0, 1),
      logSize: () => closing.logSize(),
      positionsOf: () => closing.positionsOf([]),
    })
    await other?.close()
  })
}

const RECORD = 'damage/record'
const COUNTER = 'damage/counter'

/** Tests that a damaged stored value is never returned and never changed into another one, but is `CORRUPT`. */
function testDamage(open: () => Promise<OpenedRecordStore>): void {
  it('rejects a damaged stored value as CORRUPT, and returns the others', async (t) => {
    for (const key of [RECORD, COUNTER]) {
      const stores = new RecordStorePair(await open())
      const { damage, reopen } = stores.opened
      if (damage === undefined || reopen === undefined) {
        await stores.close()
        return notOffered(t, '`open` returned no `damage`')
      }
      const writes = [{ key: RECORD, value: bytes('as it was written') }]
      await stores.commitOk({ writes, adds: [{ key: COUNTER, delta: 258 }] })
      await stores.close()
      await damage(key)
      await assertDamaged(reopen, key)
    }
  })
}

/** A store may detect the damage when it is opened, or when it reads the value. */
async function assertDamaged(reopen: () => Promise<OpenedRecordStore>, key: string): Promise<void> {
  const opened = await reopen().catch((error: unknown) => assertCorrupt(error))
  if (opened === true) return
  const stores = new RecordStorePair(opened)
  const { store } = stores
  const other = key === RECORD ? COUNTER : RECORD
  await assert.rejects(store.get([key]), assertCorrupt)
  await assert.rejects(store.get([other, key]), assertCorrupt)
  await assert.rejects(stores.listBelow('damage/'), assertCorrupt)
  await assert.rejects(store.commit({ checks: [{ key, version: null }] }), assertCorrupt)
  await assert.rejects(store.commit({ adds: [{ key, delta: 1 }] }), assertCorrupt)
  await assert.rejects(store.get([key]), assertCorrupt)
  const sound = await stores.getOne(other)
  if (other === RECORD) assert.equal(text(sound), 'as it was written')
  else assert.equal(counter(sound), 258n)
  // A repair may overwrite the value.
  await stores.put(key, 'repaired')
  assert.equal(text(await stores.getOne(key)), 'repaired')
  await stores.close()
}

function assertCorrupt(error: unknown): true {
  assert.ok(isRegistryError(error, 'CORRUPT'), `expected CORRUPT, got ${String(error)}`)
  return true
}
