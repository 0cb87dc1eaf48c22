import type { Json } from '../../core/index.ts'

/** Which fields of a request count as given, in a body and in a line of an import. */

/** The fields of a request by name, before they are validated. */
export type Fields = Record<string, Json>

/**
 * The fields of a body that are given: without `null` and empty texts, so that a form with empty inputs and a
 * serializer that writes nulls change nothing. Holds also for the objects of a list, but not for members of objects,
 * because those of `meta` are data.
 */
export function givenFields(fields: Fields): Fields {
  const given: Fields = {}
  for (const [name, value] of Object.entries(fields))
    if (isGiven(value)) given[name] = Array.isArray(value) ? value.map(givenItem) : idInput(name, value)
  return given
}

/** Whether a field has a value: `null` and the empty text mean that it has none. */
export const isGiven = (value: Json | undefined): boolean => value !== undefined && value !== null && value !== ''

const givenItem = (item: Json): Json => (isObject(item) ? givenFields(item) : item)

/** Names of path parameters, query parameters and fields that are ids which the service has made. */
const IDS = new Set(['CATEGORY_ID', 'SUBCATEGORY_ID', 'SYSTEM_ID', 'categoryId', 'subcategoryId', 'fileId'])
/** Ids of the service in either case. Other texts stay as they are, and are not found. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The value of a parameter or field. An id is accepted in either case, and is in lowercase here. */
export const idInput = <T>(name: string, value: T): T | string =>
  IDS.has(name) && typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : value

/** Whether a value is a JSON object, not a list and not `null`. */
export const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
