import { decodeUtf8, encodeUtf8 } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { Entry } from '../ports.ts'

/** The stored bytes of a record. */
export const encodeRecord = (record: object): Uint8Array => encodeUtf8(JSON.stringify(record))

/** A stored record, `undefined` where there is none. Throws `CORRUPT` where its bytes are no JSON object. */
export function decodeRecord<T extends object>(entry: Entry | undefined): T | undefined {
  if (entry === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(decodeUtf8(entry.value))
  } catch (cause) {
    throw new RegistryError('CORRUPT', `The record ${entry.key} is not JSON: restore the store from a backup`, {
      cause,
    })
  }
  if (typeof value !== 'object' || value === null)
    throw new RegistryError('CORRUPT', `The record ${entry.key} is no object: restore the store from a backup`)
  return value as T
}
