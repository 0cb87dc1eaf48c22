import assert from 'node:assert/strict'
import { before, describe, it, type TestContext } from 'node:test'
import { MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import { logKeys } from '../../core/log/keys.ts'
import { openLogIdentity } from '../../core/log/identity.ts'
import { LogReader } from '../../core/log/reader.ts'
import { sha256Of, u64 } from '../../core/bytes.ts'
import type { Logger, RecordStore, Sealer, SignedHeadKeeper } from '../../core/ports.ts'
import { createSealer, InlineEngine } from '../../sealer/index.ts'
import { compileKernel } from '../../sealer/kernel/kernel.ts'
import { SealerLease } from '../../sealer/lease.ts'
import { FaultyRecords } from '../support/faulty-records.ts'
import { ManualClock, settle, until } from '../support/manual-clock.ts'
import { FIXTURE_SECRET } from '../support/sealer-fixture.ts'

const LEASE_MS = 5_000
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

// Compiled once a process, in real time, which no manual clock waits for.
before(compileKernel)

describe('the lease', () => {
  it('is held by one, renewed by it, and taken over when it has not changed for so long', async () => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const [one, two] = [new SealerLease(records, clock, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    assert.deepEqual([await one.acquire(), await two.acquire()], [true, false])
    for (let i = 0; i < 5; i += 1) {
      await clock.advance(LEASE_MS / 2)
      assert.deepEqual([await one.acquire(), await two.acquire()], [true, false])
    }
    // The first is heard of no more.
    await clock.advance(LEASE_MS - 1)
    assert.equal(await two.acquire(), false)
    await clock.advance(1)
    assert.equal(await two.acquire(), true)
    assert.equal(await one.acquire(), false)
  })

  it('goes over at once where it is released, and only by its holder', async () => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const [one, two] = [new SealerLease(records, clock, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    assert.equal(await one.acquire(), true)
    await two.release()
    assert.equal(await two.acquire(), false)
    await one.release()
    assert.equal(await two.acquire(), true)
  })

  it('compares no clock with another: one that is a day ahead, or is set back, changes nothing', async () => {
    const records = new MemoryRecords()
    const [clock, ahead] = [new ManualClock(), new ManualClock()]
    ahead.set(ahead.now() + 86_400_000)
    const [one, two] = [new SealerLease(records, ahead, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    assert.deepEqual([await one.acquire(), await two.acquire()], [true, false])
    clock.set(clock.now() - 3_600_000)
    assert.equal(await two.acquire(), false)
    await clock.advance(LEASE_MS)
    assert.equal(await two.acquire(), true)
  })

  it('is held by nobody where a commit fails, and by its writer where only the answer was lost', async () => {
    for (const fault of ['before', 'after'] as const) {
      const records = new FaultyRecords(new MemoryRecords())
      const lease = new SealerLease(records, new ManualClock(), LEASE_MS)
      records.failCommit(1, fault)
      if (fault === 'before') await assert.rejects(lease.acquire(), { code: 'UNAVAILABLE' })
      else assert.equal(await lease.acquire(), false)
      assert.equal(await lease.acquire(), true)
    }
  })
})

describe('several sealers', () => {
  async function start(
    t: TestContext,
    records: RecordStore,
    clock: ManualClock,
    signedHead: SignedHeadKeeper,
  ): Promise<Sealer> {
    const identity = await openLogIdentity({ records, secret: FIXTURE_SECRET, clock })
    const sealer = createSealer({ engine: new InlineEngine(), maxWaitMs: 1_000, leaseMs: LEASE_MS })
    t.after(() => sealer.close())
    await sealer.start({ records, signedHead, identity, clock, logger: silent, sharedRecords: true })
    return sealer
  }

  it('seal one at a time; the others remember what was signed and go on where it stops', async (t) => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const heads = [new MemorySignedHead(), new MemorySignedHead()]
    const sealers = [await start(t, records, clock, heads[0]!), await start(t, records, clock, heads[1]!)]
    const reader = new LogReader(records)
    let events = 0
    const append = (): Promise<unknown> => records.commit({ append: sha256Of(u64((events += 1))) })
    const sealedAfter = async (ms: number): Promise<number> => {
      for (let passed = 0; passed < ms; passed += 250) {
        await clock.advance(250)
        await settle()
      }
      return (await reader.treeHead()).size
    }
    await append()
    assert.equal(await sealedAfter(3_000), 2)
    // Both know: the one that sealed, and the one that watched.
    for (const head of heads) assert.equal((await head.read())?.size, 2)
    for (const sealer of sealers) assert.equal(sealer.status().sealedSize, 2)
    const [lease] = await records.get([logKeys.sealerLease()])
    const first = Buffer.from(lease?.value ?? []).toString()

    await sealers[0]?.close()
    await append()
    assert.equal(await sealedAfter(3_000), 3)
    const [taken] = await records.get([logKeys.sealerLease()])
    assert.notEqual(Buffer.from(taken?.value ?? []).toString(), first)
    assert.equal((await heads[1]?.read())?.size, 3)
  })

  it('refuse where a watcher’s memory is not what the store holds', async (t) => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    await start(t, records, clock, new MemorySignedHead())
    const head = new MemorySignedHead()
    const watcher = await start(t, records, clock, head)
    await head.write({ size: 1, root: new Uint8Array(32).fill(9) })
    await records.commit({ append: sha256Of(u64(1)) })
    await until(async () => {
      await clock.advance(250)
      await settle()
      return watcher.status().failures.seal.lastCode !== null
    })
    assert.equal(watcher.status().failures.seal.lastCode, 'LOG_BEHIND_SIGNED')
    assert.equal((await head.read())?.size, 1)
  })
})
