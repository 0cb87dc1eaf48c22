import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { concatBytes, toHex } from '../../core/bytes.ts'
import type { BatchRecord } from '../../core/log/records.ts'
import type { ProofFormat, TreeEngine } from '../../core/ports.ts'
import { keys } from '../../core/keys.ts'
import { batchProofs, InlineEngine, PoolEngine, type BatchProofs } from '../../sealer/index.ts'
import { SealerBench } from './bench.ts'

const engines: Readonly<Record<string, TreeEngine>> = {
  inline: new InlineEngine(),
  pool: new PoolEngine({ maxThreads: 2 }),
}

let bench: SealerBench
let batches: readonly BatchRecord[]

before(async () => {
  bench = await SealerBench.open()
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
  await Promise.all(Object.values(engines).map((engine) => engine.close()))
})

async function all(engine: TreeEngine, batch: BatchRecord, format: ProofFormat): Promise<readonly BatchProofs[]> {
  const pieces: BatchProofs[] = []
  let next = batch.start
  for await (const piece of batchProofs({ log: bench.reader, engine, batchId: batch.id, format })) {
    assert.equal(piece.first, next)
    next = piece.end
    pieces.push(piece)
  }
  assert.equal(next, batch.end)
  return pieces
}

for (const [name, engine] of Object.entries(engines))
  describe(`proofs of a batch, ${name} engine`, () => {
    it('are packed those made one at a time', async () => {
      const { reader } = bench
      for (const batch of batches)
        for (const { first, end, items, bytes } of await all(engine, batch, 'packed')) {
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
        const pieces = await all(engine, batch, 'ndjson')
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
          assert.equal(
            line,
            JSON.stringify({ leafIndex: batch.start + i, entry: toHex(entry), proof: proof.map(toHex) }),
          )
        }
      }
    })
  })

describe('proofs of a batch', () => {
  const engine = engines['inline'] as TreeEngine
  const format = 'packed'

  it('are made ahead of their reader by a bounded number of pieces', async () => {
    let [asked, taken, most] = [0, 0, 0]
    const counting: TreeEngine = {
      tiles: (...args) => engine.tiles(...args),
      proofs: (...args) => {
        asked++
        most = Math.max(most, asked - taken)
        return engine.proofs(...args)
      },
      close: async () => {},
    }
    const batch = batches[4] as BatchRecord
    for await (const _ of batchProofs({ log: bench.reader, engine: counting, batchId: batch.id, format })) {
      await new Promise(setImmediate)
      taken++
    }
    assert.ok(asked >= 7, `${asked} calls`)
    assert.ok(most <= 5, `${most} ahead`)
  })

  it('end where the reader leaves, gives up or fails', async () => {
    const request = { log: bench.reader, engine, batchId: (batches[4] as BatchRecord).id, format } as const
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
  })

  it('throw BATCH_NOT_FOUND for no batch, and CORRUPT where a tile is gone', async () => {
    const of = (batchId: string) => batchProofs({ log: bench.reader, engine, batchId, format }).next()
    await assert.rejects(of('0'), { code: 'BATCH_NOT_FOUND' })
    const key = keys.tile(0, 2)
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
