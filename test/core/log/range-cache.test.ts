import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { RangeCache, type LogRange } from '../../../core/log/range-cache.ts'

/** Consecutive batches of these lengths. */
function batchesOf(lengths: readonly number[]): LogRange[] {
  let end = 0
  return lengths.map((length) => {
    const start = end
    end += length
    return { start, end }
  })
}

const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 30 })

describe('RangeCache', () => {
  it('finds a batch by each of its positions, in whatever order batches were added', () => {
    fc.assert(
      fc.property(lengths, fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.boolean()), (all, order, isAdded) => {
        const batches = batchesOf(all)
        const cache = new RangeCache<LogRange>(100)
        const added = batches
          .filter(() => isAdded.next().value)
          .map((batch) => ({ batch, at: order.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ batch }) => batch)
        for (const batch of [...added, ...added]) cache.add(batch)
        for (const batch of batches)
          for (let position = batch.start; position < batch.end; position++)
            assert.equal(cache.find(position), added.includes(batch) ? batch : undefined)
        assert.equal(cache.find(batches.at(-1)?.end ?? 0), undefined)
      }),
    )
  })

  it('keeps no more batches than allowed, the newest among them', () => {
    const batches = batchesOf(Array.from({ length: 50 }, () => 3))
    const cache = new RangeCache<LogRange>(7)
    for (const batch of batches) {
      cache.add(batch)
      assert.equal(cache.find(batch.start), batch)
      assert.ok(batches.filter(({ start }) => cache.find(start) !== undefined).length <= 7)
    }
  })

  it('keeps a batch that is read again and again', () => {
    const [first, ...others] = batchesOf(Array.from({ length: 50 }, () => 3))
    assert.ok(first)
    const cache = new RangeCache<LogRange>(4)
    cache.add(first)
    for (const batch of others) {
      cache.add(batch)
      assert.equal(cache.find(1), first)
    }
    assert.equal(cache.find(4), undefined)
  })

  it('replaces the known part of a range by more of it', () => {
    const cache = new RangeCache<LogRange>(4)
    const [part, whole] = [
      { start: 5, end: 9 },
      { start: 2, end: 9 },
    ]
    cache.add(part)
    assert.equal(cache.find(4), undefined)
    cache.add(whole)
    for (const position of [2, 5, 8]) assert.equal(cache.find(position), whole)
    cache.add(part)
    assert.equal(cache.find(5), whole)
    assert.equal(cache.find(9), undefined)
  })
})
