import type { Json } from '../../core/index.ts'
import { idInput } from './values.ts'

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

/** Whether a value is a JSON object, not a list and not `null`. */
export const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
