import type { AbstractSnapshot } from 'abstract-level'
import {
  assertRow,
  LOG_ENTRY_BYTES,
  openValue,
  payloadsOfRows,
  ROW_ENTRIES,
  type EntryRow,
  type PayloadRow,
} from '../kit/index.ts'
import { BY_TEXT, endOfRows, ENTRY_ROWS, PAYLOAD_ROWS, rowKey, rowStart, type LevelDatabase } from './layout.ts'

/**
 * Bytes of one page of the iterator: some 120 full rows of 8 KiB. classic-level's default of 16 KiB would return three
 * at a time.
 */
const PAGE_BYTES = 1024 * 1024

/**
 * Reads the rows that hold the entries at positions `from` to `end` (exclusive), in order and from one snapshot.
 * Returns fewer if the log ends before `end`.
 *
 * @throws RegistryError `CORRUPT` if a row is damaged, is missing between them, or has a wrong length
 */
export async function readRows(db: LevelDatabase, { from, end, snapshot }: RowRange): Promise<EntryRow[]> {
  const rows: EntryRow[] = []
  let expected = from - (from % ROW_ENTRIES)
  const range = { from: expected, end: from < end ? end : 0, snapshot }
  for await (const [start, entries] of rowsOf(db, ENTRY_ROWS, range)) {
    const row = { start, entries }
    assertRow(row, expected)
    expected += entries.length / LOG_ENTRY_BYTES
    if (expected > from) rows.push(row)
  }
  return rows
}

/**
 * Reads the payloads at positions `from` to `end` (exclusive), from one snapshot. Returns fewer if the log ends before.
 *
 * @throws RegistryError `CORRUPT` if a row is damaged, is missing between them, or has a wrong length
 */
export async function readPayloads(db: LevelDatabase, { from, end, snapshot }: RowRange): Promise<Uint8Array[]> {
  const rows: PayloadRow[] = []
  const block = from - (from % ROW_ENTRIES)
  for await (const [start, payloads] of rowsOf(db, PAYLOAD_ROWS, { from: block, end: from < end ? end : 0, snapshot }))
    rows.push({ start, payloads })
  return payloadsOfRows(rows, from, end - from)
}

/** Positions in the log. */
export interface RowRange {
  readonly from: number
  /** Exclusive. */
  readonly end: number
  /** Reads this state of the database instead of the current one. */
  readonly snapshot?: AbstractSnapshot | undefined
}

async function* rowsOf(
  db: LevelDatabase,
  prefix: string,
  { from, end, snapshot }: RowRange,
): AsyncGenerator<readonly [start: number, value: Uint8Array], void, undefined> {
  if (from >= end) return
  const lt = Number.isSafeInteger(end) ? rowKey(prefix, end) : endOfRows(prefix)
  const options = { gte: rowKey(prefix, from), lt, snapshot, ...BY_TEXT, highWaterMarkBytes: PAGE_BYTES }
  const iterator = db.iterator<string, Uint8Array>(options)
  try {
    for (;;) {
      const page = await iterator.nextv(ROW_ENTRIES)
      if (page.length === 0) return
      for (const [key, value] of page) yield [rowStart(key), openValue(key, value)]
    }
  } finally {
    await iterator.close()
  }
}
