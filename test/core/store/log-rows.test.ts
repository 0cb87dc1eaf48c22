import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  appendRows,
  EMPTY_TAIL,
  packRows,
  payloadInRow,
  payloadsOfRows,
  ROW_ENTRIES,
  type LogRow,
  type LogTail,
} from '../../../core/store/log-rows.ts'
import { appendsOf } from '../../contract/record-store-pair.ts'

const packed = (from: number, count: number): Uint8Array => {
  const out = Buffer.alloc(count * 32)
  for (let i = 0; i < count; i += 1) out.writeUInt32BE(from + i, i * 32)
  return new Uint8Array(out)
}

describe('appendRows', () => {
  it('keeps full rows of 256 and smaller rows of the last block, for appends of any size', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 600 })), { maxLength: 40 }), (sizes) => {
        const rows = new Map<number, LogRow>()
        let tail: LogTail = EMPTY_TAIL
        let size = 0
        for (const count of sizes) {
          const changes = appendRows(tail, size, appendsOf(packed(size, count)))
          for (const start of changes.deletes) assert.ok(rows.delete(start), `row ${start} was not there`)
          for (const row of changes.puts) rows.set(row.start, row)
          tail = changes.tail
          size += count
        }
        const sorted = [...rows.values()].sort((a, b) => a.start - b.start)
        assert.deepEqual(packRows(sorted, 0, size), packed(0, size))
        assert.deepEqual(
          payloadsOfRows(sorted, 0, size),
          appendsOf(packed(0, size)).map(({ payload }) => payload),
        )
        for (const { start, entries, payloads } of sorted) {
          const count = entries.length / 32
          const each = Array.from({ length: count }, (_, i) => payloadInRow(payloads, i))
          assert.deepEqual(each, payloadsOfRows(sorted, 0, size).slice(start, start + count))
          assert.equal(payloadInRow(payloads, count), undefined)
        }
        const tailStart = size - (size % ROW_ENTRIES)
        for (const { start, entries } of sorted) if (start < tailStart) assert.equal(entries.length, ROW_ENTRIES * 32)
        assert.deepEqual(tail.entries, packed(tailStart, size % ROW_ENTRIES))
        const tailRows = sorted.filter(({ start }) => start >= tailStart)
        assert.deepEqual(tail.payloads, new Uint8Array(Buffer.concat(tailRows.map(({ payloads }) => payloads))))
        assert.deepEqual(
          tail.starts,
          sorted.map(({ start }) => start).filter((start) => start >= tailStart),
        )
      }),
    )
  })
})
