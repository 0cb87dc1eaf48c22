import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { sha256, toHex } from '../../../core/bytes.ts'
import { encodeRecords, fillStore, isUnfinishedCopy } from '../../../core/ops/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { countOf } from '../../../core/store/counter.ts'
import { withChecksum } from '../../../core/store/checksum.ts'
import { keys } from '../../../core/store/keys.ts'
import { appendsOf, payloadOf } from '../../contract/record-store-pair.ts'
import { faultyRecords, type CommitFault } from '../../support/faulty-records.ts'
import { flipsOf } from '../../support/store-contents.ts'
import { collect } from '../../contract/blob-bodies.ts'

const COUNTER = keys.evidenceCount(['company', 'acme'])

const streamOf = (store: RecordStore): Promise<Uint8Array> => collect(encodeRecords(store))

/** A stream that arrives in pieces of this size. */
async function* inPieces(bytes: Uint8Array, size = 100): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** A log in several rows, records that need several commits, and one that is larger than a commit. */
async function createStore(entries: number): Promise<MemoryRecords> {
  const store = new MemoryRecords()
  await store.commit({ append: appendsOf(new Uint8Array(randomBytes(entries * 32))) })
  await store.commit({
    writes: [
      { key: keys.company('~ /%'), value: new Uint8Array() },
      { key: keys.file('large'), value: new Uint8Array(5_000_000).fill(7) },
      ...Array.from({ length: 3_000 }, (_, n) => ({ key: keys.file(`f-${n}`), value: new Uint8Array([n % 256]) })),
      { key: logKeys.sealerLease(), value: new Uint8Array([1]) },
    ],
    adds: [{ key: COUNTER, delta: 3 }],
  })
  return store
}

async function contents(store: MemoryRecords) {
  const records: string[] = []
  for await (const { key, value } of store.list({ gte: ' ', lt: '\x7f' }))
    if (key !== logKeys.sealerLease()) records.push(`${key} ${toHex(sha256(value))}`)
  const size = await store.logSize()
  const log = Buffer.from(await store.readLog(0, size))
  return { records, log: log.toString('hex'), payloads: await store.readPayloads(0, size) }
}

const RECORDS = 3_003

describe('the stream of records', () => {
  for (const size of [1_000_000, 4_099])
    it(`fills another store, in pieces of ${size} bytes, and does not change the first one`, async () => {
      const [from, to] = [await createStore(40_000), new MemoryRecords()]
      const before = await contents(from)
      const progress: number[] = []
      const report = await fillStore(inPieces(await streamOf(from), size), to, (done) => progress.push(done))
      assert.deepEqual(report, { entries: 40_000, records: RECORDS })
      assert.deepEqual([progress.at(-1), progress.length > 10], [40_000 + RECORDS, true])
      assert.deepEqual(await contents(to), before)
      assert.deepEqual(await contents(from), before)
      assert.deepEqual((await to.get([logKeys.sealerLease()]))[0], undefined)
      const entry = await from.readLog(31_000, 1)
      assert.deepEqual([...((await to.readPayloads(31_000, 1))[0] ?? [])], [...payloadOf(entry)])
      assert.deepEqual(await to.positionsOf([entry]), [31_000])
      assert.ok((await to.commit({ adds: [{ key: COUNTER, delta: -2 }] })).ok)
      assert.equal(countOf((await to.get([COUNTER]))[0]), 1)
    })

  it('leaves a store marked that does not return what was written to it', async () => {
    const stream = await streamOf(await createStore(10))
    const lost = keys.file('f-7')
    const to = new MemoryRecords()
    const losing = decorateRecords(to, {
      commit: ({ writes = [], ...commit }) =>
        to.commit({ ...commit, writes: writes.filter(({ key }) => key !== lost) }),
    })
    await assert.rejects(fillStore(inPieces(stream, 50_000), losing), { code: 'CORRUPT' })
    assert.equal(await isUnfinishedCopy(to), true)
  })

  for (const fault of ['before', 'after'] as const satisfies readonly CommitFault[])
    it(`leaves a store marked if a commit fails ${fault} it was applied, and fills only an empty one`, async () => {
      const stream = await streamOf(await createStore(5_000))
      const whole = faultyRecords(new MemoryRecords())
      await fillStore(inPieces(stream, 50_000), whole)
      for (let nth = 2; nth <= whole.commits; nth += 1) {
        const to = faultyRecords(new MemoryRecords())
        to.failCommit(nth, fault)
        await assert.rejects(fillStore(inPieces(stream, 50_000), to), {
          code: fault === 'before' ? 'UNAVAILABLE' : 'UNKNOWN_OUTCOME',
        })
        const isComplete = nth === whole.commits && fault === 'after'
        assert.equal(await isUnfinishedCopy(to), !isComplete, `commit ${nth} of ${whole.commits}`)
        await assert.rejects(fillStore(inPieces(stream, 50_000), to), { code: 'CONFIG_ERROR' })
        assert.equal(to.commits, nth)
      }
    })

  it('reads nothing behind a wrong length', async () => {
    let isRead = false
    const stream = async function* () {
      yield Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff)
      isRead = true
    }
    await assert.rejects(fillStore(stream(), new MemoryRecords()), { code: 'CORRUPT' })
    assert.equal(isRead, false)
  })

  it('fills no store that holds something, and does not change it', async () => {
    const stream = await streamOf(await createStore(1))
    const foreign = {
      'a record': { writes: [{ key: keys.operator(), value: new Uint8Array([1]) }] },
      'a log': { append: appendsOf(new Uint8Array(32)) },
    }
    for (const [name, commit] of Object.entries(foreign)) {
      const to = faultyRecords(new MemoryRecords())
      await to.commit(commit)
      await assert.rejects(fillStore(inPieces(stream), to), { code: 'CONFIG_ERROR' }, name)
      assert.equal(to.commits, 1, name)
    }
  })

  it('fills no store that another program begins to fill at the same time', async () => {
    const to = new MemoryRecords()
    const racing = decorateRecords(to, {
      async logSize() {
        await to.commit({ writes: [{ key: keys.filling(), value: new Uint8Array([2]) }] })
        return 0
      },
    })
    const filling = fillStore(inPieces(await streamOf(await createStore(1))), racing)
    await assert.rejects(filling, { code: 'CONFIG_ERROR' })
    assert.deepEqual((await to.get([keys.filling()]))[0]?.value, new Uint8Array([2]))
  })

  it('is refused if it is cut anywhere, any byte of it is flipped, or something follows', async () => {
    const small = new MemoryRecords()
    await small.commit({ append: appendsOf(new Uint8Array(randomBytes(3 * 32))) })
    await small.commit({ writes: [{ key: keys.company('acme'), value: new Uint8Array([1, 2, 3]) }] })
    const stream = await streamOf(small)
    const cuts = Array.from(stream, (_, i) => stream.subarray(0, i))
    const longer = [Buffer.concat([stream, stream]), Buffer.concat([stream, new Uint8Array(1)])]
    for (const [i, damaged] of [...cuts, ...flipsOf(stream), ...longer].entries()) {
      const target = new MemoryRecords()
      const filling = fillStore(inPieces(damaged), target)
      await assert.rejects(filling, { code: 'CORRUPT' }, `case ${i} of ${stream.length} cuts, then flips`)
      assert.ok(await isUnfinishedCopy(target), 'a server would open what was filled so far')
    }
  })

  it('is not made of a log that ends early', async () => {
    const store = decorateRecords(await createStore(300), {
      readPayloads: async (_, count) => Array.from({ length: Math.min(count, 200) }, () => new Uint8Array(1)),
      readLog: async (at, count) => new Uint8Array(32 * Math.min(count, Math.max(0, 200 - at))),
    })
    await assert.rejects(streamOf(store), { code: 'CORRUPT', message: /ends at 200/ })
  })

  it('of a newer format is refused with what to do', async () => {
    const stream = await streamOf(await createStore(1))
    stream.set(withChecksum('H', new Uint8Array([0, 0, 0, 0, 0, 0, 0, 2]), new Uint8Array(8)), 5)
    await assert.rejects(fillStore(inPieces(stream), new MemoryRecords()), { code: 'CONFIG_ERROR' })
  })
})
