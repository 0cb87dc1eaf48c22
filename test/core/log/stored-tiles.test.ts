import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { concatBytes } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { StoredTiles } from '../../../core/log/tiles.ts'
import { leafHash, type NodeId } from '../../../core/log/tree/hash.ts'
import { rowPrefix } from '../../../core/log/tree/tile.ts'
import { appendsOf } from '../../contract/record-store-pair.ts'
import { storeTree, type StoredTree } from '../../support/stored-tree.ts'

const corrupt = { name: 'RegistryError', code: 'CORRUPT' }

/** Every complete node of a tree, in tests of small trees. */
function* completeNodes(size: number): Generator<NodeId> {
  for (let level = 0; 2 ** level <= size; level++)
    for (let index = 0; (index + 1) * 2 ** level <= size; index++) yield { level, index }
}

describe('StoredTiles', () => {
  it('returns every complete node of a tree, as the reference has it', async () => {
    for (const size of [1, 2, 3, 255, 256, 257, 511, 512, 513]) {
      const { records, nodes } = await storeTree(size)
      const ids = [...completeNodes(size)]
      const source = await new StoredTiles(records, 100).nodes(ids)
      for (const id of ids) assert.deepEqual(source(id), nodes(id), `${id.level}/${id.index} of ${size}`)
      assert.equal(records.gets.length, 1, 'all tiles in one read')
    }
  })

  it('returns nodes of every tile level, around the sizes of full tiles', async () => {
    const size = 65_537
    const { records, nodes } = await storeTree(size)
    const ids = [0, 255, 256, 257, 65_535, 65_536].map((index) => ({ level: 0, index }))
    ids.push({ level: 8, index: 0 }, { level: 8, index: 255 }, { level: 15, index: 1 }, { level: 16, index: 0 })
    const source = await new StoredTiles(records, 100).nodes(ids)
    for (const id of ids) assert.deepEqual(source(id), nodes(id), `${id.level}/${id.index}`)
  })

  it('throws CORRUPT for a node that is not complete or not stored', async () => {
    const { records } = await storeTree(257)
    const ids = [
      { level: 0, index: 257 },
      { level: 1, index: 128 },
      { level: 9, index: 0 },
      { level: 16, index: 0 },
    ]
    const source = await new StoredTiles(records, 100).nodes(ids)
    for (const id of ids) assert.throws(() => source(id), corrupt)
    assert.throws(() => source({ level: 0, index: 0 }), corrupt, 'a node that was not requested')
  })

  it('returns a tile only if it is wide enough', async () => {
    const { records, entries } = await storeTree(511)
    const tiles = new StoredTiles(records, 100)
    for (const width of [0, 1, 254, 255]) {
      const tile = await tiles.tile(0, 1, width)
      const expected = concatBytes(...entries.slice(256, 256 + width).map(leafHash))
      assert.deepEqual(tile && rowPrefix(tile, width), expected)
    }
    assert.equal(await tiles.tile(0, 1, 256), undefined)
    await records.commit({ append: appendsOf(new Uint8Array(32)) })
    assert.ok(await tiles.tile(0, 1, 256), 'it is read again')
    assert.equal((await tiles.tile(0, 0, 256))?.length, 16_352)
    assert.equal(await tiles.tile(0, 2, 1), undefined)
    assert.equal(await tiles.tile(1, 0, 2), undefined)
  })

  it('reads a cached partial tile again only for nodes that it does not hold', async () => {
    const small = await storeTree(255)
    const { records } = small
    const tiles = new StoredTiles(records, 100)
    await tiles.nodes([{ level: 0, index: 254 }])
    await tiles.nodes([{ level: 0, index: 0 }])
    assert.ok(await tiles.tile(0, 0, 255))
    assert.equal(records.gets.length, 1)
    const grown = await storeTree(257)
    await records.commit({ append: grown.entries.slice(255).flatMap(appendsOf) })
    const source = await tiles.nodes([{ level: 8 - 1, index: 1 }])
    assert.deepEqual(source({ level: 7, index: 1 }), grown.nodes({ level: 7, index: 1 }))
    assert.equal(records.gets.length, 2)
    await tiles.nodes([{ level: 0, index: 255 }])
    assert.equal(records.gets.length, 2)
  })

  it('keeps no more tiles than allowed, and those that were used last', async () => {
    const { records } = await storeTree(20 * 256)
    const tiles = new StoredTiles(records, 8)
    for (let index = 0; index < 20; index++) {
      await tiles.tile(0, index, 256)
      assert.ok(await tiles.tile(0, 0, 256))
    }
    assert.equal(records.gets.length, 20, 'tile 0 is used again and again, so it is read once')
    let cached = 0
    for (let index = 19; index >= 0; index--) {
      const before: number = records.gets.length
      await tiles.nodes([{ level: 0, index: index * 256 }])
      if (records.gets.length === before) cached++
    }
    assert.ok(cached >= 4 && cached <= 8, `${cached} cached`)
  })

  it('reads a range in one read, past the cache', async () => {
    const { records } = await storeTree(700)
    const tiles = new StoredTiles(records, 100)
    const range = await tiles.range(0, 1, 2)
    assert.deepEqual(range, [await tiles.tile(0, 1, 256), await tiles.tile(0, 2, 188)])
    assert.equal(records.gets.length, 3)
    assert.deepEqual(await tiles.range(0, 0, 0), [])
    await assert.rejects(tiles.range(0, 1, 3), corrupt)
  })

  it('hands out copies of nodes', async () => {
    const { records, nodes } = await storeTree(3)
    const tiles = new StoredTiles(records, 100)
    const id = { level: 1, index: 0 }
    ;(await tiles.nodes([id]))(id).fill(0)
    assert.deepEqual((await tiles.nodes([id]))(id), nodes(id))
  })

  describe('with a damaged tile', () => {
    const damaged = async (value: Uint8Array): Promise<StoredTree> => {
      const tree = await storeTree(300)
      await tree.records.commit({ writes: [{ key: logKeys.tile(0, 0), value }] })
      return tree
    }

    for (const bytes of [0, 1, 31, 33, 16_351, 16_384])
      it(`throws CORRUPT for ${bytes} bytes`, async () => {
        const { records } = await damaged(new Uint8Array(bytes))
        const tiles = new StoredTiles(records, 100)
        await assert.rejects(tiles.tile(0, 0, 1), corrupt)
        await assert.rejects(tiles.nodes([{ level: 0, index: 0 }]), corrupt)
        await assert.rejects(tiles.range(0, 0, 2), corrupt)
        assert.ok(await tiles.tile(0, 1, 44), 'other tiles are read')
      })
  })
})
