import { LOG_ENTRY_BYTES } from '../../core/store/commit-plan.ts'
import { RegistryError } from '../../core/errors.ts'
import { assertRow, type LogRow } from '../../core/store/log-rows.ts'
import type { Key } from '../../core/ports.ts'

/** Rows as the statements answer them, and what they mean. */

export type RecordRow = [key: Buffer, value: Buffer, version: string]
/** A record; or without a value a log entry, and its position in place of the version. */
export type FoundRow = [key: Buffer, value: Buffer | null, number: string]
export type LogRowRow = [start: string, entries: Buffer]

/** Printable ASCII, which a key is, and the zero byte. */
export const keyBytes = (key: Key): Buffer => Buffer.from(key, 'latin1')
export const keyText = (bytes: Buffer): Key => bytes.toString('latin1')

/** A view: `pg` sends a Buffer as bytes, and any other typed array as something else. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Rows as they are read, from the block that begins at `start`, checked to be consecutive. */
export function rowsFrom(start: number, rows: readonly LogRowRow[]): LogRow[] {
  let expected = start
  return rows.map(([rowStart, entries]) => {
    const row = { start: Number(rowStart), entries }
    assertRow(row, expected)
    expected += entries.length / LOG_ENTRY_BYTES
    return row
  })
}

export const headIsGone = (): RegistryError =>
  new RegistryError('CORRUPT', 'The head row of the record store is gone: restore the database from a backup')
