import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import type { Range } from '../../../core/index.ts'
import type { RowBounds } from '../../../core/registry/evidence/index-rows.ts'
import { listingRows, newestListed } from '../../../core/registry/evidence/merged-rows.ts'
import { decorateRecords } from '../../../core/store/decorate-records.ts'
import { keys } from '../../../core/store/keys.ts'

/** Number of indexes. The first one has half of all rows. */
const INDEXES = 300
const ROWS = 2_000

const idOf = (row: number): string => `id-${String(row).padStart(6, '0')}`

describe('the rows of many indexes', () => {
  const stored = new MemoryRecords()
  const ranges = Array.from({ length: INDEXES }, (_, i) => keys.evidencesIn('subcategory', `s-${i}`))
  const ids = Array.from({ length: ROWS }, (_, row) => idOf(row)).toReversed()
  before(async () => {
    const indexOf = (row: number): number => (row % 2 === 0 ? 0 : (row * 7_919) % INDEXES)
    const writes = ids.map((id, i) => ({
      key: keys.evidenceIn('subcategory', `s-${indexOf(ROWS - 1 - i)}`, id),
      value: new Uint8Array(),
    }))
    await stored.commit({ writes })
  })

  /** The records, with what is open at the same time and how many rows were read. */
  function observed() {
    const counts = { open: 0, mostOpen: 0, read: 0 }
    async function* list(range: Range) {
      counts.mostOpen = Math.max(counts.mostOpen, ++counts.open)
      try {
        for await (const entry of stored.list(range)) {
          counts.read++
          yield entry
        }
      } finally {
        counts.open--
      }
    }
    return { records: decorateRecords(stored, { list }), counts }
  }

  async function idsWithin(bounds: RowBounds, count = Infinity): Promise<readonly string[]> {
    const found: string[] = []
    for await (const { id } of listingRows(stored, ranges, bounds)) {
      found.push(id)
      if (found.length === count) break
    }
    return found
  }

  it('are in descending order, within all bounds', async () => {
    assert.deepEqual(await idsWithin({}), ids)
    const within = ids.filter((id) => id >= idOf(500) && id < idOf(1_500))
    assert.deepEqual(await idsWithin({ from: idOf(500), before: idOf(1_500) }), within)
    for (const limit of [1, 7, 250, 1_001])
      assert.deepEqual(await idsWithin({ before: idOf(1_500), limit }, limit), ids.slice(500, 500 + limit))
    assert.deepEqual(await newestListed(stored, ranges, { before: idOf(1_500), limit: 20 }), ids.slice(500, 520))
    assert.deepEqual(await newestListed(stored, [], { before: undefined, limit: 20 }), [])
  })

  it('are read for a page without holding every index open, and hardly more than the page', async () => {
    const { records, counts } = observed()
    assert.deepEqual(await newestListed(records, ranges, { before: undefined, limit: 100 }), ids.slice(0, 100))
    assert.equal(counts.open, 0)
    assert.ok(counts.mostOpen <= 16, `${counts.mostOpen} indexes open`)
    assert.ok(counts.read <= INDEXES + 2 * 100 + 128, `${counts.read} rows read`)
  })
})
