import type { AbstractLevel } from 'abstract-level'
import { allocate, concatBytes, encodeUtf8, readU64, toHex, u64 } from '../../core/bytes.ts'
import { versionNumber, versionOf } from '../../core/store/commit-plan.ts'
import type { Entry, Key } from '../../core/ports.ts'

/**
 * How a record store lies in an abstract-level database.
 *
 * | key                              | value                                                    |
 * |----------------------------------|----------------------------------------------------------|
 * | a record's key as it is          | u64 number of its version ‖ value                        |
 * | `\0head`                         | the head, 33 bytes                                       |
 * | `\0log` ‖ start, 14 hex digits   | a row of the log: 1 to 256 entries from position `start` |
 * | `\0pos` ‖ entry (32 bytes)       | u64 position of the first such entry                     |
 *
 * Record keys are printable ASCII, so none begins with the zero byte, and all of ours sort before them.
 */

/** Any abstract-level database, whatever its default encodings: a call names its own, unless they are the defaults (`putOptions`). */
export type LevelDatabase = AbstractLevel<string | Buffer | Uint8Array, string, Uint8Array>

/** Encodings of a call with string keys, and with byte keys. */
export const BY_TEXT = { keyEncoding: 'utf8', valueEncoding: 'view' } as const
export const BY_BYTES = { keyEncoding: 'view', valueEncoding: 'view' } as const

/**
 * What puts and deletions by text key are given: nothing, where the database's defaults say the same. Where the first puts of a
 * process pass options, V8 settles on a slow way for all of them: 2.5 against 0.2 µs each.
 */
export const putOptions = (db: LevelDatabase): Partial<typeof BY_TEXT> =>
  db.keyEncoding().commonName === BY_TEXT.keyEncoding && db.valueEncoding().commonName === BY_TEXT.valueEncoding
    ? {}
    : BY_TEXT

export const HEAD_KEY = '\0head'
/** Everything that is ours is below it, every record at or above it. */
export const FIRST_RECORD_KEY = ' '

const LOG_PREFIX = '\0log'
export const LOG_END = '\0loh'
const POSITION_PREFIX = encodeUtf8('\0pos')

export const logRowKey = (start: number): string => LOG_PREFIX + start.toString(16).padStart(14, '0')

export const logRowStart = (key: string): number => Number.parseInt(key.slice(LOG_PREFIX.length), 16)

export const positionKey = (entry: Uint8Array): Uint8Array => concatBytes(POSITION_PREFIX, entry)

export function encodeRecord({ value, version }: Entry): Uint8Array {
  const out = allocate(8 + value.length)
  out.set(u64(versionNumber(version)))
  out.set(value, 8)
  return out
}

/** The value is a copy: memory-level answers the very bytes that it holds. */
export function decodeRecord(key: Key, bytes: Uint8Array): Entry {
  const value = allocate(bytes.length - 8)
  value.set(bytes.subarray(8))
  return { key, value, version: versionOf(readU64(bytes)) }
}

/** What the last group left: written with every group, so it also shows which one was the last. */
export interface Head {
  /** The number of the last version. */
  readonly lastVersion: number
  readonly logSize: number
  /** Hex of 16 random bytes that the last group wrote. */
  readonly group: string
}

const HEAD_FORMAT = 1
const HEAD_BYTES = 33

export const encodeHead = (head: Head): Uint8Array =>
  concatBytes(Uint8Array.of(HEAD_FORMAT), u64(head.lastVersion), u64(head.logSize), Buffer.from(head.group, 'hex'))

/** `undefined` for anything that `encodeHead` did not make. */
export function decodeHead(bytes: Uint8Array): Head | undefined {
  if (bytes.length !== HEAD_BYTES || bytes[0] !== HEAD_FORMAT) return undefined
  return { lastVersion: readU64(bytes, 1), logSize: readU64(bytes, 9), group: toHex(bytes.subarray(17)) }
}
