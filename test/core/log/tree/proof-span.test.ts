import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { inclusionRanges } from '../../../../core/log/tree/proof.ts'
import { proofSpans } from '../../../../core/log/tree/proof-span.ts'

/** The spans are the range, in order, none over a tile's edge, and the upper part of each is that of each of its leaves. */
function check(from: number, to: number, size: number): void {
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

describe('spans of proofs', () => {
  it('share one upper part, for whole trees around the edges of subtrees and tiles', () => {
    for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 255, 256, 257, 300, 511, 512, 513, 1025]) check(0, size, size)
  })

  it('do so for any range of any tree', () => {
    const size = fc.integer({ min: 1, max: 70_000 })
    fc.assert(
      fc.property(size, fc.nat(), fc.nat(), (tree, x, y) => {
        const [from, to] = [x % (tree + 1), y % (tree + 1)].sort((l, r) => l - r) as [number, number]
        check(from, to, tree)
      }),
      { numRuns: 60 },
    )
  })

  it('are none where there are no leaves', () => {
    assert.deepEqual([...proofSpans(0, 0, 0)], [])
    assert.deepEqual([...proofSpans(5, 5, 9)], [])
  })

  it('go beyond 32 bits', () => {
    const size = 2 ** 40 + 300
    check(size - 301, size, size)
    check(2 ** 33 + 7, 2 ** 33 + 600, size)
  })
})
