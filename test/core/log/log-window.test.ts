import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { LogWindow, positionsWithin, readLogWindow } from '../../../core/log/positions.ts'
import { RegistryError } from '../../../core/errors.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'

/** The entry with this number. Entries of equal `number % 5` begin with the same bytes. */
function entryOf(number: number): Uint8Array {
  const entry = new Uint8Array(32).fill(number % 5, 0, 28)
  new DataView(entry.buffer).setUint32(28, number)
  return entry
}

const LOG_SIZE = 700

/** A log of the entries 0 to 699, each at the position of its number, and how many positions were looked up. */
async function openLog() {
  const records = new MemoryRecords()
  const payload = Uint8Array.of(1)
  await records.commit({ append: Array.from({ length: LOG_SIZE }, (_, i) => ({ entry: entryOf(i), payload })) })
  const counts = { positions: 0 }
  const counted = decorateRecords(records, {
    positionsOf: (entries) => {
      counts.positions += entries.length
      return records.positionsOf(entries)
    },
  })
  return { records: counted, counts }
}

/** Also of entries that are not in the log. */
const numbers = fc.array(fc.nat({ max: LOG_SIZE + 20 }), { maxLength: 40 })

describe('a window of the log', () => {
  it('has the positions that look-ups have, wherever it is', async () => {
    const { records } = await openLog()
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: LOG_SIZE + 20 }), numbers, async (middle, wanted) => {
        const entries = wanted.map(entryOf)
        const window = await readLogWindow(records, entryOf(middle))
        assert.deepEqual(await positionsWithin(records, entries, window), await records.positionsOf(entries))
      }),
    )
  })

  it('saves the look-ups of entries that have first bytes of their own', async () => {
    const records = new MemoryRecords()
    const entries = Array.from({ length: 200 }, (_, i) => new Uint8Array(32).fill(i))
    await records.commit({ append: entries.map((entry) => ({ entry, payload: Uint8Array.of(1) })) })
    const window = await readLogWindow(records, entries[100] ?? new Uint8Array())
    const noLookUps = decorateRecords(records, { positionsOf: () => Promise.reject(new Error('not needed')) })
    const positions = await positionsWithin(noLookUps, entries, window)
    assert.deepEqual(
      positions,
      entries.map((_, i) => i),
    )
  })

  it('is empty if its row is damaged, so that look-ups replace it', async () => {
    const { records, counts } = await openLog()
    const damaged = decorateRecords(records, {
      readLog: () => Promise.reject(new RegistryError('CORRUPT', 'a damaged row')),
    })
    const window = await readLogWindow(damaged, entryOf(300))
    counts.positions = 0
    assert.deepEqual(await positionsWithin(damaged, [entryOf(299), entryOf(301)], window), [299, 301])
    assert.equal(counts.positions, 2)
  })

  it('looks up everything without entries', async () => {
    const { records, counts } = await openLog()
    assert.deepEqual(await positionsWithin(records, [entryOf(5), entryOf(9_999)], LogWindow.EMPTY), [5, undefined])
    assert.equal(counts.positions, 2)
  })
})
