import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { concatBytes, equalBytes } from '../../../core/bytes.ts'
import type { TreeEngine } from '../../../core/ports/index.ts'
import { leafHash } from '../../../core/log/tree/hash.ts'
import { nodeAt, TILE_WIDTH, widthOf } from '../../../core/log/tree/tile.ts'
import { InlineEngine, PoolEngine } from '../../../sealer/engine/engines.ts'
import { nodeTable, sampleEntries } from '../../support/node-table.ts'
import { WorkerPool } from '../../../sealer/engine/worker-pool.ts'
import { moduleUrl } from '../../support/repository.ts'
import { plainTiles } from '../../support/plain-tiles.ts'
import { present } from '../../support/present.ts'

const all = sampleEntries(10_000)
const packed = concatBytes(...all)
const row = (count: number): Uint8Array => packed.subarray(0, count * 32)
const closed = { code: 'CLOSED' }
const crashingWorker = moduleUrl('test/support/crashing-worker.ts')

/** Compares each node of each tile with a table that is made node by node. */
function assertTiles(tiles: readonly Uint8Array[], count: number): void {
  const source = nodeTable(all.slice(0, count))
  assert.equal(tiles.length, Math.ceil(count / TILE_WIDTH))
  for (const [index, tile] of tiles.entries()) {
    const width = present(widthOf(tile))
    assert.equal(width, Math.min(TILE_WIDTH, count - index * TILE_WIDTH))
    for (let level = 0; level <= 8; level++)
      for (let i = 0; i < width >> level; i++)
        assert.ok(
          equalBytes(present(nodeAt(tile, level, i)), source({ level, index: index * (TILE_WIDTH >> level) + i })),
        )
  }
}

const engines: Readonly<Record<string, TreeEngine>> = {
  inline: new InlineEngine(),
  pool: new PoolEngine({ maxThreads: 2, inlineHashes: 0 }),
}

for (const [name, engine] of Object.entries(engines))
  describe(`${name} engine`, () => {
    after(() => engine.close())

    it('builds correct tiles at every edge', async () => {
      for (const count of [0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049, 5000])
        assertTiles(await engine.tiles(row(count), 'entries'), count)
    })

    it('does not hash nodes before it builds tiles', async () => {
      const leaves = concatBytes(...all.slice(0, 700).map(leafHash))
      assert.deepEqual(await engine.tiles(leaves, 'nodes'), await engine.tiles(row(700), 'entries'))
    })

    it('does not change its input, and returns its own memory', async () => {
      const input = row(600).slice()
      const out = await engine.tiles(input, 'entries')
      assert.deepEqual(input, row(600))
      for (const tile of out) assert.ok(tile.buffer instanceof ArrayBuffer)
    })

    it('rejects a row of broken length', async () => {
      await assert.rejects(engine.tiles(new Uint8Array(33), 'nodes'), RangeError)
      assertTiles(await engine.tiles(row(257), 'entries'), 257)
    })
  })

describe('a closed engine', () => {
  it('rejects calls, also those under way, and can be closed twice', async () => {
    for (const engine of [new InlineEngine(), new PoolEngine({ inlineHashes: 0 }), new PoolEngine()]) {
      const underWay = engine.tiles(row(5000), 'entries')
      const rejected = assert.rejects(underWay, closed)
      await engine.close()
      await rejected
      await assert.rejects(engine.tiles(row(3000), 'entries'), closed)
      await engine.close()
    }
  })
})

describe('the pool', () => {
  it('throws ENGINE_FAILED for a row whose worker crashes, and continues with the next row', async (t) => {
    const engine = new PoolEngine({ maxThreads: 2, inlineHashes: 256, worker: crashingWorker })
    t.after(() => engine.close())
    await assert.rejects(engine.tiles(row(2000), 'entries'), { code: 'ENGINE_FAILED' })
    await assert.rejects(engine.tiles(row(2000), 'nodes'), { code: 'ENGINE_FAILED' })
    assertTiles(await engine.tiles(row(256), 'entries'), 256)
  })

  it('fails all rows that wait for a crashed worker', async (t) => {
    const engine = new PoolEngine({ maxThreads: 1, inlineHashes: 0, worker: crashingWorker })
    t.after(() => engine.close())
    const calls = [2000, 600, 5000, 300].map((count) => engine.tiles(row(count), 'entries'))
    await Promise.all(calls.map((call) => assert.rejects(call, { code: 'ENGINE_FAILED' })))
  })

  it('fails the tasks of a worker whose module cannot be loaded', async (t) => {
    const worker = () => moduleUrl('test/support/no-such-worker.ts')
    const pool = new WorkerPool<string, void>({ worker, task: 'tiles', maxThreads: 1, tasksPerWorker: 1 })
    t.after(() => pool.close())
    const run = await pool.open()
    await Promise.all([run(''), run('')].map((call) => assert.rejects(call, /no-such-worker/)))
  })

  it('fails the tasks of a worker whose module never finishes to load', async (t) => {
    const worker = () => moduleUrl('test/support/hanging-worker.ts')
    const options = { worker, task: 'tiles', maxThreads: 1, tasksPerWorker: 1, startTimeoutMs: 1 }
    const hanging = new WorkerPool<string, void>(options)
    t.after(() => hanging.close())
    const run = await hanging.open()
    await Promise.all([run(''), run('')].map((call) => assert.rejects(call, /No worker was ready in time/)))
    assert.equal(hanging.failures.count, 1)
    await assert.rejects((await hanging.open())(''), /No worker was ready in time/)
  })

  it('hashes several rows at the same time, and never changes returned tiles', async (t) => {
    const engine = new PoolEngine({ maxThreads: 2, inlineHashes: 0 })
    t.after(() => engine.close())
    const counts = [300, 5000, 1, 777, 4096, 2, 3]
    const rounds = [counts, counts.toReversed(), [4999]]
    const results: (readonly [number, readonly Uint8Array[]])[] = []
    for (const round of rounds)
      results.push(...(await Promise.all(round.map(async (n) => [n, await engine.tiles(row(n), 'entries')] as const))))
    for (const [count, tiles] of results) assertTiles(tiles, count)
  })

  it('never reuses memory that a worker still uses', async (t) => {
    const engine = new PoolEngine({ maxThreads: 3, inlineHashes: 0 })
    const hashRow = async (count: number): Promise<void> => {
      const input = row(count).slice()
      const tiles = await engine.tiles(input, 'entries')
      // The input belongs to the caller again.
      input.fill(0xff)
      assert.ok(equalBytes(concatBytes(...tiles), plainTiles(row(count), 'entries')), `${count} entries`)
    }
    const counts = fc.array(fc.integer({ min: 1, max: all.length }), { minLength: 1, maxLength: 12 })
    t.after(() => engine.close())
    const property = fc.asyncProperty(counts, async (rows) => void (await Promise.all(rows.map(hashRow))))
    await fc.assert(property, { numRuns: 25 })
  })

  it('rejects a number of threads that is not an integer from 1', () => {
    for (const maxThreads of [0, -1, 1.5, Number.NaN])
      assert.throws(() => new PoolEngine({ maxThreads }), { code: 'CONFIG_ERROR' })
  })
})
