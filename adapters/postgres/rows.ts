import {
  assertRow,
  EMPTY_VERSION,
  LOG_ENTRY_BYTES,
  checked,
  readU64,
  RegistryError,
  withChecksum,
  u64,
  versionNumber,
  versionOf,
  type Stored,
  type EntryRow,
  type Key,
  type PayloadRow,
} from '../kit/index.ts'

/**
 * The rows that the statements return, and their conversion. bigint arrives as text. Values are in an envelope with a
 * CRC-32; every function that opens one throws `CORRUPT` if it is damaged.
 */

export type RecordRow = [key: Buffer, value: Buffer]
/** A record in a list, or the text of its key alone, for which neither the table is read nor a Buffer made. */
export type ListRow = RecordRow | [keyText: string]
/** A record, or a log entry with its position. */
export type LookupRow = [key: Buffer, value: Buffer, isRecord: boolean]
export type EntryRowRow = [start: string, entries: Buffer]
export type PayloadRowRow = [start: string, payloads: Buffer]
export type LogRowRow = [start: string, entries: Buffer, payloads: Buffer]

/** Keys are printable ASCII; the end of a range may also contain a zero byte. */
export const keyBytes = (key: Key): Buffer => Buffer.from(key, 'latin1')
/** The inverse of `keyBytes`. */
export const keyText = (bytes: Buffer): Key => bytes.toString('latin1')

/** The key of a row of a list. PostgreSQL's text of bytes has each backslash twice, and printable ASCII as it is. */
export const keyOfColumn = (column: Buffer | string): Key =>
  typeof column === 'string' ? column.replaceAll('\\\\', '\\') : keyText(column)

/** Returns a view of the bytes as a Buffer. `pg` does not send other typed arrays as bytes. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const VERSION_BYTES = 8
const EMPTY = new Uint8Array()

/** The stored value of a record. */
export const encodeRecordValue = ({ key, value, version }: Stored): Uint8Array =>
  value.length === 0 ? value : withChecksum(key, u64(versionNumber(version)), value)

/** The record in a row. Copies the value: several callers, or one caller twice, may have requested the same row. */
export function recordOf([keyColumn, sealed]: ListRow): Stored {
  const key = keyOfColumn(keyColumn)
  if (sealed === undefined || sealed.length === 0) return { key, value: EMPTY, version: EMPTY_VERSION }
  const value = checked(key, sealed)
  return { key, value: new Uint8Array(value.subarray(VERSION_BYTES)), version: versionOf(readU64(value)) }
}

/** The row of `head`. */
export interface Head {
  readonly lastVersion: number
  readonly logSize: number
}

const HEAD_NAME = 'the head'

/** The stored bytes of a head. */
export const encodeHead = ({ lastVersion, logSize }: Head): Uint8Array =>
  withChecksum(HEAD_NAME, u64(lastVersion), u64(logSize))

/** The head in the rows of its table. Throws `CORRUPT` if it is missing. */
export function headOf([row]: readonly [value: Buffer][]): Head {
  if (row === undefined)
    throw new RegistryError(
      'CORRUPT',
      'The head row of the record store is missing: restore the database from a backup',
    )
  const head = checked(HEAD_NAME, row[0])
  return { lastVersion: readU64(head), logSize: readU64(head, 8) }
}

/** The stored bytes of the position of a log entry. */
export const encodePosition = (entry: Uint8Array, position: number): Uint8Array => withChecksum(entry, u64(position))
/** The inverse of `encodePosition`. */
export const positionOf = (entry: Uint8Array, sealed: Uint8Array): number => readU64(checked(entry, sealed))

/** The key of the envelope of the entries in a row of the log. */
export const entriesName = (start: number): string => `the log entries from ${start}`
/** The key of the envelope of their payloads. */
export const payloadsName = (start: number): string => `the log payloads from ${start}`

/** Converts rows of the log, and checks that they begin at `start` (the start of a block) and are consecutive. */
export function entryRowsFrom(start: number, rows: readonly (EntryRowRow | LogRowRow)[]): EntryRow[] {
  let expected = start
  return rows.map(([startColumn, sealed]) => {
    const rowStart = Number(startColumn)
    const row = { start: rowStart, entries: checked(entriesName(rowStart), sealed) }
    assertRow(row, expected)
    expected += row.entries.length / LOG_ENTRY_BYTES
    return row
  })
}

/** Converts a row of payloads. */
export const payloadRowOf = ([startColumn, sealed]: PayloadRowRow): PayloadRow => {
  const start = Number(startColumn)
  return { start, payloads: checked(payloadsName(start), sealed) }
}

const BYTEA_OID = 17
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

/**
 * Encodes a `bytea[]` in PostgreSQL's binary format (array_recv): number of dimensions, whether there are nulls, type
 * of the elements; number of elements, first index; then the length and bytes of each element. `pg` sends a Buffer as
 * binary, but an array of Buffers as hex text, which both sides would have to convert.
 */
export function byteaArray(elements: readonly Uint8Array[]): Buffer {
  const size = elements.reduce((sum, { length }) => sum + LENGTH_BYTES + length, HEADER_BYTES)
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  for (const field of [1, 0, BYTEA_OID, elements.length, 1]) at = bytes.writeInt32BE(field, at)
  for (const element of elements) {
    at = bytes.writeInt32BE(element.length, at)
    bytes.set(element, at)
    at += element.length
  }
  return bytes
}
