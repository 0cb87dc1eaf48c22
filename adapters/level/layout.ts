import type { AbstractLevel } from 'abstract-level'
import { allocate, concatBytes, encodeUtf8, readU64, toHex, u64 } from '../../core/bytes.ts'
import { versionNumber, versionOf } from '../../core/store/commit-plan.ts'
import type { Entry, Key } from '../../core/ports/index.ts'

/**
 * The layout of a record store in an abstract-level database.
 *
 * | key                              | value                                                    |
 * |----------------------------------|----------------------------------------------------------|
 * | a record's key, unchanged        | u64 number of its version ‖ value                        |
 * | `\0head`                         | the head, 33 bytes                                       |
 * | `\0log` ‖ start, 14 hex digits   | a row of the log: 1 to 256 entries from position `start` |
 * | `\0pos` ‖ entry (32 bytes)       | u64 position of the first such entry                     |
 *
 * Record keys are printable ASCII and never begin with a zero byte, so the internal keys sort before all of them.
 */

/**
 * Any abstract-level database (`Level`, `MemoryLevel`, …), whatever its default encodings are. Every call names its
 * encodings, except for puts and deletions if they are the database's defaults (`putOptions`).
 */
export type LevelDatabase = AbstractLevel<string | Buffer | Uint8Array, string, Uint8Array>

/** Encodings for a call with string keys. */
export const BY_TEXT = { keyEncoding: 'utf8', valueEncoding: 'view' } as const
/** Encodings for a call with byte keys. */
export const BY_BYTES = { keyEncoding: 'view', valueEncoding: 'view' } as const

/**
 * The options for puts and deletions by text key: none if the database's defaults are the same. If the first puts of a
 * process pass options, V8 settles on a slow path for all of them: 2.5 against 0.2 µs each.
 */
export const putOptions = (db: LevelDatabase): Partial<typeof BY_TEXT> =>
  db.keyEncoding().commonName === BY_TEXT.keyEncoding && db.valueEncoding().commonName === BY_TEXT.valueEncoding
    ? {}
    : BY_TEXT

export const HEAD_KEY = '\0head'
/** All internal keys sort below it, all record keys at or above it. */
export const FIRST_RECORD_KEY = ' '

const LOG_PREFIX = '\0log'
/** The first key after all log rows. */
export const LOG_END = '\0loh'
const POSITION_PREFIX = encodeUtf8('\0pos')

export const logRowKey = (start: number): string => LOG_PREFIX + start.toString(16).padStart(14, '0')

export const logRowStart = (key: string): number => Number.parseInt(key.slice(LOG_PREFIX.length), 16)

export const positionKey = (entry: Uint8Array): Uint8Array => concatBytes(POSITION_PREFIX, entry)

/** Prefixes the value with the number of its version. */
export function encodeEnvelope({ value, version }: Entry): Uint8Array {
  const out = allocate(8 + value.length)
  out.set(u64(versionNumber(version)))
  out.set(value, 8)
  return out
}

/** The inverse of `encodeEnvelope`. Copies the value, because memory-level returns the bytes that it holds. */
export function decodeEnvelope(key: Key, bytes: Uint8Array): Entry {
  const value = allocate(bytes.length - 8)
  value.set(bytes.subarray(8))
  return { key, value, version: versionOf(readU64(bytes)) }
}

/** The head record. Every group of commits writes it, so it also identifies the last group. */
export interface Head {
  /** The number of the last version. */
  readonly lastVersion: number
  /** Entries in the log. */
  readonly logSize: number
  /** 16 random bytes in hex, new for each group. */
  readonly group: string
}

const HEAD_FORMAT = 1
const HEAD_BYTES = 33

export const encodeHead = (head: Head): Uint8Array =>
  concatBytes(Uint8Array.of(HEAD_FORMAT), u64(head.lastVersion), u64(head.logSize), Buffer.from(head.group, 'hex'))

/** Returns `undefined` for bytes that `encodeHead` did not make. */
export function decodeHead(bytes: Uint8Array): Head | undefined {
  if (bytes.length !== HEAD_BYTES || bytes[0] !== HEAD_FORMAT) return undefined
  return { lastVersion: readU64(bytes, 1), logSize: readU64(bytes, 9), group: toHex(bytes.subarray(17)) }
}
