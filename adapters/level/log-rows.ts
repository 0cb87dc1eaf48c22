import { LOG_ENTRY_BYTES } from '../../core/store/commit-plan.ts'
import { assertRow, ROW_ENTRIES, type LogRow } from '../../core/store/log-rows.ts'
import { BY_TEXT, LOG_END, logRowKey, logRowStart, type LevelDatabase } from './layout.ts'

/**
 * Bytes of one page of the iterator: some 120 full rows of 8 KiB. classic-level's default of 16 KiB would return three
 * at a time.
 */
const PAGE_BYTES = 1024 * 1024

/**
 * Reads the rows that hold the positions `from` to `end` (exclusive), in order and from one snapshot. Returns fewer if
 * the log ends before `end`.
 *
 * @throws RegistryError `CORRUPT` if a row is missing between them or has a wrong length
 */
export async function readRows(db: LevelDatabase, from: number, end: number): Promise<LogRow[]> {
  const rows: LogRow[] = []
  if (from >= end) return rows
  let expected = from - (from % ROW_ENTRIES)
  const lt = Number.isSafeInteger(end) ? logRowKey(end) : LOG_END
  const options = { gte: logRowKey(expected), lt, ...BY_TEXT, highWaterMarkBytes: PAGE_BYTES }
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
