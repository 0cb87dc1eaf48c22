import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { concatBytes, toHex } from '../../core/bytes.ts'
import type { BatchRecord } from '../../core/log/records.ts'
import { logKeys } from '../../core/log/keys.ts'
import { LogReader } from '../../core/log/reader.ts'
import { batchProofs, writeBatchProofs, type BatchProofs, type ProofFormat } from '../../sealer/index.ts'
import { SealerFixture } from '../support/sealer-fixture.ts'

const formats: readonly ProofFormat[] = ['packed', 'ndjson']

let bench: SealerFixture
let batches: readonly BatchRecord[]

before(async () => {
  bench = await SealerFixture.open()
  const sealer = await bench.start()
  const found: (BatchRecord | undefined)[] = []
  // One event beside the key's entry; up to and over tiles' edges; more than is asked of the engine at once; one alone.
  for (const count of [1, 254, 1, 700, 12_345, 1]) {
    await bench.append(count)
    await sealer.sealNow()
    found.push(await bench.reader.batchById((await bench.reader.treeHead()).batchId ?? ''))
  }
  batches = found.map((batch) => batch as BatchRecord)
})

after(async () => {
  await bench.close()
})

/** In both ways, which are to give the same pieces. */
async function all(batch: BatchRecord, format: ProofFormat): Promise<readonly BatchProofs[]> {
  const request = { log: bench.reader, batchId: batch.id, format }
  const pieces: BatchProofs[] = []
  let next = batch.start
  for await (const piece of batchProofs(request)) {
    assert.equal(piece.first, next)
    next = piece.end
    pieces.push(piece)
  }
  assert.equal(next, batch.end)
  const written: BatchProofs[] = []
  await writeBatchProofs({ ...request, write: (piece) => void written.push({ ...piece, bytes: piece.bytes.slice() }) })
  assert.deepEqual(written, pieces)
  return pieces
}

describe('proofs of a batch', () => {
  it('are packed those made one at a time', async () => {
    const { reader } = bench
    for (const batch of batches)
      for (const { first, end, items, bytes } of await all(batch, 'packed')) {
        const want: Uint8Array[] = []
        for (let leaf = first; leaf < end; leaf++) {
          const proof = await reader.inclusionProof(leaf, batch.end)
          assert.equal(proof.length, items)
          want.push(...proof)
        }
        assert.equal(Buffer.compare(bytes, concatBytes(...want)), 0, `leaves ${first} to ${end} of ${batch.end}`)
      }
  })

  it('are lines of JSON with each leaf’s entry', async () => {
    for (const batch of batches) {
      const entries = await bench.records.readLog(batch.start, batch.end - batch.start)
      const pieces = await all(batch, 'ndjson')
      const lines = Buffer.from(concatBytes(...pieces.map(({ bytes }) => bytes)))
        .toString('latin1')
        .split('\n')
      assert.equal(lines.pop(), '')
      assert.equal(lines.length, batch.end - batch.start)
      for (const [i, line] of lines.entries()) {
        // Some of a large batch; the packed ones were compared whole.
        if (i % 97 !== 0 && i < lines.length - 300) continue
        const proof = await bench.reader.inclusionProof(batch.start + i, batch.end)
        const entry = entries.subarray(i * 32, i * 32 + 32)
        assert.equal(line, JSON.stringify({ leafIndex: batch.start + i, entry: toHex(entry), proof: proof.map(toHex) }))
      }
    }
  })

  it('are lent until what takes them is done, and not asked for before', async () => {
    const { id, start, end } = batches[4] as BatchRecord
    for (const format of formats) {
      const [want, views]: [Uint8Array[], Uint8Array[]] = [[], []]
      for await (const { bytes } of batchProofs({ log: bench.reader, batchId: id, format })) want.push(bytes)
      let busy = false
      let leaves = 0
      await writeBatchProofs({
        log: bench.reader,
        batchId: id,
        format,
        write: async (piece) => {
          assert.equal(busy, false)
          busy = true
          await new Promise(setImmediate)
          assert.deepEqual(piece.bytes, want[views.length])
          views.push(piece.bytes)
          leaves += piece.end - piece.first
          busy = false
        },
      })
      assert.equal(leaves, end - start)
      // One piece of memory for all of them; what the stream gave is the reader's.
      assert.equal(new Set(views.map(({ buffer }) => buffer)).size, 1)
      assert.notDeepEqual(views[0], want[0])
      assert.equal(new Set(want.map(({ buffer }) => buffer)).size, want.length)
    }
  })

  it('can be written for several at a time', async () => {
    const batch = batches[4] as BatchRecord
    const sums = await Promise.all(
      [...formats, ...formats].map(async (format) => {
        const hash = createHash('sha256')
        const write = async ({ bytes }: BatchProofs): Promise<void> => {
          await new Promise(setImmediate)
          hash.update(bytes)
        }
        await writeBatchProofs({ log: bench.reader, batchId: batch.id, format, write })
        return [format, hash.digest('hex')] as const
      }),
    )
    for (const [format, sum] of sums) {
      const pieces = await all(batch, format)
      const hash = createHash('sha256').update(concatBytes(...pieces.map(({ bytes }) => bytes)))
      assert.equal(sum, hash.digest('hex'))
    }
  })

  it('are read ahead of a slow reader by a bounded number of tiles', async () => {
    const leafTiles = new Set(Array.from({ length: 100 }, (_, i) => logKeys.tile(0, i)))
    let [read, taken, most, open] = [0, 0, 0, 0]
    const counting = new Proxy(bench.records, {
      get(records, name) {
        if (name !== 'get') {
          const value: unknown = Reflect.get(records, name)
          return typeof value === 'function' ? (value.bind(records) as unknown) : value
        }
        return async (wanted: readonly string[]) => {
          read += wanted.filter((key) => leafTiles.has(key)).length
          most = Math.max(most, read - taken)
          open++
          await new Promise(setImmediate)
          return records.get(wanted).finally(() => open--)
        }
      },
    })
    const batch = batches[4] as BatchRecord
    const request = { log: new LogReader(counting), batchId: batch.id, format: 'packed' } as const
    for await (const _ of batchProofs(request)) {
      await new Promise(setImmediate)
      taken++
    }
    assert.ok(read >= 49, `${read} tiles`)
    assert.ok(most <= 36, `${most} ahead`)
    // Who leaves may close the store.
    for await (const _ of batchProofs(request)) break
    assert.equal(open, 0)
  })

  it('end where the reader leaves, gives up or fails', async () => {
    const request = { log: bench.reader, batchId: (batches[4] as BatchRecord).id, format: 'packed' } as const
    for await (const { bytes } of batchProofs(request)) {
      assert.ok(bytes.length > 0)
      break
    }
    const controller = new AbortController()
    const given = batchProofs({ ...request, signal: controller.signal })
    assert.equal((await given.next()).done, false)
    controller.abort()
    await assert.rejects(
      async () => {
        for (;;) if ((await given.next()).done === true) return
      },
      { name: 'AbortError' },
    )
    await assert.rejects(batchProofs({ ...request, signal: AbortSignal.abort() }).next(), { name: 'AbortError' })
    let calls = 0
    const write = async (): Promise<void> => {
      if (++calls === 3) throw new Error('full')
    }
    await assert.rejects(writeBatchProofs({ ...request, write }), { message: 'full' })
    assert.equal(calls, 3)
    const other = new AbortController()
    const abort = (): void => other.abort()
    await assert.rejects(writeBatchProofs({ ...request, write: abort, signal: other.signal }), { name: 'AbortError' })
  })

  it('throw BATCH_NOT_FOUND for no batch, and CORRUPT where a tile is gone', async () => {
    const of = (batchId: string) => batchProofs({ log: bench.reader, batchId, format: 'ndjson' }).next()
    await assert.rejects(of('0'), { code: 'BATCH_NOT_FOUND' })
    const key = logKeys.tile(0, 2)
    const [tile] = await bench.records.get([key])
    assert.ok(tile)
    for (const [value, code] of [
      [null, 'CORRUPT'],
      [new Uint8Array(33), 'CORRUPT'],
    ] as const) {
      await bench.records.commit({ writes: [{ key, value }] })
      await assert.rejects(of((batches[3] as BatchRecord).id), { code })
    }
    await bench.records.commit({ writes: [{ key, value: tile.value }] })
    assert.equal((await of((batches[3] as BatchRecord).id)).done, false)
  })
})
