import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { tilesBytesFor } from '../../../core/log/tree/tile.ts'
import { compileKernel } from '../../../sealer/kernel/kernel.ts'
import { TileHasher, type RowKind } from '../../../sealer/kernel/tiles.ts'
import { plainTiles } from '../../support/plain-tiles.ts'

const edges = [127, 128, 129, 255, 256, 257, 511, 512, 1023, 1024, 1025]
const counts = [...Array.from({ length: 18 }, (_, i) => i), ...edges]
const kinds: readonly RowKind[] = ['entries', 'nodes']

describe('TileHasher', async () => {
  const hasher = new TileHasher(await compileKernel())

  /** Checks also that the bytes around the output do not change. */
  function check(count: number, kind: RowKind): void {
    const row = new Uint8Array(randomBytes(count * 32))
    const guarded = new Uint8Array(tilesBytesFor(count) + 128).fill(0xa5)
    hasher.tiles(row.slice(), kind, guarded.subarray(64, guarded.length - 64))
    const expected = new Uint8Array(guarded.length).fill(0xa5)
    expected.set(plainTiles(row, kind), 64)
    assert.deepEqual(guarded, expected, `${count} ${kind}`)
  }

  it('writes the tiles of the slow reference, and nothing else, at every edge', () => {
    for (const count of counts) for (const kind of kinds) check(count, kind)
  })

  it('does so for any width', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900 }), fc.constantFrom(...kinds), (count, kind) => check(count, kind)),
      { numRuns: 40 },
    )
  })

  it('does so from and to shared memory', () => {
    const row = new Uint8Array(new SharedArrayBuffer(700 * 32))
    row.set(randomBytes(row.length))
    const out = new Uint8Array(new SharedArrayBuffer(tilesBytesFor(700)))
    hasher.tiles(row, 'entries', out)
    assert.deepEqual(out.slice(), plainTiles(row.slice(), 'entries'))
  })
})
