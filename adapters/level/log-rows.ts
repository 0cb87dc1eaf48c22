import { LOG_ENTRY_BYTES } from '../../core/store/commit-plan.ts'
import { assertRow, ROW_ENTRIES, type LogRow } from '../../core/store/log-rows.ts'
import { BY_TEXT, LOG_END, logRowKey, logRowStart, type LevelDatabase } from './layout.ts'

/**
 * The rows that hold the positions from `from` up to `end` (exclusive), from one snapshot and in order; fewer where the
 * log ends. Throws `CORRUPT` where one is missing between them or is no row.
 */
export async function readRows(db: LevelDatabase, from: number, end: number): Promise<LogRow[]> {
  const rows: LogRow[] = []
  if (from >= end) return rows
  let expected = from - (from % ROW_ENTRIES)
  const lt = Number.isSafeInteger(end) ? logRowKey(end) : LOG_END
  // A full row is 8 KiB: some 120 a page, where classic-level's own default of 16 KiB would cut a page to three.
  const options = { gte: logRowKey(expected), lt, ...BY_TEXT, highWaterMarkBytes: 1024 * 1024 }
  const iterator = db.iterator<string, Uint8Array>(options)
  try {
    for (;;) {
      const page = await iterator.nextv(ROW_ENTRIES)
      if (page.length === 0) return rows
      for (const [key, entries] of page) {
        const row = { start: logRowStart(key), entries }
        assertRow(row, expected)
        expected += entries.length / LOG_ENTRY_BYTES
        if (expected > from) rows.push(row)
      }
    }
  } finally {
    await iterator.close()
  }
}
