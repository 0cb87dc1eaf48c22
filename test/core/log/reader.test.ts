import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { encodeUtf8, toHex } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { encodeRecord } from '../../../core/store/codec.ts'
import { LogReader, sendStatusOf } from '../../../core/log/reader.ts'
import type { Key, RecordStore, Write } from '../../../core/ports/index.ts'
import { emptyRoot, leafHash } from '../../../core/log/tree/hash.ts'
import { consistencyProof, inclusionProof, rootFromNodes } from '../../../core/log/tree/proof.ts'
import { SealerFixture } from '../../support/sealer-fixture.ts'
import { nodeTable } from '../../support/node-table.ts'
import { present } from '../../support/present.ts'

/** Records that count what is read from them. */
const confirmedAnchor = (size: number, blockNumber: number): Write => ({
  key: logKeys.confirmedAnchor(size),
  value: encodeRecord({ size, blockNumber }),
})

function counting(records: RecordStore): RecordStore & { gets: Key[][]; lists: number; positions: number } {
  const counts = { gets: [] as Key[][], lists: 0, positions: 0 }
  const counted = decorateRecords(records, {
    get: (requested) => {
      counts.gets.push([...requested])
      return records.get(requested)
    },
    list: (range) => {
      counts.lists++
      return records.list(range)
    },
    positionsOf: (entries) => {
      counts.positions++
      return records.positionsOf(entries)
    },
  })
  return Object.assign(counts, counted)
}

describe('the log reader', () => {
  const benches: SealerFixture[] = []
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  /** A log sealed at each of these sizes; its entries, entry 0 the key. */
  async function sealedAt(
    ...sizes: readonly number[]
  ): Promise<{ bench: SealerFixture; entries: readonly Uint8Array[] }> {
    const bench = await SealerFixture.open()
    benches.push(bench)
    const sealer = await bench.start()
    const entries = [await bench.records.readLog(0, 1)]
    for (const size of sizes) {
      entries.push(...(await bench.append(size - entries.length)))
      await sealer.sealNow()
    }
    return { bench, entries }
  }

  it('returns empty results for a log in which nothing is sealed', async () => {
    const reader = new LogReader(new MemoryRecords())
    assert.deepEqual(await reader.tree.head(), { size: 0, root: toHex(emptyRoot()), batchId: null, time: 0 })
    assert.deepEqual(await reader.anchorHead(), {
      confirmedSize: 0,
      sentSize: 0,
      outstanding: null,
      unsettled: [],
      accounts: [],
    })
    assert.deepEqual(await reader.tree.rootAt(0), emptyRoot())
    assert.deepEqual(await reader.entryStatuses([new Uint8Array(32)]), [undefined])
    assert.deepEqual(await reader.entryStatuses([]), [])
    for (const result of [
      reader.batchOf(0),
      reader.batchById('x'),
      reader.checkpoints.latest(),
      reader.stampCovering(0),
      reader.anchorCovering(0),
      reader.sealed.hashes(0, 0, 1),
      reader.sealed.entries(0, 1),
      reader.payloadOf(new Uint8Array(32)),
      reader.sealed.openings(0, 1),
    ])
      assert.equal(await result, undefined)
  })

  it('returns the proofs of the reference, for entries at every sealed size, and between any two sizes', async () => {
    const sizes = [2, 3, 7, 255, 256, 257, 300, 512, 513]
    const { bench, entries } = await sealedAt(...sizes)
    const source = nodeTable(entries)
    const { reader } = bench
    for (const size of sizes) {
      assert.deepEqual(await reader.tree.rootAt(size), rootFromNodes(size, source))
      for (let position = 0; position < size; position += size > 20 ? 13 : 1)
        assert.deepEqual(
          await reader.tree.inclusionProof(position, size),
          inclusionProof(position, size, source),
          `${position} in ${size}`,
        )
      for (const from of sizes.filter((each) => each <= size))
        assert.deepEqual(
          await reader.tree.consistencyProof(from, size),
          consistencyProof(from, size, source),
          `${from} to ${size}`,
        )
    }
    await assert.rejects(reader.tree.inclusionProof(513, 513), RangeError)
    await assert.rejects(reader.tree.consistencyProof(513, 2), RangeError)
    await assert.rejects(reader.tree.inclusionProof(0, 700), { code: 'CORRUPT' })
  })

  it('throws in place of a proof that does not lead to the root', async () => {
    const { bench, entries } = await sealedAt(2, 5)
    const { reader } = bench
    const inclusion = { leafHash: leafHash(present(entries[1])), leafIndex: 1, treeSize: 5 }
    const consistency = { fromSize: 2, fromRoot: await reader.tree.rootAt(2), toSize: 5 }
    const root = await reader.tree.rootAt(5)
    await reader.tree.proveInclusion({ ...inclusion, root })
    await reader.tree.proveConsistency({ ...consistency, toRoot: root })
    const other = new Uint8Array(32)
    await assert.rejects(reader.tree.proveInclusion({ ...inclusion, root: other }), { code: 'CORRUPT' })
    await assert.rejects(reader.tree.proveConsistency({ ...consistency, toRoot: other }), { code: 'CORRUPT' })
  })

  it('reads the tiles of a proof together, and full tiles only once', async () => {
    const { bench } = await sealedAt(1_000)
    const records = counting(bench.records)
    const reader = new LogReader(records)
    await reader.tree.inclusionProof(10, 1_000)
    const lengths = records.gets.map((requested) => requested.length)
    assert.deepEqual(lengths, [3])
    await reader.tree.inclusionProof(11, 1_000)
    assert.equal(records.gets.length, 1, 'all tiles are cached')
    await reader.tree.inclusionProof(300, 1_000)
    assert.deepEqual(records.gets.at(-1), [logKeys.tile(0, 1)])
  })

  it('finds the status of many entries with one look-up of positions and few of batches', async () => {
    const sizes = Array.from({ length: 50 }, (_, i) => 20 * (i + 1))
    const { bench, entries } = await sealedAt(...sizes)
    const pending = await bench.append(3)
    const records = counting(bench.records)
    const reader = new LogReader(records)
    const requested = [...entries.toReversed(), new Uint8Array(32), ...pending, entries[5] as Uint8Array]
    const statuses = await reader.entryStatuses(requested)
    for (const [i, entry] of requested.entries()) {
      const position = entries.indexOf(entry)
      const status = statuses[i]
      if (position >= 0) {
        assert.equal(status?.position, position)
        assert.equal(
          status?.batch?.end,
          sizes.find((size) => size > position),
        )
        assert.equal(status?.sendStatus, 'P')
      }
    }
    assert.equal(statuses[1_000], undefined)
    for (const status of statuses.slice(1_001, 1_004))
      assert.deepEqual([status?.batch, status?.sendStatus], [null, null])
    assert.equal(records.positions, 1)
    assert.ok(records.gets.length + records.lists <= 12, `${records.gets.length} gets, ${records.lists} lists`)
    // One entry needs one look-up of its batch, and none if the batch is cached.
    const fresh = new LogReader(records)
    for (const [entry, lists] of [
      [7, 1],
      [8, 0],
      [47, 1],
    ] as const) {
      records.lists = 0
      await fresh.entryStatuses([entries[entry] as Uint8Array])
      assert.equal(records.lists, lists)
    }
  })

  it('returns P, S and C by the anchors that cover a batch', async () => {
    const { bench, entries } = await sealedAt(10, 20, 30)
    await bench.records.commit({
      writes: [
        { key: logKeys.anchorHead(), value: encodeRecord({ confirmedSize: 10, sentSize: 20, outstanding: 20 }) },
      ],
    })
    const statuses = await bench.reader.entryStatuses([5, 15, 25].map((position) => entries[position] as Uint8Array))
    const sendStatuses = statuses.map((status) => status?.sendStatus)
    assert.deepEqual(sendStatuses, ['C', 'S', 'P'])
    const batches = await Promise.all([5, 15, 25].map((position) => bench.reader.batchOf(position)))
    for (const [i, batch] of batches.entries()) {
      assert.deepEqual(batch, statuses[i]?.batch)
      assert.ok(batch)
      assert.equal(sendStatusOf(batch, await bench.reader.anchorHead()), statuses[i]?.sendStatus)
      assert.deepEqual(await bench.reader.batchById(batch.id), batch)
    }
    assert.equal(await bench.reader.batchOf(30), undefined)
  })

  it('finds the blocks of positions in few reads, whether they are far apart or close together', async () => {
    const records = new MemoryRecords()
    for (let i = 1; i <= 500; i++) await records.commit({ writes: [confirmedAnchor(10 * i, i)] })
    const counter = counting(records)
    const reader = new LogReader(counter)
    const close = Array.from({ length: 4_990 }, (_, i) => i)
    assert.deepEqual(
      await (await reader.anchors()).blocksOf(close),
      close.map((position) => Math.floor(position / 10) + 1),
    )
    assert.ok(counter.lists <= 12, `${counter.lists} lists`)
    counter.lists = 0
    assert.deepEqual(await (await reader.anchors()).blocksOf([4_321, 17, 2_500, 6_000, 5_000, 4_999]), [
      433,
      2,
      251,
      undefined,
      undefined,
      500,
    ])
    assert.ok(counter.lists <= 6)
  })

  it('keeps the blocks of positions, and those between, until an anchor changes', async () => {
    const records = new MemoryRecords()
    const confirm = async (size: number, blockNumber: number): Promise<void> => {
      const head = encodeRecord({ confirmedSize: size, sentSize: size, outstanding: null })
      await records.commit({
        writes: [confirmedAnchor(size, blockNumber), { key: logKeys.anchorHead(), value: head }],
      })
    }
    for (let i = 1; i <= 500; i++) await confirm(10 * i, i)
    const counter = counting(records)
    const reader = new LogReader(counter)
    const blocksOf = async (...positions: readonly number[]) => (await reader.anchors()).blocksOf(positions)
    assert.deepEqual(await blocksOf(4_321, 17, 5_000), [433, 2, undefined])
    counter.lists = 0
    assert.deepEqual(await blocksOf(17, 4_321, 4_335, 19), [2, 433, 434, 2])
    assert.equal(counter.lists, 0)
    await confirm(6_000, 600)
    assert.deepEqual(await blocksOf(17, 4_321, 5_000), [2, 433, 600])
  })

  it('throws for a confirmed anchor that the store has lost, instead of having none', async () => {
    const records = new MemoryRecords()
    await records.commit({ writes: [confirmedAnchor(10, 1)] })
    const reader = new LogReader(records)
    await assert.rejects(reader.anchorCovering(5), { code: 'CORRUPT' })
    assert.equal(await reader.anchorCovering(11), undefined)
  })

  it('throws for a damaged record instead of treating it as missing', async () => {
    const records = new MemoryRecords()
    for (const bytes of ['{', 'null', '"x"'].map(encodeUtf8)) {
      await records.commit({
        writes: [
          { key: logKeys.treeHead(), value: bytes },
          { key: logKeys.tile(0, 0), value: bytes },
        ],
      })
      const reader = new LogReader(records)
      await assert.rejects(reader.tree.head(), { code: 'CORRUPT' })
      await assert.rejects(reader.tree.rootAt(1), { code: 'CORRUPT' })
    }
    await records.commit({ writes: [{ key: logKeys.treeHead(), value: Uint8Array.of(0xff) }] })
    await assert.rejects(new LogReader(records).tree.head(), { code: 'CORRUPT' })
  })
})
