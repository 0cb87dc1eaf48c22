import { decodeUtf8, encodeUtf8, fromBase64, fromHex, readU64 } from '../bytes.ts'
import { corrupt, type RegistryError } from '../errors.ts'
import type { Key, Stored } from '../ports/index.ts'
import { evidenceOfValues, isEvidenceKey } from './evidence-form.ts'
import { isLaterEventKey, type RecordKey } from './keys.ts'

/**
 * How records become bytes, and bytes records. The type of a record follows from its key, so that no caller names it.
 * That the bytes under a key are a record of its type is trusted here, and nowhere else.
 */

/**
 * The bytes under which a record is stored: JSON in UTF-8. Evidences have a form of their own (`evidenceText`). Behind
 * the JSON of evidences and events is a position in the log (`Write.positionOf`).
 */
export const encodeRecord = (record: object): Uint8Array => encodeUtf8(JSON.stringify(record))

/** The part of a stored record that says what it holds. */
export type RecordBytes<T> = Pick<Stored, 'value'> & { readonly key: RecordKey<T> }

/**
 * The record in a stored entry; `undefined` without an entry. Only checks that the bytes are a JSON object, and trusts
 * that it has the members that were written. Throws `CORRUPT` otherwise.
 */
export function decodeRecord<T extends object>(entry: RecordBytes<T>): NoInfer<T>
export function decodeRecord<T extends object>(entry: RecordBytes<T> | undefined): NoInfer<T> | undefined
export function decodeRecord<T extends object>(entry: RecordBytes<T> | undefined): T | undefined {
  if (entry === undefined) return undefined
  const { json, position } = parse(entry)
  if (typeof json !== 'object' || json === null) throw corruptRecord(entry, 'not a JSON object')
  const record =
    position === undefined
      ? json
      : isEvidenceKey(entry.key)
        ? evidenceOfValues(entry.key, json, position)
        : Object.assign(json, { position })
  if (record === undefined) throw corruptRecord(entry, 'not an evidence')
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- `putRecord` wrote it with this type
  return record as T
}

const POSITION_BYTES = 8

function parse(entry: RecordBytes<unknown>): { readonly json: unknown; readonly position?: number } {
  const { key, value } = entry
  try {
    if (!isEvidenceKey(key) && !isLaterEventKey(key)) return { json: JSON.parse(decodeUtf8(value)) }
    const end = value.length - POSITION_BYTES
    return { json: JSON.parse(decodeUtf8(value.subarray(0, end))), position: readU64(value, end) }
  } catch (cause) {
    throw corruptRecord(entry, 'not JSON', cause)
  }
}

/** `CORRUPT` for a record that is not what was written. */
export const corruptRecord = ({ key }: { readonly key: Key }, what: string, cause?: unknown): RegistryError =>
  corrupt(`The record ${key} is ${what}`, cause)

/** The text in an entry. */
export const textOf = ({ value }: Pick<Stored, 'value'>): string => decodeUtf8(value)

/** The bytes of a stored hash or key in hex. Throws `CORRUPT` for a text that is not hex, or a record without one. */
export function storedBytes(hex: string | undefined, what: string): Uint8Array {
  const bytes = hex === undefined ? undefined : fromHex(hex)
  if (bytes === undefined) throw corrupt(`${what} is not hex: ${hex}`)
  return bytes
}

/** The bytes of a stored text in base64. Throws `CORRUPT` for a text that is not base64. */
export function storedBase64(text: string | undefined, what: string): Uint8Array {
  const bytes = text === undefined ? undefined : fromBase64(text)
  if (bytes === undefined) throw corrupt(`${what} is not base64`)
  return bytes
}
