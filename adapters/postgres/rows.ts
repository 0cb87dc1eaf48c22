import { LOG_ENTRY_BYTES } from '../../core/store/commit-plan.ts'
import { RegistryError } from '../../core/errors.ts'
import { assertRow, type LogRow } from '../../core/store/log-rows.ts'
import type { Key } from '../../core/ports/index.ts'

/** The rows that the statements return, and their conversion. bigint arrives as text. */

export type RecordRow = [key: Buffer, value: Buffer, version: string]
/** A record, or a log entry: then `value` is null and `number` is its position instead of a version. */
export type LookupRow = [key: Buffer, value: Buffer | null, number: string]
export type LogRowRow = [start: string, entries: Buffer]

/** Keys are printable ASCII; the end of a range may also contain a zero byte. */
export const keyBytes = (key: Key): Buffer => Buffer.from(key, 'latin1')
export const keyText = (bytes: Buffer): Key => bytes.toString('latin1')

/** Returns a view of the bytes as a Buffer. `pg` does not send other typed arrays as bytes. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Converts rows of the log, and checks that they begin at `start` (the start of a block) and are consecutive. */
export function rowsFrom(start: number, rows: readonly LogRowRow[]): LogRow[] {
  let expected = start
  return rows.map(([rowStart, entries]) => {
    const row = { start: Number(rowStart), entries }
    assertRow(row, expected)
    expected += entries.length / LOG_ENTRY_BYTES
    return row
  })
}

export const missingHeadError = (): RegistryError =>
  new RegistryError('CORRUPT', 'The head row of the record store is missing: restore the database from a backup')
