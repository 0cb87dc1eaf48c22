import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { concatBytes } from '../../../../core/bytes.ts'
import { leafHash } from '../../../../core/log/tree/hash.ts'
import {
  buildTile,
  FULL_TILE_BYTES,
  nodeAt,
  rowPrefix,
  splitTiles,
  tileBytesFor,
  tileLevelsOf,
  tileOfNode,
  tilesBytesFor,
  widthOf,
} from '../../../../core/log/tree/tile.ts'
import { nodeTable, sampleEntries } from '../../../support/node-table.ts'
import { plainTiles } from '../../../support/plain-tiles.ts'

describe('a tile', () => {
  it('contains the complete nodes of its rows: 1, 3, 4, 7 … 511 hashes', () => {
    const shown = [1, 2, 3, 4, 255, 256].map((w) => tileBytesFor(w) / 32)
    assert.deepEqual(shown, [1, 3, 4, 7, 502, 511])
    assert.equal(FULL_TILE_BYTES, 16_352)
  })

  it('has a width that follows from its number of bytes, and no width for any other number', () => {
    const lengths = new Set<number>()
    for (let width = 1; width <= 256; width++) {
      lengths.add(tileBytesFor(width))
      assert.equal(widthOf(new Uint8Array(tileBytesFor(width))), width)
    }
    assert.equal(lengths.size, 256)
    for (let length = 0; length <= FULL_TILE_BYTES + 64; length++)
      if (!lengths.has(length)) assert.equal(widthOf(new Uint8Array(length)), undefined)
  })

  it('finds a node of every level in the tile of 256 below it', () => {
    assert.deepEqual(tileOfNode({ level: 0, index: 511 }), { tileLevel: 0, tileIndex: 1, row: 0, offset: 255 })
    assert.deepEqual(tileOfNode({ level: 7, index: 3 }), { tileLevel: 0, tileIndex: 1, row: 7, offset: 1 })
    assert.deepEqual(tileOfNode({ level: 8, index: 3 }), { tileLevel: 1, tileIndex: 0, row: 0, offset: 3 })
    assert.deepEqual(tileOfNode({ level: 17, index: 129 }), { tileLevel: 2, tileIndex: 1, row: 1, offset: 1 })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 2 ** 44 }), (level, index) => {
        const { tileLevel, tileIndex, row, offset } = tileOfNode({ level, index })
        assert.equal(tileLevel * 8 + row, level)
        assert.equal(tileIndex * (256 >> row) + offset, index)
        assert.ok(offset < 256 >> row)
      }),
    )
  })

  it('returns a node by row and offset, and nothing beyond a row', () => {
    const width = 11
    const tile = new Uint8Array(tileBytesFor(width))
    for (let i = 0; i < tile.length / 32; i++) tile[i * 32] = i
    let at = 0
    for (let row = 0; row <= 8; row++) {
      for (let offset = 0; offset < 256 >> row; offset++) {
        const node = nodeAt(tile, row, offset)
        if (offset < width >> row) assert.equal(node?.[0], at++)
        else assert.equal(node, undefined)
      }
    }
    assert.equal(at, tile.length / 32)
    assert.equal(nodeAt(new Uint8Array(5), 0, 0), undefined)
  })

  it('is built from row 0, with the nodes of a tree over it', () => {
    for (const width of [1, 2, 3, 127, 128, 255, 256]) {
      const entries = sampleEntries(width)
      const [tile, node] = [buildTile(entries.map(leafHash)), nodeTable(entries)]
      assert.equal(widthOf(tile), width)
      for (let row = 0; row <= 8; row++)
        for (let offset = 0; offset < width >> row; offset++)
          assert.deepEqual(nodeAt(tile, row, offset), node({ level: row, index: offset }))
      assert.deepEqual(tile, plainTiles(concatBytes(...entries), 'entries'))
    }
    assert.throws(() => buildTile([]), RangeError)
    assert.throws(() => buildTile(sampleEntries(257)), RangeError)
  })

  it('returns the first hashes of row 0', () => {
    const tile = new Uint8Array(tileBytesFor(11)).map((_, i) => i)
    assert.deepEqual(rowPrefix(tile, 3), tile.subarray(0, 96))
    assert.deepEqual(rowPrefix(tile, 11), tile.subarray(0, 352))
    assert.equal(rowPrefix(tile, 12), undefined)
  })

  it('is split from joined tiles', () => {
    const full = new Uint8Array(FULL_TILE_BYTES).fill(1)
    const part = new Uint8Array(tileBytesFor(7)).fill(2)
    assert.deepEqual(splitTiles(concatBytes(full, full, part), 519), [full, full, part])
    assert.deepEqual(splitTiles(concatBytes(full), 256), [full])
    assert.equal(tilesBytesFor(519), 2 * FULL_TILE_BYTES + part.length)
    assert.throws(() => splitTiles(full, 255), RangeError)
  })

  it('is on as many levels as the tree needs', () => {
    assert.deepEqual([0, 1, 255, 256, 65_535, 65_536, 2 ** 24].map(tileLevelsOf), [0, 1, 1, 2, 2, 3, 4])
  })
})
