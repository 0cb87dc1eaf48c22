import { decorateRecords } from '../../core/store/decorate.ts'
import assert from 'node:assert/strict'
import { before, describe, it, type TestContext } from 'node:test'
import { MemoryCheckpointKeys, MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import { logKeys } from '../../core/log/keys.ts'
import { openLogIdentity, type LogIdentity } from '../../core/log/identity.ts'
import { LogReader } from '../../core/log/reader.ts'
import { sha256Of, u64 } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import type { RecordStore, Sealer, SignedHeadKeeper } from '../../core/ports/index.ts'
import { createSealer, InlineEngine } from '../../sealer/index.ts'
import { compileKernel } from '../../sealer/kernel/kernel.ts'
import { SealerLease } from '../../sealer/lease.ts'
import { assertNoSealer } from '../../sealer/no-sealer.ts'
import { faultyRecords } from '../support/faulty-records.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { FIXTURE_SECRET } from '../support/sealer-fixture.ts'
import { appendsOf } from '../contract/record-store-pair.ts'
import { testSigner } from '../support/test-signer.ts'
import { silentLogger } from '../support/silent-logger.ts'

const LEASE_MS = 5_000

// Compiled once in a process, in real time, which the manual clock does not wait for.
describe('the lease', () => {
  before(compileKernel)
  it('is held and renewed by one sealer, and taken over when it has not changed for the lease time', async () => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const [first, second] = [new SealerLease(records, clock, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    assert.deepEqual([await first.acquire(), await second.acquire()], [true, false])
    for (let i = 0; i < 5; i += 1) {
      await clock.advance(LEASE_MS / 2)
      assert.deepEqual([await first.acquire(), await second.acquire()], [true, false])
    }
    // The first sealer stops renewing.
    await clock.advance(LEASE_MS - 1)
    assert.equal(await second.acquire(), false)
    await clock.advance(1)
    assert.equal(await second.acquire(), true)
    assert.equal(await first.acquire(), false)
  })

  it('is taken over from a holder whose steps fail, and back from one that also fails after the lease time', async () => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const [first, second] = [new SealerLease(records, clock, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    const renewed = async (): Promise<boolean[]> => {
      await clock.advance(LEASE_MS / 2)
      return [await first.acquire(), await second.acquire()]
    }
    assert.deepEqual(await renewed(), [true, false])
    first.noteStep(true)
    first.noteStep(false)
    assert.deepEqual(await renewed(), [true, false])
    // Whichever loop renews it: the outside loops of a sealer that fails do not keep it.
    first.noteStep(true)
    assert.deepEqual(await renewed(), [true, true])
    first.noteStep(true)
    second.noteStep(true)
    assert.deepEqual(await renewed(), [false, true])
    second.noteStep(true)
    assert.deepEqual(await renewed(), [true, false])
  })

  it('is free at once after its holder released it, and only the holder can release it', async () => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const [first, second] = [new SealerLease(records, clock, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    assert.equal(await first.acquire(), true)
    await second.release()
    assert.equal(await second.acquire(), false)
    await first.release()
    assert.equal(await second.acquire(), true)
    // It does not know yet that another one has it.
    await first.release()
    assert.equal(await new SealerLease(records, clock, LEASE_MS).acquire(), false)
  })

  it('compares no clocks: one that is a day ahead or set back changes nothing', async () => {
    const records = new MemoryRecords()
    const [clock, ahead] = [new ManualClock(), new ManualClock()]
    ahead.set(ahead.now() + 86_400_000)
    const [first, second] = [new SealerLease(records, ahead, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    assert.deepEqual([await first.acquire(), await second.acquire()], [true, false])
    clock.set(clock.now() - 3_600_000)
    assert.equal(await second.acquire(), false)
    ahead.set(ahead.now() - 2 * 86_400_000)
    assert.equal(await first.acquire(), true)
    await clock.advance(LEASE_MS)
    assert.equal(await second.acquire(), false, 'the first one, whose clock was set back, has renewed it')
    await clock.advance(LEASE_MS)
    assert.equal(await second.acquire(), true)
  })

  it('of one that was killed is free after the lease time, also if the clock is set back meanwhile', async () => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const [killed, next] = [new SealerLease(records, clock, LEASE_MS), new SealerLease(records, clock, LEASE_MS)]
    assert.deepEqual([await killed.acquire(), await next.acquire()], [true, false])
    clock.set(clock.now() - 3_600_000)
    assert.equal(await next.acquire(), false)
    await clock.advance(LEASE_MS)
    assert.equal(await next.acquire(), true)
  })

  it('shows whether a sealer runs, also in the time after a look, and none that was killed', async () => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const look = () => assertNoSealer(records, { clock, leaseMs: LEASE_MS })
    const running = { code: 'UNAVAILABLE', message: /stop all servers/ }
    const assertNoneSince = await look()
    const lease = new SealerLease(records, clock, LEASE_MS)
    await lease.acquire()
    await assert.rejects(assertNoneSince(), running)
    const during = assert.rejects(look(), running)
    await clock.advance(LEASE_MS / 2)
    await lease.acquire()
    await clock.advance(LEASE_MS / 2)
    await during
    // It was killed: it renews the lease no more.
    const after = look()
    await clock.advance(LEASE_MS)
    await (
      await after
    )()
  })

  it('is not held if a commit fails, is held if only the result was lost, and is released in any case', async () => {
    for (const fault of ['before', 'after'] as const) {
      const records = faultyRecords(new MemoryRecords())
      const lease = new SealerLease(records, new ManualClock(), LEASE_MS)
      records.failCommit(1, fault)
      if (fault === 'before') await assert.rejects(lease.acquire(), { code: 'UNAVAILABLE' })
      else assert.equal(await lease.acquire(), false)
      assert.equal(await lease.acquire(), true)
      records.failCommit(1, fault)
      await lease.release()
    }
  })
})

describe('several sealers', () => {
  before(compileKernel)
  /** In steps, so that the sealers take turns. */
  async function pass(clock: ManualClock, ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 250) {
      await clock.advance(250)
      await settle()
    }
  }

  async function start(
    t: TestContext,
    records: RecordStore,
    clock: ManualClock,
    signedHead: SignedHeadKeeper,
    identity?: LogIdentity,
  ): Promise<Sealer> {
    identity ??= await openLogIdentity({ records, secret: FIXTURE_SECRET, clock, signer: testSigner() })
    const sealer = createSealer({ engine: new InlineEngine(), maxWaitMs: 1_000, leaseMs: LEASE_MS })
    t.after(() => sealer.close())
    const shared = decorateRecords(records, { isShared: true })
    await sealer.start({ records: shared, signedHead, identity, clock, logger: silentLogger })
    return sealer
  }

  it('seal one at a time; the others remember the signed head and continue when the first one stops', async (t) => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const heads = [new MemorySignedHead(), new MemorySignedHead()]
    const sealers = [await start(t, records, clock, heads[0]!), await start(t, records, clock, heads[1]!)]
    const reader = new LogReader(records)
    let events = 0
    const append = (): Promise<unknown> => records.commit({ append: appendsOf(sha256Of(u64((events += 1)))) })
    const sealedAfter = async (ms: number): Promise<number> => {
      await pass(clock, ms)
      return (await reader.tree.head()).size
    }
    await append()
    assert.equal(await sealedAfter(3_000), 2)
    // Both know it: the sealer that sealed, and the one that observed.
    for (const head of heads) assert.equal((await head.read())?.size, 2)
    for (const sealer of sealers) assert.equal(sealer.status().sealedSize, 2)
    // Of another process, after a pause.
    await append()
    assert.equal(await sealedAfter(250), 3)
    const [lease] = await records.get([logKeys.sealerLease()])
    const firstLease = Buffer.from(lease?.value ?? []).toString()

    await sealers[0]?.close()
    await append()
    assert.equal(await sealedAfter(3_000), 4)
    const [taken] = await records.get([logKeys.sealerLease()])
    assert.notEqual(Buffer.from(taken?.value ?? []).toString(), firstLease)
    assert.equal((await heads[1]?.read())?.size, 4)
  })

  it('stop if the signed head of an observer does not match the store', async (t) => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    await start(t, records, clock, new MemorySignedHead())
    const head = new MemorySignedHead()
    const observer = await start(t, records, clock, head)
    await head.write({ size: 1, root: new Uint8Array(32).fill(9) })
    await records.commit({ append: appendsOf(sha256Of(u64(1))) })
    await clock.advanceUntil(250, () => observer.status().failures.seal.lastCode !== null)
    assert.equal(observer.status().failures.seal.lastCode, 'LOG_BEHIND_SIGNED')
    assert.equal((await head.read())?.size, 1)
  })

  it('do not sign again what was lost with a newer state of the records', async (t) => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const heads = [new MemorySignedHead(), new MemorySignedHead()]
    const [first, second] = [await start(t, records, clock, heads[0]!), await start(t, records, clock, heads[1]!)]
    // The first one has signed a tree that only it knows, and the database was replaced by an older state.
    const lost = { size: 9, root: new Uint8Array(32).fill(9) }
    await heads[0]?.write(lost)
    await records.commit({ append: appendsOf(sha256Of(u64(1))) })
    await clock.advanceUntil(1_000, () => second.isSetBack)
    assert.ok(first.isSetBack)
    await first.close()
    await clock.advance(4 * LEASE_MS)
    assert.ok(second.isSetBack)
    assert.equal(await new LogReader(records).checkpoints.latest(), undefined)
  })

  it('let another one seal if they cannot write what they signed, and go on if there is none', async (t) => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    let isFull = true
    const full = new MemorySignedHead()
    const write = full.write.bind(full)
    full.write = async (head) => {
      if (isFull) throw new RegistryError('UNAVAILABLE', 'ENOSPC')
      return write(head)
    }
    const reader = new LogReader(records)
    const isSigned = async (size: number): Promise<boolean> => (await reader.checkpoints.ofSize(size)) !== undefined
    const first = await start(t, records, clock, full)
    await records.commit({ append: appendsOf(sha256Of(u64(1))) })
    await pass(clock, 10_000)
    assert.deepEqual(first.status().currentFailures, ['UNAVAILABLE'])
    isFull = false
    await pass(clock, 6_000)
    assert.equal(await isSigned(2), true)
    isFull = true
    await start(t, records, clock, new MemorySignedHead())
    await records.commit({ append: appendsOf(sha256Of(u64(2))) })
    await pass(clock, 10_000)
    assert.equal(await isSigned(3), true)
  })

  it('let another one seal if they do not have the newest checkpoint key', async (t) => {
    const records = new MemoryRecords()
    const clock = new ManualClock()
    const [oldSeed, newSeed] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
    const identityWith = (...seeds: readonly Uint8Array[]): Promise<LogIdentity> =>
      openLogIdentity({ records, secret: FIXTURE_SECRET, clock, signer: new MemoryCheckpointKeys(seeds) })
    const [behind, complete] = [await identityWith(oldSeed), await identityWith(oldSeed, newSeed)]
    const reader = new LogReader(records)
    const append = (n: number): Promise<unknown> => records.commit({ append: appendsOf(sha256Of(u64(n))) })
    const isSigned = async (size: number): Promise<boolean> => (await reader.checkpoints.ofSize(size)) !== undefined
    const signedWithin = async (size: number): Promise<boolean> => {
      for (let seconds = 0; seconds < 600 && !(await isSigned(size)); seconds += 1) await pass(clock, 1_000)
      return isSigned(size)
    }
    // It gets the lease, because it is alone.
    const first = await start(t, records, clock, new MemorySignedHead(), behind)
    await append(1)
    assert.ok(await signedWithin(2))
    await complete.rotateCheckpointKey()
    await append(2)
    const second = await start(t, records, clock, new MemorySignedHead(), complete)
    assert.ok(await signedWithin(4))
    assert.equal(first.status().failures.seal.lastCode, 'LOG_KEY_MISMATCH')
    assert.equal(second.status().sealedSize, 4)
  })
})
