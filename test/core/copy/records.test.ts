import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { sha256, toHex } from '../../../core/bytes.ts'
import { countOf } from '../../../core/store/counter.ts'
import { decorateRecords } from '../../../core/store/decorate-records.ts'
import { keys } from '../../../core/store/keys.ts'
import { logKeys } from '../../../core/log/keys.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { copyRecords, type CopyRecordsReport } from '../../../core/copy/index.ts'
import { FaultyRecords, type CommitFault } from '../../support/faulty-records.ts'
import { appendsOf } from '../../contract/record-store-pair.ts'

const ENTRIES = 40_000
const COUNTER = keys.evidenceCount('company', 'acme')

/**
 * A source that needs several commits: three chunks of the log, some megabytes, and a record larger than one commit.
 */
async function createSource(): Promise<MemoryRecords> {
  const records = new MemoryRecords()
  await records.commit({ append: appendsOf(new Uint8Array(randomBytes(ENTRIES * 32))) })
  for (let n = 0; n < 9; n += 1) {
    const value = new Uint8Array(n === 4 ? 5_000_000 : 1_500_000).fill(n)
    await records.commit({ writes: [{ key: keys.file(`f-${n}`), value }], adds: [{ key: COUNTER, delta: 3 }] })
  }
  await records.commit({ writes: [{ key: keys.company('~ /%'), value: new Uint8Array() }] })
  await records.commit({ writes: [{ key: logKeys.sealerLease(), value: new Uint8Array([1]) }] })
  return records
}

async function copy(
  from: RecordStore,
  to: RecordStore,
): Promise<CopyRecordsReport & { readonly named: readonly string[] }> {
  const named: string[] = []
  const report = await copyRecords(
    { from, to },
    { onDifference: (subject, message) => named.push(`${subject}: ${message}`), onProgress: () => undefined },
  )
  return { ...report, named }
}

/** Hashes of everything that a store holds, except versions. */
async function contents(store: RecordStore) {
  const records: (readonly [string, string])[] = []
  for await (const { key, value } of store.list({ gte: '', lt: '\x7f' })) records.push([key, toHex(sha256(value))])
  const log = await store.readLog(0, await store.logSize())
  return { records, log: toHex(sha256(log)) }
}

async function assertCopied(from: RecordStore, to: RecordStore): Promise<void> {
  const { records, log } = await contents(from)
  const expected = { records: records.filter(([key]) => key !== logKeys.sealerLease()), log }
  assert.deepEqual(await contents(to), expected)
}

/** Commits to the target in an undisturbed run. */
const COMMITS = 10

describe('copying records', () => {
  it('copies the log and all records except the lease, and does not change the source', async () => {
    const [from, to] = [await createSource(), new FaultyRecords(new MemoryRecords())]
    const before = await contents(from)
    const report = await copy(from, to)
    assert.deepEqual(report, { entries: ENTRIES, records: 11, compared: ENTRIES + 11, differences: 0, named: [] })
    await assertCopied(from, to)
    assert.deepEqual(await contents(from), before)
    assert.equal(to.commits, COMMITS)
    const entry = await from.readLog(33_333, 1)
    assert.deepEqual(await to.positionsOf([entry]), [33_333])
  })

  it('copies counters so that they can be incremented', async () => {
    const [from, to] = [await createSource(), new MemoryRecords()]
    await copy(from, to)
    assert.ok((await to.commit({ adds: [{ key: COUNTER, delta: -2 }] })).ok)
    assert.equal(countOf((await to.get([COUNTER]))[0]), 25)
  })

  for (const fault of ['before', 'after'] as const satisfies readonly CommitFault[])
    it(`continues after a commit that failed ${fault} it was applied`, async () => {
      const from = await createSource()
      for (let nth = 1; nth <= COMMITS; nth += 1) {
        const to = new FaultyRecords(new MemoryRecords())
        to.failCommit(nth, fault)
        await assert.rejects(copy(from, to), { code: fault === 'before' ? 'UNAVAILABLE' : 'UNKNOWN_OUTCOME' })
        assert.equal(to.commits, nth)
        const report = await copy(from, to)
        assert.deepEqual([report.differences, report.compared], [0, ENTRIES + 11], `commit ${nth}`)
        await assertCopied(from, to)
        // What was there is not written again.
        const skipped = COMMITS - (to.commits - nth)
        assert.equal(skipped, fault === 'before' ? nth - 1 : nth, `commit ${nth}`)
      }
    })

  it('copies what changed in the source after an interruption', async () => {
    const [from, to] = [await createSource(), new FaultyRecords(new MemoryRecords())]
    to.failCommit(COMMITS, 'before')
    await assert.rejects(copy(from, to))
    const writes = [
      { key: keys.file('f-0'), value: null },
      { key: keys.file('f-1'), value: new Uint8Array([9]) },
      { key: keys.file('g'), value: new Uint8Array([10]) },
    ]
    await from.commit({ writes, append: appendsOf(new Uint8Array(64).fill(5)) })
    const report = await copy(from, to)
    assert.deepEqual(report, { entries: 2, records: 3, compared: ENTRIES + 2 + 11, differences: 0, named: [] })
    await assertCopied(from, to)
  })

  it('only compares if everything is there, and rejects a target that has changed since', async () => {
    const [from, to] = [await createSource(), new FaultyRecords(new MemoryRecords())]
    await copy(from, to)
    const again = await copy(from, to)
    assert.deepEqual(again, { entries: 0, records: 0, compared: ENTRIES + 11, differences: 0, named: [] })
    await to.commit({ adds: [{ key: COUNTER, delta: 1 }] })
    await assert.rejects(copy(from, to), { code: 'CONFIG_ERROR' })
    assert.equal(to.commits, COMMITS + 1)
  })

  it('rejects a target that holds something else, and does not change it', async () => {
    const from = await createSource()
    const marker = { key: keys.filling(), value: new Uint8Array([1]) }
    const foreign = {
      'a record': { writes: [{ key: keys.operator(), value: new Uint8Array([1]) }] },
      'a log': { append: appendsOf(new Uint8Array(32)) },
      'a copy of another log': { writes: [marker], append: appendsOf(new Uint8Array(32)) },
      'a copy with a longer log': { writes: [marker], append: appendsOf(await from.readLog(0, ENTRIES)) },
    }
    for (const [name, commit] of Object.entries(foreign)) {
      const to = new FaultyRecords(new MemoryRecords())
      await to.commit(commit)
      if (name.endsWith('longer log')) await to.commit({ append: appendsOf(new Uint8Array(32)) })
      const before = await contents(to)
      const commits = to.commits
      await assert.rejects(copy(from, to), { code: 'CONFIG_ERROR' }, name)
      assert.equal(to.commits, commits, name)
      assert.deepEqual(await contents(to), before, name)
    }
  })

  it('rejects a source that is empty or incomplete before it writes to the target', async () => {
    const [from, to] = [new MemoryRecords(), new FaultyRecords(new MemoryRecords())]
    await assert.rejects(copy(from, to), { code: 'CONFIG_ERROR' })
    const half = new FaultyRecords(new MemoryRecords())
    half.failCommit(5, 'before')
    await assert.rejects(copy(await createSource(), half))
    await assert.rejects(copy(half, to), { code: 'CONFIG_ERROR', message: /unfinished copy/ })
    assert.equal(to.commits, 0)
  })

  it('stops when another program fills the target', async () => {
    const [from, to] = [await createSource(), new MemoryRecords()]
    const marker = { key: keys.filling(), value: new Uint8Array([2]) }
    let commits = 0
    const shared: RecordStore = decorateRecords(to, {
      async commit(commit) {
        if (++commits === 3) await to.commit({ writes: [marker] })
        return to.commit(commit)
      },
    })
    await assert.rejects(copy(from, shared), { code: 'UNAVAILABLE', message: /Another program/ })
    assert.equal(commits, 3)
  })

  it('reports what the target returns differently, and keeps it marked as unfinished', async () => {
    const [from, to] = [await createSource(), new MemoryRecords()]
    let lists = 0
    const damaged: RecordStore = decorateRecords(to, {
      async *list(range) {
        // The first call checks if the store is empty, the second copies, the third compares.
        const isDamaged = ++lists === 3
        for await (const entry of to.list(range)) {
          if (isDamaged && entry.key === keys.file('f-2')) continue
          yield isDamaged && entry.key === keys.file('f-3') ? { ...entry, value: new Uint8Array([1]) } : entry
          if (isDamaged && entry.key === keys.file('f-8')) yield { ...entry, key: keys.file('f-9') }
        }
      },
      async readLog(at, count) {
        const log = await to.readLog(at, count)
        if (at <= 20_000 && 20_000 < at + count) log[(20_000 - at) * 32] = ~(log[(20_000 - at) * 32] as number) & 255
        return log
      },
    })
    const { differences, named } = await copy(from, damaged)
    assert.equal(differences, 4)
    assert.deepEqual(named, [
      'log/20000: The target has another entry there',
      'fi/f-2: The target does not have it',
      'fi/f-3: The target has another value',
      'fi/f-9: The source does not have it',
    ])
    assert.notEqual((await to.get([keys.filling()]))[0], undefined)
    assert.equal((await copy(from, to)).differences, 0)
  })
})
