import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MemoryCheckpointKeys, MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import { toHex } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import { verifyCheckpoint } from '../../core/log/checkpoint.ts'
import { openLogIdentity } from '../../core/log/identity.ts'
import type { BatchRecord } from '../../core/log/records.ts'
import { decorateRecords } from '../../core/store/decorate.ts'
import { decodeRecord } from '../../core/store/codec.ts'
import { listEntries } from '../../core/store/read.ts'
import { LogReader } from '../../core/log/reader.ts'
import type { RecordStore, Sealer, SignedHead, TreeEngine } from '../../core/ports/index.ts'
import { RegistryError } from '../../core/errors.ts'
import { leafHash } from '../../core/log/tree/hash.ts'
import { rootFromNodes, verifyConsistency, verifyInclusion } from '../../core/log/tree/proof.ts'
import { createSealer, InlineEngine } from '../../sealer/index.ts'
import { nodeTable } from '../support/node-table.ts'
import { faultyRecords } from '../support/faulty-records.ts'
import { settle, until } from '../support/manual-clock.ts'
import { FIXTURE_SECRET, recordsOf, SealerFixture, sealerFixtures } from '../support/sealer-fixture.ts'
import { present } from '../support/present.ts'
import { testSigner } from '../support/test-signer.ts'

async function entriesOf(records: RecordStore): Promise<readonly Uint8Array[]> {
  const packed = await records.readLog(0, await records.logSize())
  return Array.from({ length: packed.length / 32 }, (_, i) => packed.subarray(i * 32, i * 32 + 32))
}

const batchesOf = async (records: RecordStore): Promise<readonly BatchRecord[]> =>
  (await listEntries(records, logKeys.batches())).map((entry) => decodeRecord<BatchRecord>(entry))

/** Checks what must be true of every log: one chain of batches, each with the correct root and a signed checkpoint. */
async function assertConsistentLog(fixture: SealerFixture): Promise<void> {
  const { records, identity, reader } = fixture
  const entries = await entriesOf(records)
  const source = nodeTable(entries)
  let before: BatchRecord | undefined
  for (const batch of await batchesOf(records)) {
    assert.equal(batch.start, before?.end ?? 0)
    assert.equal(batch.previous, before?.id ?? null)
    assert.ok(batch.createdAt >= (before?.createdAt ?? 0))
    assert.equal(batch.root, toHex(rootFromNodes(batch.end, source)))
    assert.deepEqual(await reader.batchById(batch.id), batch)
    const checkpoint = await reader.checkpoints.ofSize(batch.end)
    const key = identity.keys.findLast(({ position }) => position < batch.end)
    assert.deepEqual(verifyCheckpoint(checkpoint?.note ?? '', key?.verifierKey ?? ''), {
      origin: identity.origin,
      size: batch.end,
      root: rootFromNodes(batch.end, source),
    })
    before = batch
  }
  const head = await reader.tree.head()
  assert.deepEqual([head.size, head.batchId, head.time], [before?.end ?? 0, before?.id ?? null, before?.createdAt ?? 0])
  assert.equal(toHex(await reader.tree.rootAt(head.size)), head.root)
  const signed = await fixture.signedHead.read()
  assert.equal(signed?.size ?? 0, head.size)
}

describe('sealing', () => {
  const { open: openFixture, start: startSealer } = sealerFixtures(assertConsistentLog)

  it('seals the log: one batch, its tiles, its checkpoint and the signed head', async () => {
    const { fixture, sealer } = await startSealer()
    await fixture.seal(sealer, 9)
    const shown = (await batchesOf(fixture.records)).map(({ start, end }) => [start, end])
    assert.deepEqual(shown, [[0, 10]])
    const { sealedSize, logSize, lastBatchAt, failures } = sealer.status()
    assert.deepEqual([sealedSize, logSize, lastBatchAt], [10, 10, fixture.clock.now()])
    assert.deepEqual(failures.seal, { count: 0, lastCode: null })
  })

  it('makes the same tiles and roots for every partition of the log into batches', async () => {
    for (const size of [255, 256, 257, 511, 512, 513, 1_000]) {
      const whole = await openFixture()
      const sealer = await whole.start()
      await whole.seal(sealer, size - 1)
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: size - 2 }), { maxLength: 8 }), async (cuts) => {
          const cut = await SealerFixture.open()
          const other = await cut.start()
          let at = 0
          for (const end of [...cuts.sort((a, b) => a - b), size - 1]) {
            await cut.seal(other, end - at)
            at = end
          }
          assert.deepEqual(await recordsOf(cut.records, 'ti'), await recordsOf(whole.records, 'ti'))
          assert.equal((await cut.reader.tree.head()).root, (await whole.reader.tree.head()).root)
          assert.equal((await batchesOf(cut.records)).length, cuts.length + 1)
          await cut.close()
        }),
        { numRuns: 4 },
      )
    }
  })

  it('crosses the edge of the third tile level: 65,535, 65,536 and 65,537 leaves, and one batch of all', async () => {
    const { fixture, sealer } = await startSealer({ maxLeaves: 100_000 })
    for (const add of [65_534, 1, 1]) await fixture.seal(sealer, add)
    const once = await openFixture()
    const other = await once.start({ maxLeaves: 100_000 })
    await once.seal(other, 65_536)
    assert.deepEqual(await recordsOf(fixture.records, 'ti'), await recordsOf(once.records, 'ti'))
    assert.equal((await recordsOf(once.records, 'ti')).size, 256 + 1 + 1)
    // Proofs from tiles across all three levels.
    const entries = await entriesOf(fixture.records)
    for (const size of [65_535, 65_536, 65_537])
      for (const position of [0, 255, 256, 65_279, 65_534]) {
        const proof = await fixture.reader.tree.inclusionProof(position, size)
        const leaf = leafHash(present(entries[position]))
        const root = await fixture.reader.tree.rootAt(size)
        verifyInclusion({ leafHash: leaf, leafIndex: position, treeSize: size, proof, root })
      }
    const [fromSize, toSize] = [65_535, 65_537]
    const [fromRoot, toRoot] = [await fixture.reader.tree.rootAt(fromSize), await fixture.reader.tree.rootAt(toSize)]
    const proof = await fixture.reader.tree.consistencyProof(fromSize, toSize)
    verifyConsistency({ fromSize, fromRoot, toSize, toRoot, proof })
  })

  it('reads a bounded number of entries and records, also in a large tree', async () => {
    const { fixture, sealer } = await startSealer()
    await fixture.seal(sealer, 20_000)
    let entries = 0
    let tiles = 0
    const counting = decorateRecords(fixture.records, {
      readLog: (from, count) => ((entries += count), fixture.records.readLog(from, count)),
      readPayloads: (from, count) => ((entries += count), fixture.records.readPayloads(from, count)),
      get: (wanted) => ((tiles += wanted.filter((key) => key.startsWith('ti/')).length), fixture.records.get(wanted)),
    })
    const second = await fixture.start({}, counting)
    ;[entries, tiles] = [0, 0]
    await fixture.seal(second, 3)
    assert.ok(entries <= 255 + 3 + 16 + 256, `${entries} entries`)
    assert.ok(tiles <= 16, `${tiles} tiles`)
  })

  it('starts a batch for new keys, and none for the first key', async () => {
    const seeds = Array.from({ length: 21 }, (_, i) => new Uint8Array(32).fill(i))
    const fixture = await openFixture(undefined, undefined, new MemoryCheckpointKeys(seeds))
    const sealer = await fixture.start({ maxWaitMs: 1_000 })
    await fixture.clock.advance(10_000)
    await sealer.sealNow()
    assert.equal((await fixture.reader.tree.head()).size, 0)
    for (let i = 0; i < 20; i++) await fixture.identity.rotateCheckpointKey()
    await sealer.sealNow()
    assert.equal((await fixture.reader.tree.head()).size, 21)
  })

  it('closes a batch at once after a pause, else maxWait after the one before, also if events follow', async () => {
    const { fixture, sealer } = await startSealer({ maxWaitMs: 5_000 })
    await fixture.append(1)
    sealer.notify()
    for (let second = 1; second <= 4; second++) {
      await fixture.clock.advance(1_000)
      await fixture.append(1)
      sealer.notify()
    }
    await fixture.clock.advance(998)
    assert.equal((await fixture.reader.tree.head()).size, 0)
    await fixture.clock.advance(2)
    assert.equal((await fixture.reader.tree.head()).size, 6)
    await fixture.append(1)
    sealer.notify()
    await fixture.clock.advance(4_998)
    assert.equal((await fixture.reader.tree.head()).size, 6)
    await fixture.clock.advance(2)
    assert.equal((await fixture.reader.tree.head()).size, 7)
    await fixture.clock.advance(6_000)
    await fixture.append(1)
    sealer.notify()
    await settle()
    assert.equal((await fixture.reader.tree.head()).size, 8)
  })

  it('closes a batch when it is full, and seals a backlog without pauses', async () => {
    const { fixture, sealer } = await startSealer({ maxLeaves: 100 })
    await fixture.append(350)
    sealer.notify()
    await fixture.clock.advance(300)
    const ends = (await batchesOf(fixture.records)).map(({ end }) => end)
    assert.deepEqual(ends, [100, 200, 300])
    await sealer.sealNow()
    const shownEnds = (await batchesOf(fixture.records)).map(({ end }) => end)
    assert.deepEqual(shownEnds, [100, 200, 300, 351])
  })

  it('hashes the next batch of a backlog early, and again if that failed or another sealer was first', async () => {
    const fixture = await openFixture()
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
    const sealer = await fixture.start({ maxLeaves: 256, engine })
    await fixture.seal(sealer, 4 * 256 - 1)
    // Each row once: the tiles hashed in advance are used.
    assert.deepEqual(rows, [256, 256, 256, 256])
    for (failing of ['ENGINE_FAILED', 'UNAVAILABLE'] as const) {
      rows.length = 0
      await fixture.append(3 * 256)
      await (failing === 'UNAVAILABLE' ? assert.rejects(sealer.sealNow(), { code: failing }) : sealer.sealNow())
      assert.equal(rows.length, failing === 'UNAVAILABLE' ? 2 : 3)
    }
    failing = undefined
    await sealer.sealNow()
    rows.length = 0
    const other = await fixture.start({ maxLeaves: 100 })
    await fixture.append(1000)
    await Promise.all([sealer.sealNow(), other.sealNow()])
    assert.equal((await fixture.reader.tree.head()).size, await fixture.records.logSize())
  })

  it('polls for events of other processes', async () => {
    const fixture = await openFixture()
    await fixture.start({ maxWaitMs: 0, pollIntervalMs: 1_000 })
    await settle()
    await fixture.append(4)
    await fixture.clock.advance(1_000)
    assert.equal((await fixture.reader.tree.head()).size, 5)
  })

  it('keeps a batch open no longer if the clock is set back, and batch times never decrease', async () => {
    const { fixture, sealer } = await startSealer({ maxWaitMs: 5_000 })
    await fixture.seal(sealer, 1)
    await fixture.append(1)
    sealer.notify()
    await settle()
    fixture.clock.set(fixture.clock.now() - 3_600_000)
    await fixture.clock.advance(5_250)
    assert.equal((await fixture.reader.tree.head()).size, 3)
    // Also if nothing waited then.
    fixture.clock.set(fixture.clock.now() - 30_000)
    await fixture.clock.advance(6_000)
    await fixture.append(1)
    sealer.notify()
    await settle()
    assert.equal((await fixture.reader.tree.head()).size, 4)
  })

  it('signs with a new key from the batch on that holds its entry', async () => {
    const { fixture, sealer } = await startSealer()
    await fixture.seal(sealer, 2)
    await fixture.identity.rotateCheckpointKey()
    await fixture.seal(sealer, 2)
    const [oldKey, newKey] = fixture.identity.keys.map(({ verifierKey }) => verifierKey) as [string, string]
    verifyCheckpoint((await fixture.reader.checkpoints.ofSize(3))?.note ?? '', oldKey)
    verifyCheckpoint((await fixture.reader.checkpoints.ofSize(6))?.note ?? '', newKey)
  })
})

describe('sealing beside other processes', () => {
  const { open: openFixture, start: startSealer } = sealerFixtures(assertConsistentLog)

  it('signs with a key that another process added', async () => {
    const { fixture, sealer } = await startSealer()
    const { records, clock } = fixture
    const other = await openLogIdentity({ records, clock, secret: FIXTURE_SECRET, signer: testSigner() })
    const added = await other.rotateCheckpointKey()
    await fixture.seal(sealer, 1)
    assert.equal(verifyCheckpoint((await fixture.reader.checkpoints.ofSize(3))?.note ?? '', added.verifierKey).size, 3)
  })

  it('does not read the store for each notify', async () => {
    const fixture = await openFixture()
    let reads = 0
    const counting = decorateRecords(fixture.records, {
      logSize: () => (reads++, fixture.records.logSize()),
    })
    const sealer = await fixture.start({ maxWaitMs: 5_000 }, counting)
    for (let i = 0; i < 1_000; i++) {
      await fixture.append(1)
      sealer.notify()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.ok(reads < 10, `${reads} reads`)
  })
})

describe('sealing with faults', () => {
  const { open: openFixture, start: startSealer } = sealerFixtures(assertConsistentLog)

  it('recovers by a restart after any commit that failed, or was applied with its result lost', async () => {
    for (const fault of ['before', 'after'] as const)
      for (let nth = 1; nth <= 4; nth++) {
        const fixture = await openFixture()
        const faulty = faultyRecords(fixture.records)
        const sealer = await fixture.start({}, faulty)
        // Each of the two batches is two commits: the batch, then its checkpoint.
        faulty.failCommit(nth, fault)
        const run = async (): Promise<void> => {
          await fixture.seal(sealer, 3)
          await fixture.seal(sealer, 300)
        }
        await assert.rejects(run(), { code: fault === 'before' ? 'UNAVAILABLE' : 'UNKNOWN_OUTCOME' })
        await sealer.close()
        const missing = 304 - (await fixture.records.logSize())
        if (missing > 0) await fixture.append(missing)
        const next = await fixture.start()
        await next.sealNow()
        assert.equal((await fixture.reader.tree.head()).size, 304)
      }
  })

  it('continues by itself after a failure, which is counted and logged with its code', async () => {
    const fixture = await openFixture()
    const faulty = faultyRecords(fixture.records)
    const sealer = await fixture.start({ maxWaitMs: 0 }, faulty)
    await settle()
    faulty.failCommit(1, 'before')
    faulty.failCommit(2, 'after')
    await fixture.append(3)
    sealer.notify()
    await settle()
    assert.deepEqual(sealer.status().currentFailures, ['UNAVAILABLE'])
    await fixture.clock.advance(10_000)
    assert.deepEqual(sealer.status().failures.seal, { count: 2, lastCode: 'UNKNOWN_OUTCOME' })
    assert.deepEqual(sealer.status().currentFailures, [])
    assert.equal(fixture.lines.filter(({ level }) => level === 'warn').length, 2)
    assert.equal((await fixture.reader.tree.head()).size, 4)
  })

  it('stores no checkpoint before the signed head is durable', async () => {
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
      const fixture = await openFixture(new MemoryRecords(), signedHead)
      const sealer = await fixture.start()
      await fixture.append(3)
      signedHead.fault = fault
      await assert.rejects(sealer.sealNow())
      assert.equal((await fixture.reader.tree.head()).size, 4)
      assert.equal(await fixture.reader.checkpoints.ofSize(4), undefined)
      await fixture.start()
    }
  })

  it('rejects a log whose last entries are not the sealed ones', async () => {
    const { fixture, sealer } = await startSealer()
    await fixture.seal(sealer, 10)
    await fixture.append(1)
    let isFlipped = false
    const flipped = decorateRecords(fixture.records, {
      readLog: async (from, count) => {
        const packed = await fixture.records.readLog(from, count)
        if (isFlipped) packed[5 * 32] = present(packed[5 * 32]) ^ 1
        return packed
      },
    })
    const sealerOfFlipped = await fixture.start({}, flipped)
    isFlipped = true
    await assert.rejects(sealerOfFlipped.sealNow(), { code: 'CORRUPT' })
    assert.equal((await fixture.reader.tree.head()).size, 11)
    await sealerOfFlipped.close()
    await assert.rejects(fixture.start({}, flipped), { code: 'CORRUPT', message: /do not produce the root/ })
    const shorter = decorateRecords(fixture.records, { logSize: async () => 10 })
    await assert.rejects(fixture.start({}, shorter), { code: 'CORRUPT', message: /fewer than the 11/ })
  })

  it('seals once if sealers race, and each continues from the batch of another', async () => {
    const fixture = await openFixture()
    const heads = [new MemorySignedHead(), new MemorySignedHead(), new MemorySignedHead()]
    const sealers: Sealer[] = []
    for (const signedHead of heads) {
      const sealer = createSealer({ engine: new InlineEngine(), maxWaitMs: 3_600_000, maxLeaves: 40 })
      await sealer.start({
        records: fixture.records,
        signedHead,
        identity: fixture.identity,
        clock: fixture.clock,
        logger: fixture.logger,
      })
      sealers.push(sealer)
    }
    for (let round = 0; round < 6; round++) {
      await fixture.append(57)
      await Promise.all(sealers.map((sealer) => sealer.sealNow()))
    }
    await Promise.all(sealers.map((sealer) => sealer.close()))
    await fixture.signedHead.write(present(await heads[0]?.read()))
    assert.equal((await fixture.reader.tree.head()).size, 343)
    assert.equal((await recordsOf(fixture.records, 'bx')).size, (await batchesOf(fixture.records)).length)
    assert.ok(sealers.every((sealer) => sealer.status().failures.seal.count === 0))
  })

  it('leaves the checkpoint that another sealer stored meanwhile', async () => {
    const fixture = await openFixture()
    const first: unknown[] = []
    const records = decorateRecords(fixture.records, {
      commit: async (commit) => {
        const { writes = [] } = commit
        if (writes.some(({ key }) => key.startsWith('cp/'))) first.push(await fixture.records.commit({ writes }))
        return fixture.records.commit(commit)
      },
    })
    const sealer = await fixture.start({}, records)
    await fixture.append(1)
    await sealer.sealNow()
    const stored = await listEntries(fixture.records, logKeys.checkpoints())
    assert.deepEqual(
      first.map((outcome) => (outcome as { readonly version?: unknown }).version),
      stored.map(({ version }) => version),
    )
    assert.equal(stored.length, 1)
  })

  it('hashes in its own thread if the engine fails', async () => {
    const fail = async (): Promise<never> => {
      throw new RegistryError('ENGINE_FAILED', 'Injected')
    }
    const failing: TreeEngine = { tiles: fail, failures: { count: 1, isFailing: true }, close: async () => {} }
    const { fixture, sealer } = await startSealer({ engine: failing })
    await fixture.seal(sealer, 700)
    assert.equal(fixture.lines.filter(({ level }) => level === 'warn').length, 1)
    const { failures, currentFailures } = sealer.status()
    assert.deepEqual(failures.engine, { count: 1, lastCode: 'ENGINE_FAILED' })
    assert.deepEqual(currentFailures, ['ENGINE_FAILED'])
  })
})

describe('a signed head', () => {
  const { open: openFixture, start: startSealer } = sealerFixtures()

  it('never signs two trees of one size or a smaller tree: LOG_BEHIND_SIGNED', async () => {
    const { fixture, sealer } = await startSealer()
    await fixture.seal(sealer, 10)
    const signed = present(await fixture.signedHead.read())
    // A store that was set back to before the batch.
    const older = await openFixture(new MemoryRecords(), fixture.signedHead)
    await assert.rejects(older.start(), { code: 'LOG_BEHIND_SIGNED', message: /set back/ })
    // A store with another history at that size.
    const other = await openFixture(new MemoryRecords(), new MemorySignedHead())
    const otherSealer = await other.start()
    await other.append(4)
    await other.seal(otherSealer, 8)
    await other.signedHead.write(signed)
    await assert.doesNotReject(assertSigned(other), 'the same entries in other commits are the same tree')
    await other.signedHead.write({ size: 11, root: new Uint8Array(32) })
    await assert.rejects(other.start(), { code: 'LOG_BEHIND_SIGNED' })
    // Also while the sealer runs: the next checkpoint is not signed.
    await other.append(1)
    await assert.rejects(otherSealer.sealNow(), { code: 'LOG_BEHIND_SIGNED' })
    assert.equal(await other.reader.checkpoints.ofSize(14), undefined)
  })

  async function assertSigned(fixture: SealerFixture): Promise<void> {
    await (await fixture.start()).close()
  }
})

describe('start and close of a sealer', () => {
  const { open: openFixture, start: startSealer } = sealerFixtures(assertConsistentLog)

  it('closes its parts once, and rejects calls afterwards', async () => {
    const fixture = await openFixture()
    const closed: string[] = []
    const engine = new InlineEngine()
    const sealer = await fixture.start({
      engine: {
        tiles: (...args) => engine.tiles(...args),
        close: async () => void closed.push('engine'),
      },
    })
    await Promise.all([sealer.close(), sealer.close()])
    assert.deepEqual(closed, ['engine'])
    await assert.rejects(sealer.sealNow(), { code: 'CLOSED' })
    sealer.notify()
    assert.equal(fixture.clock.sleeping, 0)
    await assert.rejects(
      sealer.start({
        records: fixture.records,
        signedHead: fixture.signedHead,
        identity: fixture.identity,
        clock: fixture.clock,
        logger: fixture.logger,
      }),
      { code: 'CLOSED' },
    )
  })

  it('finishes the current batch at a close, and leaves the rest of a backlog', async () => {
    const fixture = await openFixture()
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const engine = new InlineEngine()
    let calls = 0
    const sealer = await fixture.start({
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
    // The loop sleeps now, so the step that waits at the gate is the caller's.
    await settle()
    await fixture.append(100)
    const sealing = sealer.sealNow()
    const rejected = assert.rejects(sealing, { code: 'CLOSED' })
    await until(() => calls === 1)
    let isClosed = false
    const closing = sealer.close().then(() => (isClosed = true))
    await settle()
    assert.ok(!isClosed, 'the close waits for the batch')
    open()
    await Promise.all([closing, rejected])
    const ends = (await batchesOf(fixture.records)).map(({ end }) => end)
    assert.deepEqual(ends, [10])
  })

  it('seals although the caller aborted', async () => {
    const { fixture, sealer } = await startSealer()
    await fixture.append(5)
    await assert.rejects(sealer.sealNow(AbortSignal.abort()), { name: 'AbortError' })
    const controller = new AbortController()
    const sealing = sealer.sealNow(controller.signal)
    controller.abort()
    await assert.rejects(sealing, { name: 'AbortError' })
    await until(async () => (await new LogReader(fixture.records).tree.head()).size === 6)
    assert.deepEqual(sealer.status().failures.seal.count, 0)
  })

  it('rejects options that are out of range', () => {
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
