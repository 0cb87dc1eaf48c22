import { randomBytes } from 'node:crypto'
import type { AbstractChainedBatch, AbstractLevel } from 'abstract-level'
import {
  allocate,
  concatBytes,
  checked,
  EMPTY_VERSION,
  readU64,
  RegistryError,
  withChecksum,
  STORE_FORMAT,
  toBase64,
  toHex,
  u64,
  versionNumber,
  versionOf,
  type Stored,
  type GroupPlan,
  type Key,
  type RowChanges,
  type Version,
} from '../kit/index.ts'

/**
 * The layout of a record store in an abstract-level database.
 *
 * | key                              | value                                                     |
 * |----------------------------------|-----------------------------------------------------------|
 * | a record's key, unchanged        | u64 number of its version ‖ value; nothing without a value |
 * | `\0head`                         | the head; before its envelope one byte: the store's format |
 * | `\0log` ‖ start, 14 hex digits   | a row of the log: 1 to 256 entries from position `start`  |
 * | `\0pay` ‖ start, 14 hex digits   | the payloads of the same entries                          |
 * | `\0pos` ‖ entry in base64        | u64 position of the last such entry                       |
 *
 * Every value that is not empty has a CRC-32 (core/store/checksum.ts), because LevelDB verifies no checksums when it
 * reads. Record keys are printable ASCII and never begin with a zero byte, so the internal keys sort before all of
 * them.
 */

/**
 * Any abstract-level database (`Level`, `MemoryLevel`, …), whatever its default encodings are. Every call names its
 * encodings, except for puts and deletions if they are the database's defaults (`putOptions`).
 */
export type LevelDatabase = AbstractLevel<string | Buffer | Uint8Array, string, Uint8Array>

/** Encodings for a call with string keys. */
export const BY_TEXT = { keyEncoding: 'utf8', valueEncoding: 'view' } as const

/** Encodings for puts and deletions, none if they are the database's defaults. */
export type PutOptions = Partial<typeof BY_TEXT>

/**
 * The options for puts and deletions by text key: none if the database's defaults are the same. If the first puts of a
 * process pass options, V8 settles on a slow path for all of them: 2.5 against 0.2 µs each.
 */
export const putOptions = (db: LevelDatabase): PutOptions =>
  db.keyEncoding().commonName === BY_TEXT.keyEncoding && db.valueEncoding().commonName === BY_TEXT.valueEncoding
    ? {}
    : BY_TEXT

export const HEAD_KEY = '\0head'
/** All internal keys sort below it, all record keys at or above it. */
export const FIRST_RECORD_KEY = ' '

/** Prefixes of the two kinds of rows. */
export const ENTRY_ROWS = '\0log'
export const PAYLOAD_ROWS = '\0pay'
const START_DIGITS = 14
const POSITION_PREFIX = '\0pos'

/** The key of a row that begins at this position. */
export const rowKey = (prefix: string, start: number): string => prefix + start.toString(16).padStart(START_DIGITS, '0')

/** Sorts after all rows with this prefix. */
export const endOfRows = (prefix: string): string => `${prefix}g`

/** The inverse of `rowKey`. */
export const rowStart = (key: string): number => Number.parseInt(key.slice(-START_DIGITS), 16)

/** Text, because a put with a key of bytes must name its encoding, which takes several times as long (`putOptions`). */
export const positionKey = (entry: Uint8Array): string => POSITION_PREFIX + toBase64(entry)

/** The bytes of a version, which `encodeRecordValue` writes before the value. */
const encodeVersion = (version: Version): Uint8Array => u64(versionNumber(version))

/** The stored bytes of a record. */
const encodeRecordValue = ({ key, value }: Stored, version: Uint8Array): Uint8Array =>
  value.length === 0 ? value : withChecksum(key, version, value)

/**
 * The inverse of `encodeRecordValue`. Copies the value, because memory-level returns the bytes that it holds. Throws
 * `CORRUPT` for damaged bytes.
 */
export function decodeRecordValue(key: Key, bytes: Uint8Array): Stored {
  if (bytes.length === 0) return { key, value: EMPTY, version: EMPTY_VERSION }
  const opened = checked(key, bytes)
  const value = allocate(opened.length - VERSION_BYTES)
  value.set(opened.subarray(VERSION_BYTES))
  return { key, value, version: versionOf(readU64(opened)) }
}

const VERSION_BYTES = 8
/** One for all: ten thousand rows of an index are read for a page, and each array is a load for the collector. */
const EMPTY = new Uint8Array()

const encodePosition = (key: string, position: number): Uint8Array => withChecksum(key, u64(position))

/** The inverse of `encodePosition`. Throws `CORRUPT` for damaged bytes. */
export const decodePosition = (key: string, bytes: Uint8Array): number => readU64(checked(key, bytes))

/** The head record. Every group of commits writes it, so it also identifies the last group. */
export interface Head {
  /** The number of the last version. */
  readonly lastVersion: number
  /** Entries in the log. */
  readonly logSize: number
  /** 16 random bytes in hex, new for each group. */
  readonly group: string
}

const HEAD_BYTES = 37

/** The stored bytes of a head. */
export const encodeHead = ({ lastVersion, logSize, group }: Head): Uint8Array =>
  concatBytes(
    Uint8Array.of(STORE_FORMAT),
    withChecksum(HEAD_KEY, u64(lastVersion), u64(logSize), Buffer.from(group, 'hex')),
  )

/** The format of a store with this head, `undefined` if the bytes are damaged. */
export function formatOfHead(bytes: Uint8Array): number | undefined {
  const [format = 0] = bytes
  return format === 0 || (format === STORE_FORMAT && bytes.length !== HEAD_BYTES) ? undefined : format
}

/** The number of log entries in a head. Throws `CORRUPT` if the head is missing or damaged. */
export function logSizeOfHead(bytes: Uint8Array | undefined): number {
  if (bytes === undefined) throw new RegistryError('CORRUPT', 'The head record of the record store is missing')
  return decodeHead(bytes).logSize
}

/** The inverse of `encodeHead`. Throws `CORRUPT` for damaged bytes. */
export function decodeHead(bytes: Uint8Array): Head {
  if (formatOfHead(bytes) !== STORE_FORMAT)
    throw new RegistryError(
      'CORRUPT',
      'The head record of the record store cannot be decoded: restore the record store from a backup',
    )
  const head = checked(HEAD_KEY, bytes.subarray(1))
  return { lastVersion: readU64(head), logSize: readU64(head, 8), group: toHex(head.subarray(16)) }
}

/** A log entry's key in the index of positions, and its position. */
export type PositionRow = readonly [key: string, position: number]

/** Everything that a group of commits changes in the database. */
export interface GroupChanges {
  readonly plan: GroupPlan
  readonly head: Head
  readonly rows: RowChanges
  readonly positions: readonly PositionRow[]
}

type Batch = AbstractChainedBatch<LevelDatabase, string, Uint8Array>

/** Returns a batch with all changes of a group, not written yet. `options`: the `putOptions` of the database. */
export async function groupBatch(
  db: LevelDatabase,
  { plan, head, rows, positions }: GroupChanges,
  options: PutOptions,
): Promise<Batch> {
  const batch = db.batch()
  const putRow = (key: string, row: Uint8Array): Batch => batch.put(key, withChecksum(key, row), options)
  try {
    batch.put(HEAD_KEY, encodeHead(head), options)
    putRecords(batch, plan.puts, options)
    for (const key of plan.deletes) batch.del(key, options)
    for (const { start, entries, payloads } of rows.puts) {
      putRow(rowKey(ENTRY_ROWS, start), entries)
      putRow(rowKey(PAYLOAD_ROWS, start), payloads)
    }
    for (const prefix of [ENTRY_ROWS, PAYLOAD_ROWS])
      for (const start of rows.deletes) batch.del(rowKey(prefix, start), options)
    for (const [key, position] of positions) batch.put(key, encodePosition(key, position), options)
    return batch
  } catch (error) {
    await batch.close()
    throw error
  }
}

/** The records that one commit writes follow each other and have the same version, which is encoded once for them. */
function putRecords(batch: Batch, puts: readonly Stored[], options: PutOptions): void {
  let version: Version | undefined
  let versionBytes: Uint8Array = new Uint8Array()
  for (const entry of puts) {
    if (entry.version !== version) {
      version = entry.version
      versionBytes = encodeVersion(version)
    }
    batch.put(entry.key, encodeRecordValue(entry, versionBytes), options)
  }
}

/** Returns the head of a group, with an id of its own. */
export const nextHead = ({ lastVersion, logSize }: Omit<Head, 'group'>): Head => ({
  lastVersion,
  logSize,
  group: randomBytes(16).toString('hex'),
})
