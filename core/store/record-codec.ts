import { decodeUtf8, encodeUtf8 } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
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
  new RegistryError('CORRUPT', `The record ${key} is ${what}: restore the store from a backup`, { cause })
