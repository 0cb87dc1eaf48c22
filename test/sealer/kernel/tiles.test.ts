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

describe('tiles by the kernel', async () => {
  const hasher = new TileHasher(await compileKernel())

  /** With bytes of another around the output. */
  function check(count: number, kind: RowKind): void {
    const row = new Uint8Array(randomBytes(count * 32))
    const guarded = new Uint8Array(tilesBytesFor(count) + 128).fill(0xa5)
    hasher.tiles(row.slice(), kind, guarded.subarray(64, guarded.length - 64))
    const want = new Uint8Array(guarded.length).fill(0xa5)
    want.set(plainTiles(row, kind), 64)
    assert.deepEqual(guarded, want, `${count} ${kind}`)
  }

  it('are the tiles that plain hashing makes, and nothing beyond, at every edge', () => {
    for (const count of counts) for (const kind of kinds) check(count, kind)
  })

  it('are so for any width', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900 }), fc.constantFrom(...kinds), (count, kind) => check(count, kind)),
      { numRuns: 40 },
    )
  })

  it('are so from and to shared memory', () => {
    const row = new Uint8Array(new SharedArrayBuffer(700 * 32))
    row.set(randomBytes(row.length))
    const out = new Uint8Array(new SharedArrayBuffer(tilesBytesFor(700)))
    hasher.tiles(row, 'entries', out)
    assert.deepEqual(out.slice(), plainTiles(row.slice(), 'entries'))
  })
})
