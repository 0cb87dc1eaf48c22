import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { concatBytes } from '../../../core/bytes.ts'
import type { ProofBlock } from '../../../core/ports.ts'
import { inclusionProof } from '../../../core/tree/proof.ts'
import { proofSpans } from '../../../core/tree/proof-span.ts'
import { rangeHash } from '../../../core/tree/range.ts'
import { splitTiles } from '../../../core/tree/tile.ts'
import { compileKernel } from '../../../sealer/kernel/kernel.ts'
import { proofBytesOf, ProofCopier } from '../../../sealer/kernel/proofs.ts'
import { nodeTable, sampleEntries } from '../../core/tree/node-table.ts'
import { plainTiles } from './plain-tiles.ts'

const LEAVES = 2100
const entries = sampleEntries(LEAVES)
const source = nodeTable(entries)
const packed = concatBytes(...entries)

/** The blocks of a range in a tree of `size`, with tiles stored when the log had `stored` leaves. */
function* blocksOf(from: number, to: number, size: number, stored: number): Generator<ProofBlock> {
  const tiles = splitTiles(plainTiles(packed.subarray(0, stored * 32), 'entries'), stored)
  for (const { first, end, levels, above } of proofSpans(from, to, size))
    yield {
      first,
      end,
      entries: packed.subarray(first * 32, end * 32),
      tile: tiles[Math.floor(first / 256)] as Uint8Array,
      levels,
      above: concatBytes(...above.map((range) => rangeHash(range, source))),
    }
}

describe('proofs copied out of a tile', async () => {
  const copier = new ProofCopier(await compileKernel())

  function check(from: number, to: number, size: number, stored: number): void {
    for (const block of blocksOf(from, to, size, stored)) {
      const want = []
      for (let leaf = block.first; leaf < block.end; leaf++) want.push(...inclusionProof(leaf, size, source))
      const got = copier.copy(block)
      assert.equal(Buffer.compare(got, concatBytes(...want)), 0, `leaves ${block.first}..${block.end} of ${size}`)
      assert.equal(got.length, proofBytesOf(block))
    }
  }

  it('are those made one at a time, for whole trees around the edges of subtrees and tiles', () => {
    for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 255, 256, 257, 300, 511, 512, 513, 1025])
      check(0, size, size, size)
  })

  it('are so for any range of any tree, also where its last tile has grown since', () => {
    const size = fc.integer({ min: 1, max: LEAVES })
    fc.assert(
      fc.property(size, size, fc.nat(), fc.nat(), (a, b, x, y) => {
        const [tree, stored] = [Math.min(a, b), Math.max(a, b)]
        const [from, to] = [x % (tree + 1), y % (tree + 1)].sort((l, r) => l - r) as [number, number]
        check(from, to, tree, stored)
      }),
      { numRuns: 10 },
    )
  })

  it('are refused from a tile that does not hold them, and of parts that do not fit', () => {
    const [block] = blocksOf(0, 200, 300, 300)
    const [narrow] = blocksOf(0, 100, 100, 100)
    assert.ok(block && narrow)
    const wrong: readonly Partial<ProofBlock>[] = [
      { tile: narrow.tile },
      { tile: new Uint8Array(31) },
      { levels: 9 },
      { levels: -1 },
      { above: new Uint8Array(31) },
      { above: new Uint8Array(65 * 32) },
      { entries: packed.subarray(0, 32) },
      { end: block.first },
      { end: 257 },
      { first: -1 },
    ]
    for (const part of wrong) assert.throws(() => copier.copy({ ...block, ...part }), RangeError, JSON.stringify(part))
    // A partial tile of 44 leaves holds no whole subtree of 64.
    const [last] = blocksOf(256, 257, 300, 300)
    assert.ok(last)
    assert.throws(() => copier.copy({ ...last, levels: 6 }), RangeError)
  })
})
