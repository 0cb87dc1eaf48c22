import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import fc from 'fast-check'
import { MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import { toHex } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import { verifyCheckpoint } from '../../core/log/checkpoint.ts'
import { openLogIdentity } from '../../core/log/identity.ts'
import type { BatchRecord } from '../../core/log/records.ts'
import { decodeRecord } from '../../core/store/record-codec.ts'
import { LogReader } from '../../core/log/reader.ts'
import type { RecordStore, Sealer, SignedHead, TreeEngine } from '../../core/ports.ts'
import { RegistryError } from '../../core/errors.ts'
import { leafHash } from '../../core/log/tree/hasher.ts'
import { rootFromNodes, verifyConsistency, verifyInclusion } from '../../core/log/tree/proof.ts'
import { createSealer, InlineEngine } from '../../sealer/index.ts'
import { nodeTable } from '../support/node-table.ts'
import { FaultyRecords } from '../support/faulty-records.ts'
import { settle, until } from '../support/manual-clock.ts'
import { FIXTURE_SECRET, recordsOf, SealerFixture } from '../support/sealer-fixture.ts'

const benches: SealerFixture[] = []

async function openBench(records?: RecordStore, signedHead?: MemorySignedHead): Promise<SealerFixture> {
  const bench = await SealerFixture.open(records, signedHead)
  benches.push(bench)
  return bench
}

async function entriesOf(records: RecordStore): Promise<readonly Uint8Array[]> {
  const packed = await records.readLog(0, await records.logSize())
  return Array.from({ length: packed.length / 32 }, (_, i) => packed.subarray(i * 32, i * 32 + 32))
}

async function batchesOf(records: RecordStore): Promise<readonly BatchRecord[]> {
  const batches: BatchRecord[] = []
  for await (const entry of records.list(logKeys.batchesFrom(0))) batches.push(decodeRecord<BatchRecord>(entry))
  return batches
}

/** What must hold of every log, whatever happened to it: one chain of batches, a true root and a signed checkpoint for each. */
async function assertWhole(bench: SealerFixture): Promise<void> {
  const { records, identity, reader } = bench
  const entries = await entriesOf(records)
  const source = nodeTable(entries)
  let before: BatchRecord | undefined
  for (const batch of await batchesOf(records)) {
    assert.equal(batch.start, before?.end ?? 0)
    assert.equal(batch.previous, before?.id ?? null)
    assert.ok(batch.createdAt >= (before?.createdAt ?? 0))
    assert.equal(batch.root, toHex(rootFromNodes(batch.end, source)))
    assert.deepEqual(await reader.batchById(batch.id), batch)
    const checkpoint = await reader.checkpoint(batch.end)
    const key = identity.keys.findLast(({ position }) => position < batch.end)
    assert.deepEqual(verifyCheckpoint(checkpoint?.note ?? '', key?.verifierKey ?? ''), {
      origin: identity.origin,
      size: batch.end,
      root: rootFromNodes(batch.end, source),
    })
    before = batch
  }
  const head = await reader.treeHead()
  assert.deepEqual([head.size, head.batchId, head.time], [before?.end ?? 0, before?.id ?? null, before?.createdAt ?? 0])
  assert.equal(toHex(await reader.rootAt(head.size)), head.root)
  const signed = await bench.signedHead.read()
  assert.equal(signed?.size ?? 0, head.size)
}

describe('sealing', () => {
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  it('seals what the log holds: one batch, its tiles, its checkpoint, the signed head', async () => {
    const bench = await openBench()
    const sealer = await bench.start()
    await bench.append(9)
    await sealer.sealNow()
    assert.deepEqual(
      (await batchesOf(bench.records)).map(({ start, end }) => [start, end]),
      [[0, 10]],
    )
    await assertWhole(bench)
    const { sealedSize, logSize, lastBatchAt, failures } = sealer.status()
    assert.deepEqual([sealedSize, logSize, lastBatchAt], [10, 10, bench.clock.now()])
    assert.deepEqual(failures.seal, { count: 0, lastCode: null })
  })

  it('gives the same tiles and roots, however the log is cut into batches', async () => {
    for (const size of [255, 256, 257, 511, 512, 513, 1_000]) {
      const whole = await openBench()
      const sealer = await whole.start()
      await whole.append(size - 1)
      await sealer.sealNow()
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: size - 2 }), { maxLength: 8 }), async (cuts) => {
          const cut = await SealerFixture.open()
          const other = await cut.start()
          let at = 0
          for (const end of [...cuts.sort((a, b) => a - b), size - 1]) {
            await cut.append(end - at)
            await other.sealNow()
            at = end
          }
          assert.deepEqual(await recordsOf(cut.records, 'ti'), await recordsOf(whole.records, 'ti'))
          assert.equal((await cut.reader.treeHead()).root, (await whole.reader.treeHead()).root)
          assert.equal((await batchesOf(cut.records)).length, cuts.length + 1)
          await assertWhole(cut)
          await cut.close()
        }),
        { numRuns: 4 },
      )
    }
  })

  it('goes over the edge of the third tile level: 65,535, 65,536, 65,537 leaves and one batch of all', async () => {
    const bench = await openBench()
    const sealer = await bench.start({ maxLeaves: 100_000 })
    for (const add of [65_534, 1, 1]) {
      await bench.append(add)
      await sealer.sealNow()
    }
    const once = await openBench()
    const other = await once.start({ maxLeaves: 100_000 })
    await once.append(65_536)
    await other.sealNow()
    assert.deepEqual(await recordsOf(bench.records, 'ti'), await recordsOf(once.records, 'ti'))
    assert.equal((await recordsOf(once.records, 'ti')).size, 257 + 1 + 1)
    await assertWhole(bench)
    // Proofs from tiles across all three levels.
    const entries = await entriesOf(bench.records)
    for (const size of [65_535, 65_536, 65_537])
      for (const position of [0, 255, 256, 65_279, 65_534]) {
        const proof = await bench.reader.inclusionProof(position, size)
        const leaf = leafHash(entries[position] as Uint8Array)
        const root = await bench.reader.rootAt(size)
        assert.ok(verifyInclusion({ leafHash: leaf, leafIndex: position, treeSize: size, proof, root }))
      }
    const [fromSize, toSize] = [65_535, 65_537]
    const [fromRoot, toRoot] = [await bench.reader.rootAt(fromSize), await bench.reader.rootAt(toSize)]
    const proof = await bench.reader.consistencyProof(fromSize, toSize)
    assert.ok(verifyConsistency({ fromSize, fromRoot, toSize, toRoot, proof }))
  })

  it('reads a bounded number of entries and records, however large the tree is', async () => {
    const bench = await openBench()
    const sealer = await bench.start()
    await bench.append(20_000)
    await sealer.sealNow()
    let entries = 0
    let tiles = 0
    const counting: RecordStore = Object.assign(Object.create(bench.records) as RecordStore, {
      readLog: (from: number, count: number) => ((entries += count), bench.records.readLog(from, count)),
      get: (wanted: readonly string[]) => (
        (tiles += wanted.filter((key) => key.startsWith('ti/')).length),
        bench.records.get(wanted)
      ),
      logSize: () => bench.records.logSize(),
      list: (range: Parameters<RecordStore['list']>[0]) => bench.records.list(range),
      commit: (commit: Parameters<RecordStore['commit']>[0]) => bench.records.commit(commit),
    })
    const second = await bench.start({}, counting)
    ;[entries, tiles] = [0, 0]
    await bench.append(3)
    await second.sealNow()
    assert.ok(entries <= 255 + 3 + 16, `${entries} entries`)
    assert.ok(tiles <= 16, `${tiles} tiles`)
    await assertWhole(bench)
  })

  it('begins no batch for key and token entries, and takes them along with the next event', async () => {
    const bench = await openBench()
    const sealer = await bench.start({ maxWaitMs: 1_000 })
    await bench.clock.advance(10_000)
    await sealer.sealNow()
    assert.equal((await bench.reader.treeHead()).size, 0)
    for (let i = 0; i < 20; i++) await bench.identity.rotateCheckpointKey()
    await bench.clock.advance(10_000)
    await sealer.sealNow()
    assert.equal((await bench.reader.treeHead()).size, 0)
    await bench.append(1)
    sealer.notify()
    await bench.clock.advance(1_001)
    assert.equal((await bench.reader.treeHead()).size, 22)
    await assertWhole(bench)
  })

  it('closes a batch when its oldest event is maxWait old, not later for those that follow', async () => {
    const bench = await openBench()
    const sealer = await bench.start({ maxWaitMs: 5_000 })
    await bench.append(1)
    sealer.notify()
    for (let second = 1; second <= 4; second++) {
      await bench.clock.advance(1_000)
      await bench.append(1)
      sealer.notify()
    }
    await bench.clock.advance(998)
    assert.equal((await bench.reader.treeHead()).size, 0)
    await bench.clock.advance(2)
    assert.equal((await bench.reader.treeHead()).size, 6)
    await bench.append(1)
    sealer.notify()
    await bench.clock.advance(4_998)
    assert.equal((await bench.reader.treeHead()).size, 6)
    await bench.clock.advance(2)
    assert.equal((await bench.reader.treeHead()).size, 7)
    await assertWhole(bench)
  })

  it('closes a batch when it is full, and seals a backlog back to back', async () => {
    const bench = await openBench()
    const sealer = await bench.start({ maxLeaves: 100 })
    await bench.append(350)
    sealer.notify()
    await bench.clock.advance(300)
    assert.deepEqual(
      (await batchesOf(bench.records)).map(({ end }) => end),
      [100, 200, 300],
    )
    await sealer.sealNow()
    assert.deepEqual(
      (await batchesOf(bench.records)).map(({ end }) => end),
      [100, 200, 300, 351],
    )
    await assertWhole(bench)
  })

  it('hashes the next batch of a backlog ahead, and again where that failed or another sealer came first', async () => {
    const bench = await openBench()
    const inline = new InlineEngine()
    const rows: number[] = []
    let failing: 'ENGINE_FAILED' | 'UNAVAILABLE' | undefined
    const engine: TreeEngine = {
      tiles: async (row, kind) => {
        if (kind === 'entries') rows.push(row.length / 32)
        if (failing !== undefined && rows.length === 2) throw new RegistryError(failing, 'Injected')
        return inline.tiles(row, kind)
      },
      close: () => inline.close(),
    }
    const sealer = await bench.start({ maxLeaves: 256, engine })
    await bench.append(4 * 256 - 1)
    await sealer.sealNow()
    // Each row once: what was made ahead is used.
    assert.deepEqual(rows, [256, 256, 256, 256])
    for (failing of ['ENGINE_FAILED', 'UNAVAILABLE'] as const) {
      rows.length = 0
      await bench.append(3 * 256)
      await (failing === 'UNAVAILABLE' ? assert.rejects(sealer.sealNow(), { code: failing }) : sealer.sealNow())
      assert.equal(rows.length, failing === 'UNAVAILABLE' ? 2 : 3)
    }
    failing = undefined
    await sealer.sealNow()
    rows.length = 0
    const other = await bench.start({ maxLeaves: 100 })
    await bench.append(1000)
    await Promise.all([sealer.sealNow(), other.sealNow()])
    assert.equal((await bench.reader.treeHead()).size, await bench.records.logSize())
    await assertWhole(bench)
  })

  it('sees events of other processes without being told', async () => {
    const bench = await openBench()
    await bench.start({ maxWaitMs: 0, pollIntervalMs: 1_000 })
    await settle()
    await bench.append(4)
    await bench.clock.advance(1_000)
    assert.equal((await bench.reader.treeHead()).size, 5)
  })

  it('keeps a batch open no longer where the clock is set back, and its time does not fall', async () => {
    const bench = await openBench()
    const sealer = await bench.start({ maxWaitMs: 5_000 })
    await bench.append(1)
    await sealer.sealNow()
    await bench.append(1)
    sealer.notify()
    await settle()
    bench.clock.set(bench.clock.now() - 3_600_000)
    await bench.clock.advance(5_250)
    assert.equal((await bench.reader.treeHead()).size, 3)
    await assertWhole(bench)
  })

  it('signs with a new key from the batch that holds its entry', async () => {
    const bench = await openBench()
    const sealer = await bench.start()
    await bench.append(2)
    await sealer.sealNow()
    await bench.identity.rotateCheckpointKey()
    await bench.append(2)
    await sealer.sealNow()
    await assertWhole(bench)
    const [oldKey, newKey] = bench.identity.keys.map(({ verifierKey }) => verifierKey) as [string, string]
    verifyCheckpoint((await bench.reader.checkpoint(3))?.note ?? '', oldKey)
    verifyCheckpoint((await bench.reader.checkpoint(6))?.note ?? '', newKey)
  })
})

describe('sealing beside others', () => {
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  it('signs with a key that another process added', async () => {
    const bench = await openBench()
    const sealer = await bench.start()
    const { records, clock } = bench
    const other = await openLogIdentity({ records, clock, secret: FIXTURE_SECRET })
    const added = await other.rotateCheckpointKey()
    await bench.append(1)
    await sealer.sealNow()
    assert.equal(verifyCheckpoint((await bench.reader.checkpoint(3))?.note ?? '', added.verifierKey).size, 3)
    await assertWhole(bench)
  })

  it('asks the store no more often the more often it is told', async () => {
    const bench = await openBench()
    let asked = 0
    const counting: RecordStore = Object.assign(Object.create(bench.records) as RecordStore, {
      logSize: () => (asked++, bench.records.logSize()),
      get: (wanted: readonly string[]) => bench.records.get(wanted),
      readLog: (from: number, count: number) => bench.records.readLog(from, count),
      list: (range: Parameters<RecordStore['list']>[0]) => bench.records.list(range),
    })
    const sealer = await bench.start({ maxWaitMs: 5_000 }, counting)
    for (let i = 0; i < 1_000; i++) {
      await bench.append(1)
      sealer.notify()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.ok(asked < 10, `${asked} times`)
  })
})

describe('sealing where things fail', () => {
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  it('comes through a restart at every commit, failed or applied with its answer lost', async () => {
    for (const fault of ['before', 'after'] as const)
      for (let nth = 1; nth <= 4; nth++) {
        const bench = await openBench()
        const faulty = new FaultyRecords(bench.records)
        const sealer = await bench.start({}, faulty)
        // Two batches are two commits each: the batch, then its checkpoint.
        faulty.failCommit(nth, fault)
        const run = async (): Promise<void> => {
          await bench.append(3)
          await sealer.sealNow()
          await bench.append(300)
          await sealer.sealNow()
        }
        await assert.rejects(run(), { code: fault === 'before' ? 'UNAVAILABLE' : 'UNKNOWN_OUTCOME' })
        await sealer.close()
        const missing = 304 - (await bench.records.logSize())
        if (missing > 0) await bench.append(missing)
        const next = await bench.start()
        await next.sealNow()
        assert.equal((await bench.reader.treeHead()).size, 304)
        await assertWhole(bench)
      }
  })

  it('goes on by itself after a failure, counted and logged by its code', async () => {
    const bench = await openBench()
    const faulty = new FaultyRecords(bench.records)
    const sealer = await bench.start({ maxWaitMs: 0 }, faulty)
    await settle()
    faulty.failCommit(1, 'before')
    faulty.failCommit(2, 'after')
    await bench.append(3)
    sealer.notify()
    await bench.clock.advance(10_000)
    assert.deepEqual(sealer.status().failures.seal, { count: 2, lastCode: 'UNKNOWN_OUTCOME' })
    assert.equal(bench.lines.filter(({ level }) => level === 'warn').length, 2)
    await assertWhole(bench)
    assert.equal((await bench.reader.treeHead()).size, 4)
  })

  it('does not show a checkpoint before the signed head is durable', async () => {
    class FailingHead extends MemorySignedHead {
      fault: 'before' | 'after' | undefined
      override async write(head: SignedHead): Promise<void> {
        const { fault } = this
        this.fault = undefined
        if (fault === 'before') throw new RegistryError('UNAVAILABLE', 'Injected')
        await super.write(head)
        if (fault === 'after') throw new RegistryError('UNKNOWN_OUTCOME', 'Injected')
      }
    }
    for (const fault of ['before', 'after'] as const) {
      const signedHead = new FailingHead()
      const bench = await openBench(new MemoryRecords(), signedHead)
      const sealer = await bench.start()
      await bench.append(3)
      signedHead.fault = fault
      await assert.rejects(sealer.sealNow())
      assert.equal((await bench.reader.treeHead()).size, 4)
      assert.equal(await bench.reader.checkpoint(4), undefined)
      await bench.start()
      await assertWhole(bench)
    }
  })

  it('never signs two trees of one size, nor a smaller one: LOG_BEHIND_SIGNED', async () => {
    const bench = await openBench()
    const sealer = await bench.start()
    await bench.append(10)
    await sealer.sealNow()
    const signed = (await bench.signedHead.read()) as SignedHead
    // A store that was set back to before the batch.
    const older = await openBench(new MemoryRecords(), bench.signedHead as MemorySignedHead)
    await assert.rejects(older.start(), { code: 'LOG_BEHIND_SIGNED', message: /set back/ })
    // A store with another history at that size.
    const other = await openBench(new MemoryRecords(), new MemorySignedHead())
    const otherSealer = await other.start()
    await other.append(4)
    await other.append(8)
    await otherSealer.sealNow()
    await other.signedHead.write(signed)
    await assert.doesNotReject(assertSigned(other), 'the same entries in other commits are the same tree')
    await other.signedHead.write({ size: 11, root: new Uint8Array(32) })
    await assert.rejects(other.start(), { code: 'LOG_BEHIND_SIGNED' })
    // And while it runs: the next checkpoint is not signed.
    await other.append(1)
    await assert.rejects(otherSealer.sealNow(), { code: 'LOG_BEHIND_SIGNED' })
    assert.equal(await other.reader.checkpoint(14), undefined)
  })

  async function assertSigned(bench: SealerFixture): Promise<void> {
    await (await bench.start()).close()
  }

  it('refuses a log whose last entries are not those that were sealed, and tiles that do not fit the head', async () => {
    const bench = await openBench()
    const sealer = await bench.start()
    await bench.append(10)
    await sealer.sealNow()
    await bench.append(1)
    const flipped: RecordStore = Object.assign(Object.create(bench.records) as RecordStore, {
      readLog: async (from: number, count: number) => {
        const packed = await bench.records.readLog(from, count)
        if (from === 0) packed[5 * 32] = (packed[5 * 32] as number) ^ 1
        return packed
      },
      get: (wanted: readonly string[]) => bench.records.get(wanted),
      logSize: () => bench.records.logSize(),
      list: (range: Parameters<RecordStore['list']>[0]) => bench.records.list(range),
      commit: (commit: Parameters<RecordStore['commit']>[0]) => bench.records.commit(commit),
    })
    const misled = await bench.start({}, flipped)
    await assert.rejects(misled.sealNow(), { code: 'CORRUPT' })
    assert.equal((await bench.reader.treeHead()).size, 11)
    await misled.close()
    const [tile] = await bench.records.get([logKeys.tile(0, 0)])
    const shorter: RecordStore = Object.assign(Object.create(bench.records) as RecordStore, {
      logSize: async () => 10,
      get: (wanted: readonly string[]) => bench.records.get(wanted),
    })
    await assert.rejects(bench.start({}, shorter), { code: 'CORRUPT', message: /fewer than the 11/ })
    assert.ok(tile)
    const broken = tile.value.map((byte) => byte ^ 1)
    await bench.records.commit({ writes: [{ key: logKeys.tile(0, 0), value: broken }] })
    await assert.rejects(bench.start(), { code: 'CORRUPT' })
    await bench.records.commit({ writes: [{ key: logKeys.tile(0, 0), value: null }] })
    await assert.rejects(bench.start(), { code: 'CORRUPT' })
  })

  it('seals once where two sealers race, and each goes on from the other’s batch', async () => {
    const bench = await openBench()
    const heads = [new MemorySignedHead(), new MemorySignedHead(), new MemorySignedHead()]
    const sealers: Sealer[] = []
    for (const signedHead of heads) {
      const sealer = createSealer({ engine: new InlineEngine(), maxWaitMs: 3_600_000, maxLeaves: 40 })
      await sealer.start({
        records: bench.records,
        signedHead,
        identity: bench.identity,
        clock: bench.clock,
        logger: bench.logger,
      })
      sealers.push(sealer)
    }
    for (let round = 0; round < 6; round++) {
      await bench.append(57)
      await Promise.all(sealers.map((sealer) => sealer.sealNow()))
    }
    await Promise.all(sealers.map((sealer) => sealer.close()))
    await bench.signedHead.write((await heads[0]?.read()) as SignedHead)
    assert.equal((await bench.reader.treeHead()).size, 343)
    await assertWhole(bench)
    assert.equal((await recordsOf(bench.records, 'bx')).size, (await batchesOf(bench.records)).length)
    assert.ok(sealers.every((sealer) => sealer.status().failures.seal.count === 0))
  })

  it('hashes in its own thread where the engine fails', async () => {
    const fail = async (): Promise<never> => {
      throw new RegistryError('ENGINE_FAILED', 'Injected')
    }
    const failing: TreeEngine = {
      tiles: fail,
      close: async () => {},
    }
    const bench = await openBench()
    const sealer = await bench.start({ engine: failing })
    await bench.append(700)
    await sealer.sealNow()
    await assertWhole(bench)
    assert.equal(bench.lines.filter(({ level }) => level === 'warn').length, 1)
  })
})

describe('a sealer’s life', () => {
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  it('closes what it was given, once, and refuses work afterwards', async () => {
    const bench = await openBench()
    const closed: string[] = []
    const engine = new InlineEngine()
    const sealer = await bench.start({
      engine: {
        tiles: (...args) => engine.tiles(...args),
        close: async () => void closed.push('engine'),
      },
    })
    await Promise.all([sealer.close(), sealer.close()])
    assert.deepEqual(closed, ['engine'])
    await assert.rejects(sealer.sealNow(), { code: 'CLOSED' })
    sealer.notify()
    assert.equal(bench.clock.sleeping, 0)
    await assert.rejects(
      sealer.start({
        records: bench.records,
        signedHead: bench.signedHead,
        identity: bench.identity,
        clock: bench.clock,
        logger: bench.logger,
      }),
      { code: 'CLOSED' },
    )
  })

  it('finishes the batch under way when it is closed, and leaves the rest of a backlog', async () => {
    const bench = await openBench()
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const engine = new InlineEngine()
    let calls = 0
    const sealer = await bench.start({
      maxLeaves: 10,
      engine: {
        tiles: async (row, kind) => {
          calls++
          await gate
          return engine.tiles(row, kind)
        },
        close: () => engine.close(),
      },
    })
    // The loop has looked and sleeps: the pass that is waited for is the caller's.
    await settle()
    await bench.append(100)
    const sealing = sealer.sealNow()
    const refused = assert.rejects(sealing, { code: 'CLOSED' })
    await until(() => calls === 1)
    let isClosed = false
    const closing = sealer.close().then(() => (isClosed = true))
    await settle()
    assert.ok(!isClosed, 'it waits for the batch')
    open()
    await Promise.all([closing, refused])
    assert.deepEqual(
      (await batchesOf(bench.records)).map(({ end }) => end),
      [10],
    )
    await assertWhole(bench)
  })

  it('lets a caller give up waiting, and seals all the same', async () => {
    const bench = await openBench()
    const sealer = await bench.start()
    await bench.append(5)
    await assert.rejects(sealer.sealNow(AbortSignal.abort()), { name: 'AbortError' })
    const controller = new AbortController()
    const sealing = sealer.sealNow(controller.signal)
    controller.abort()
    await assert.rejects(sealing, { name: 'AbortError' })
    await until(async () => (await new LogReader(bench.records).treeHead()).size === 6)
    assert.deepEqual(sealer.status().failures.seal.count, 0)
  })

  it('takes only rules that can be', () => {
    for (const options of [
      { maxLeaves: 0 },
      { maxWaitMs: -1 },
      { pollIntervalMs: 0 },
      { anchorIntervalMs: 0.5 },
      { tsaIntervalMs: Number.NaN },
    ])
      assert.throws(() => createSealer(options), { code: 'CONFIG_ERROR' }, JSON.stringify(options))
  })
})
