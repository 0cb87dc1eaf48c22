import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { appendRows, EMPTY_TAIL, packRows, ROW_ENTRIES, type LogTail } from '../../../core/store/log-rows.ts'

const packed = (from: number, count: number): Uint8Array => {
  const out = Buffer.alloc(count * 32)
  for (let i = 0; i < count; i += 1) out.writeUInt32BE(from + i, i * 32)
  return new Uint8Array(out)
}

describe('appendRows', () => {
  it('keeps full rows of 256 and smaller rows of the last block, for appends of any size', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 600 })), { maxLength: 40 }), (sizes) => {
        const rows = new Map<number, Uint8Array>()
        let tail: LogTail = EMPTY_TAIL
        let size = 0
        for (const count of sizes) {
          const changes = appendRows(tail, size, packed(size, count))
          for (const start of changes.deletes) assert.ok(rows.delete(start), `row ${start} was not there`)
          for (const { start, entries } of changes.puts) rows.set(start, entries)
          tail = changes.tail
          size += count
        }
        const sorted = [...rows].sort(([a], [b]) => a - b).map(([start, entries]) => ({ start, entries }))
        assert.deepEqual(packRows(sorted, 0, size), packed(0, size))
        const tailStart = size - (size % ROW_ENTRIES)
        for (const { start, entries } of sorted) if (start < tailStart) assert.equal(entries.length, ROW_ENTRIES * 32)
        assert.deepEqual(tail.entries, packed(tailStart, size % ROW_ENTRIES))
        assert.deepEqual(
          tail.starts,
          sorted.map(({ start }) => start).filter((start) => start >= tailStart),
        )
      }),
    )
  })
})
