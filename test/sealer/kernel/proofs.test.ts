import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { concatBytes } from '../../../core/bytes.ts'
import { type ProofBlock, proofSpans } from '../../../core/log/proof-blocks.ts'
import { inclusionProof } from '../../../core/log/tree/proof.ts'
import { rangeHash } from '../../../core/log/tree/hash.ts'
import { splitTiles } from '../../../core/log/tree/tile.ts'
import { compileKernel } from '../../../sealer/kernel/kernel.ts'
import { ProofWriter } from '../../../sealer/kernel/proofs.ts'
import { nodeTable, sampleEntries } from '../../support/node-table.ts'
import { plainTiles } from '../../support/plain-tiles.ts'
import { present } from '../../support/present.ts'

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
      tile: present(tiles[Math.floor(first / 256)]),
      levels,
      above: concatBytes(...above.map((range) => rangeHash(range, source))),
    }
}

describe('ProofWriter', async () => {
  const writer = new ProofWriter(await compileKernel())

  /** Compares the proofs of each leaf with one made alone. */
  function check(block: ProofBlock, size: number): void {
    const proofs = []
    for (let leaf = block.first; leaf < block.end; leaf++) proofs.push(inclusionProof(leaf, size, source))
    const what = `leaves ${block.first}..${block.end} of ${size}`
    assert.equal(Buffer.compare(writer.write(block), concatBytes(...proofs.flat())), 0, what)
  }

  function checkRange(from: number, to: number, size: number, stored: number): void {
    for (const block of blocksOf(from, to, size, stored)) check(block, size)
  }

  it('writes the proofs of the slow reference, for whole trees around the edges of subtrees and tiles', () => {
    for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 31, 33, 99, 100, 101, 255, 256, 257, 300, 511, 512, 513, 1025])
      checkRange(0, size, size, size)
  })

  it('does so for any range of any tree, also if its last tile has grown since', () => {
    const size = fc.integer({ min: 1, max: LEAVES })
    fc.assert(
      fc.property(size, size, fc.nat(), fc.nat(), (a, b, x, y) => {
        const [tree, stored] = [Math.min(a, b), Math.max(a, b)]
        const [from, to] = [x % (tree + 1), y % (tree + 1)].sort((l, r) => l - r) as [number, number]
        checkRange(from, to, tree, stored)
      }),
      { numRuns: 10 },
    )
  })

  it('writes the longest proofs', () => {
    const [block] = blocksOf(0, 256, 256, 256)
    assert.ok(block)
    const above = concatBytes(...entries.slice(0, 64))
    const longest = { ...block, above }
    const written = writer.write(longest)
    assert.equal(written.length, 256 * 72 * 32)
    for (let leaf = 0; leaf < 256; leaf++)
      assert.deepEqual(written.slice((leaf * 72 + 8) * 32, (leaf + 1) * 72 * 32), above)
  })

  it('rejects a tile that does not hold the proofs, and parts of wrong lengths', () => {
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
      { end: block.first },
      { end: 257 },
      { first: -1 },
    ]
    for (const part of wrong) assert.throws(() => writer.write({ ...block, ...part }), RangeError, JSON.stringify(part))
    // A partial tile of 44 leaves holds no complete subtree of 64.
    const [last] = blocksOf(256, 257, 300, 300)
    assert.ok(last)
    assert.throws(() => writer.write({ ...last, levels: 6 }), RangeError)
  })
})
