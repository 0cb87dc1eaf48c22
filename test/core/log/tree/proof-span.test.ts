import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { inclusionRanges } from '../../../../core/log/tree/proof.ts'
import { proofSpans } from '../../../../core/log/proof-blocks.ts'

/**
 * Checks that the spans cover the range in order, none crosses a tile, and all leaves of a span have its upper part.
 */
function assertSpans(from: number, to: number, size: number): void {
  let next = from
  for (const { first, end, levels, above } of proofSpans(from, to, size)) {
    assert.equal(first, next)
    assert.ok(end > first && end <= to)
    assert.equal(Math.floor(first / 256), Math.floor((end - 1) / 256))
    for (const leaf of [first, Math.floor((first + end) / 2), end - 1]) {
      const ranges = inclusionRanges(leaf, size)
      assert.deepEqual(ranges.slice(levels), above)
      for (const [level, range] of ranges.slice(0, levels).entries()) {
        assert.equal(range.end - range.start, 2 ** level)
        assert.equal(Math.floor(range.start / 256), Math.floor(first / 256))
      }
    }
    next = end
  }
  assert.equal(next, to)
}

describe('proofSpans', () => {
  it('yields spans with one upper part, for whole trees around the sizes of subtrees and tiles', () => {
    for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 255, 256, 257, 300, 511, 512, 513, 1025])
      assertSpans(0, size, size)
  })

  it('yields them for any range of any tree', () => {
    const size = fc.integer({ min: 1, max: 70_000 })
    fc.assert(
      fc.property(size, fc.nat(), fc.nat(), (tree, x, y) => {
        const [from, to] = [x % (tree + 1), y % (tree + 1)].sort((l, r) => l - r) as [number, number]
        assertSpans(from, to, tree)
      }),
      { numRuns: 60 },
    )
  })

  it('yields nothing for an empty range', () => {
    assert.deepEqual([...proofSpans(0, 0, 0)], [])
    assert.deepEqual([...proofSpans(5, 5, 9)], [])
  })

  it('yields them beyond 32 bits', () => {
    const size = 2 ** 40 + 300
    assertSpans(size - 301, size, size)
    assertSpans(2 ** 33 + 7, 2 ** 33 + 600, size)
  })
})
