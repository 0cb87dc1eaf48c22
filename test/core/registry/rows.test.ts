import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import type { RecordStore } from '../../../core/index.ts'
import type { Range } from '../../../core/ports/index.ts'
import { mergedRows, nextRows, type RowBounds } from '../../../core/registry/evidence/rows.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { keys } from '../../../core/store/keys.ts'

/** Number of indexes. The first one has half of all rows. */
const INDEXES = 300
const ROWS = 2_000

const idOf = (row: number): string => `id-${String(row).padStart(6, '0')}`

describe('the rows of many indexes', () => {
  const stored = new MemoryRecords()
  const ranges = Array.from({ length: INDEXES }, (_, i) => keys.evidencesIn(['sub', 'c', `s-${i}`]))
  const ids = Array.from({ length: ROWS }, (_, row) => idOf(row)).toReversed()
  before(async () => {
    const indexOf = (row: number): number => (row % 2 === 0 ? 0 : (row * 7_919) % INDEXES)
    const writes = ids.map((id, i) => ({
      key: keys.evidenceIn(['sub', 'c', `s-${indexOf(ROWS - 1 - i)}`], id),
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

  async function newestIds(records: RecordStore, bounds: RowBounds, count: number): Promise<readonly string[]> {
    return (await nextRows(mergedRows(records, ranges, bounds, count), count)).map(({ id }) => id)
  }

  it('are in descending order, within all bounds', async () => {
    assert.deepEqual(await newestIds(stored, {}, ROWS + 1), ids)
    const within = ids.filter((id) => id >= idOf(500) && id < idOf(1_500))
    assert.deepEqual(await newestIds(stored, { from: idOf(500), before: idOf(1_500) }, ROWS), within)
    for (const count of [1, 7, 250, 1_001])
      assert.deepEqual(await newestIds(stored, { before: idOf(1_500) }, count), ids.slice(500, 500 + count))
    assert.deepEqual(await nextRows(mergedRows(stored, [], {}, 20), 20), [])
  })

  it('are read for a page without holding every index open, and hardly more than the page', async () => {
    const { records, counts } = observed()
    assert.deepEqual(await newestIds(records, {}, 100), ids.slice(0, 100))
    assert.equal(counts.open, 0)
    assert.ok(counts.mostOpen <= 16, `${counts.mostOpen} indexes open`)
    assert.ok(counts.read <= INDEXES + 2 * 100 + 128, `${counts.read} rows read`)
  })
})
