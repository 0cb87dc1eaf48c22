import { decodeUtf8, encodeUtf8 } from '../bytes.ts'
import { type RegistryError, corrupt } from '../errors.ts'
import type { Entry, Key, Write } from '../ports/index.ts'

type StoredValue = Pick<Entry, 'key' | 'value'>

/** The bytes under which a record is stored: JSON in UTF-8. */
export const encodeRecord = (record: object): Uint8Array => encodeUtf8(JSON.stringify(record))

/** The write that stores a record. */
export const putRecord = (key: Key, record: object): Write & { readonly value: Uint8Array } => ({
  key,
  value: encodeRecord(record),
})

/**
 * The record in a stored entry; `undefined` without an entry. Only checks that the bytes are a JSON object, and trusts
 * that the object has the members that were written. Throws `CORRUPT` otherwise.
 */
export function decodeRecord<T extends object>(entry: StoredValue): T
export function decodeRecord<T extends object>(entry: StoredValue | undefined): T | undefined
export function decodeRecord<T extends object>(entry: StoredValue | undefined): T | undefined {
  if (entry === undefined) return undefined
  const value = parseJson(entry)
  if (typeof value !== 'object' || value === null) throw corruptRecord(entry, 'not a JSON object')
  return value as T
}

function parseJson(entry: StoredValue): unknown {
  try {
    return JSON.parse(decodeUtf8(entry.value))
  } catch (cause) {
    throw corruptRecord(entry, 'not JSON', cause)
  }
}

/** `CORRUPT` for a record that is not what was written. */
export const corruptRecord = ({ key }: StoredValue, what: string, cause?: unknown): RegistryError =>
  corrupt(`The record ${key} is ${what}`, cause)

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** Encodes the value of a counter as 8 bytes, big-endian two's complement. Throws a RangeError beyond 64 bits. */
export function encodeCounter(value: bigint): Uint8Array {
  if (value < MIN || value > MAX) throw new RangeError(`A counter must fit in 64 bits, got ${value}`)
  const out = new Uint8Array(8)
  new DataView(out.buffer).setBigInt64(0, value)
  return out
}

/** The inverse of `encodeCounter`. Throws a RangeError unless there are 8 bytes. */
export function decodeCounter(bytes: Uint8Array): bigint {
  if (bytes.length !== 8) throw new RangeError(`A counter must have 8 bytes, got ${bytes.length}`)
  return new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0)
}

/**
 * Returns the value of a counter's entry as a number, 0 without an entry. Throws a RangeError beyond the safe integers.
 */
export function countOf(entry: { readonly value: Uint8Array } | undefined): number {
  if (entry === undefined) return 0
  const count = Number(decodeCounter(entry.value))
  if (!Number.isSafeInteger(count)) throw new RangeError('The counter is beyond the safe integers')
  return count
}
