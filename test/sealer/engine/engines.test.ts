import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { concatBytes, equalBytes } from '../../../core/bytes.ts'
import type { TreeEngine } from '../../../core/ports.ts'
import { leafHash } from '../../../core/tree/hasher.ts'
import { nodeAt, splitTiles, TILE_WIDTH, widthOf } from '../../../core/tree/tile.ts'
import { InlineEngine } from '../../../sealer/engine/inline.ts'
import { PoolEngine } from '../../../sealer/engine/pool.ts'
import { nodeTable, sampleEntries } from '../../core/tree/node-table.ts'
import { moduleUrl } from '../../program.ts'

const all = sampleEntries(5000)
const packed = concatBytes(...all)
const row = (count: number): Uint8Array => packed.subarray(0, count * 32)
const closed = { code: 'CLOSED' }
const dyingWorker = moduleUrl(import.meta.url, './dying-worker.ts')

/** Each node of each tile, one by one against a table made node by node. */
function assertTiles(tiles: Uint8Array, count: number): void {
  const source = nodeTable(all.slice(0, count))
  for (const [index, tile] of splitTiles(tiles, count).entries()) {
    const width = widthOf(tile) as number
    assert.equal(width, Math.min(TILE_WIDTH, count - index * TILE_WIDTH))
    for (let level = 0; level <= 8; level++)
      for (let i = 0; i < width >> level; i++)
        assert.ok(
          equalBytes(nodeAt(tile, level, i) as Uint8Array, source({ level, index: index * (TILE_WIDTH >> level) + i })),
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

    it('builds tiles node by node right, at every edge', async () => {
      for (const count of [0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049, 5000])
        assertTiles(await engine.tiles(row(count), 'entries'), count)
    })

    it('takes nodes as they are', async () => {
      const leaves = concatBytes(...all.slice(0, 700).map(leafHash))
      assert.deepEqual(await engine.tiles(leaves, 'nodes'), await engine.tiles(row(700), 'entries'))
    })

    it('leaves its input as it is, and answers memory of its own', async () => {
      const input = row(600).slice()
      const out = await engine.tiles(input, 'entries')
      assert.deepEqual(input, row(600))
      assert.ok(out.buffer instanceof ArrayBuffer)
    })

    it('refuses a row of broken pieces, and one whose caller gave up', async () => {
      await assert.rejects(engine.tiles(new Uint8Array(33), 'nodes'), RangeError)
      await assert.rejects(engine.tiles(row(300), 'entries', AbortSignal.abort()), { name: 'AbortError' })
      const controller = new AbortController()
      const answer = engine.tiles(row(5000), 'entries', controller.signal)
      controller.abort()
      await assert.rejects(answer, { name: 'AbortError' })
      assertTiles(await engine.tiles(row(257), 'entries'), 257)
    })
  })

describe('an engine that is closed', () => {
  it('refuses work, also work under way, and can be closed twice', async () => {
    for (const engine of [new InlineEngine(), new PoolEngine({ inlineHashes: 0 }), new PoolEngine()]) {
      const underWay = engine.tiles(row(5000), 'entries')
      const refused = assert.rejects(underWay, closed)
      await engine.close()
      await refused
      await assert.rejects(engine.tiles(row(3000), 'entries'), closed)
      await engine.close()
    }
  })
})

describe('the pool', () => {
  it('fails a row whose worker dies with ENGINE_FAILED, and goes on', async () => {
    const engine = new PoolEngine({ maxThreads: 2, inlineHashes: 256, worker: dyingWorker })
    try {
      await assert.rejects(engine.tiles(row(2000), 'entries'), { code: 'ENGINE_FAILED' })
      await assert.rejects(engine.tiles(row(2000), 'nodes'), { code: 'ENGINE_FAILED' })
      assertTiles(await engine.tiles(row(256), 'entries'), 256)
    } finally {
      await engine.close()
    }
  })

  it('works on several rows at once', async () => {
    const engine = new PoolEngine({ maxThreads: 2, inlineHashes: 0 })
    try {
      const counts = [300, 5000, 1, 777, 4096]
      const answers = await Promise.all(counts.map((count) => engine.tiles(row(count), 'entries')))
      for (const [i, count] of counts.entries()) assertTiles(answers[i] as Uint8Array, count)
    } finally {
      await engine.close()
    }
  })
})
