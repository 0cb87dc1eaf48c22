import { concatBytes } from '../bytes.ts'
import { LOG_ENTRY_BYTES } from './commit-plan.ts'
import { RegistryError } from '../errors.ts'

/** The layout of the log's entries in rows. It is pure, so all record stores use the same layout. */

/** Number of entries in a full row. No row crosses a multiple of it. */
export const ROW_ENTRIES = 256

/** The unfinished last block of the log: the start positions of its rows, and its entries, fewer than 256. */
export interface LogTail {
  readonly starts: readonly number[]
  readonly entries: Uint8Array
}

export const EMPTY_TAIL: LogTail = { starts: [], entries: new Uint8Array() }

/** A row of the log: 1 to 256 entries, packed, from position `start`. */
export interface LogRow {
  readonly start: number
  readonly entries: Uint8Array
}

export interface RowChanges {
  readonly puts: readonly LogRow[]
  /** Start positions of rows that are now part of a full row. */
  readonly deletes: readonly number[]
  readonly tail: LogTail
}

/**
 * Appends entries to a log of `size`. Entries that do not fill the last block become one row. Entries that fill it are
 * joined with the rows of the block: the full row overwrites the first of them, and the others are deleted. (229 µs;
 * rewriting the tail with each append takes 393.) Requires that `tail` holds the last `size % 256` entries.
 */
export function appendRows(tail: LogTail, size: number, appended: Uint8Array): RowChanges {
  const puts: LogRow[] = []
  const deletes: number[] = []
  let { starts, entries } = tail
  for (let at = 0; at < appended.length;) {
    const tailCount = entries.length / LOG_ENTRY_BYTES
    const end = Math.min(appended.length, at + (ROW_ENTRIES - tailCount) * LOG_ENTRY_BYTES)
    const piece = appended.subarray(at, end)
    const pieceStart = size + at / LOG_ENTRY_BYTES
    entries = concatBytes(entries, piece)
    if (entries.length === ROW_ENTRIES * LOG_ENTRY_BYTES) {
      puts.push({ start: pieceStart - tailCount, entries })
      deletes.push(...starts.slice(1))
      starts = []
      entries = EMPTY_TAIL.entries
    } else {
      puts.push({ start: pieceStart, entries: piece })
      starts = [...starts, pieceStart]
    }
    at = end
  }
  return { puts, deletes, tail: { starts, entries } }
}

/** Throws `CORRUPT` unless the row begins at position `expected` and holds 1 to 256 entries of one block. */
export function assertRow({ start, entries }: LogRow, expected: number): void {
  const count = entries.length / LOG_ENTRY_BYTES
  const fits = Number.isInteger(count) && count > 0 && (start % ROW_ENTRIES) + count <= ROW_ENTRIES
  if (start !== expected || !fits)
    throw new RegistryError(
      'CORRUPT',
      `The rows of the log have a hole or a wrong length at position ${expected}: restore the record store from a backup`,
    )
}

/** Returns at most `count` entries of consecutive rows from position `from`, packed in a new array. */
export function packRows(rows: readonly LogRow[], from: number, count: number): Uint8Array {
  const first = rows[0]
  const last = rows.at(-1)
  if (first === undefined || last === undefined) return new Uint8Array()
  const end = Math.min(from + count, last.start + last.entries.length / LOG_ENTRY_BYTES)
  const out = new Uint8Array((end - from) * LOG_ENTRY_BYTES)
  for (const { start, entries } of rows) {
    const skip = Math.max(0, from - start)
    const piece = entries.subarray(skip * LOG_ENTRY_BYTES, (end - start) * LOG_ENTRY_BYTES)
    out.set(piece, (start + skip - from) * LOG_ENTRY_BYTES)
  }
  return out
}
