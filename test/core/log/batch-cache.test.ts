import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BatchCache } from '../../../core/log/batch-cache.ts'
import type { BatchRecord } from '../../../core/log/records.ts'

/** Batches of these lengths, one behind the other. */
function batchesOf(lengths: readonly number[]): BatchRecord[] {
  let end = 0
  return lengths.map((length) => {
    const start = end
    end += length
    return { id: String(end), start, end, root: '', createdAt: 0, previous: null }
  })
}

const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 30 })

describe('known batches', () => {
  it('are found by each of their positions, in whatever order they came', () => {
    fc.assert(
      fc.property(lengths, fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.boolean()), (all, order, isNoted) => {
        const batches = batchesOf(all)
        const known = new BatchCache(100)
        const noted = batches
          .filter(() => isNoted.next().value)
          .map((batch) => ({ batch, at: order.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ batch }) => batch)
        for (const batch of [...noted, ...noted]) known.note(batch)
        for (const batch of batches)
          for (let position = batch.start; position < batch.end; position++)
            assert.equal(known.holding(position), noted.includes(batch) ? batch : undefined)
        assert.equal(known.holding(batches.at(-1)?.end ?? 0), undefined)
      }),
    )
  })

  it('are at most as many as allowed, the newest among them', () => {
    const batches = batchesOf(Array.from({ length: 50 }, () => 3))
    const known = new BatchCache(7)
    for (const batch of batches) {
      known.note(batch)
      assert.equal(known.holding(batch.start), batch)
      assert.ok(batches.filter(({ start }) => known.holding(start) !== undefined).length <= 7)
    }
  })
})
