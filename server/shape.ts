import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Static, type TSchema } from '#typebox'
import { parseStrictJson } from '../core/index.ts'

const ajv = new Ajv2020({ strict: true })
const checks = new WeakMap<TSchema, ValidateFunction>()

/** Whether a value has the shape that the schema describes. */
export function hasShape<T extends TSchema>(schema: T, value: unknown): value is Static<T> {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = ajv.compile(schema)))
  return check(value)
}

/** The value of a JSON text, `undefined` if the text is not JSON or its value has another shape. */
export function readShape<T extends TSchema>(schema: T, text: string): Static<T> | undefined {
  try {
    const value: unknown = parseStrictJson(text)
    return hasShape(schema, value) ? value : undefined
  } catch {
    return undefined
  }
}
