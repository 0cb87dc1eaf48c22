import type { TSchema } from '#typebox'
import { HttpError } from './errors.ts'

/** The parts of a JSON Schema that say which members a value may have. */
interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly additionalProperties?: unknown
  readonly items?: Shape
}

/**
 * Rejects fields that the schema does not have, so that a typo is an error and not a silent loss. The core validates
 * the values.
 *
 * @throws `VALIDATION_ERROR`
 */
export function assertKnownFields(schema: TSchema, fields: object): void {
  const path = unknownField(schema, fields)
  if (path !== undefined)
    throw new HttpError('VALIDATION_ERROR', `${path.join('.').slice(0, 128)} is not a known field`)
}

/** The path of the first unknown field. */
function unknownField(shape: Shape, value: unknown): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const memberShape = Array.isArray(value) ? shape.items : ownProperty(shape.properties, name)
    if (memberShape === undefined && shape.additionalProperties === false) return [name]
    const path = memberShape && unknownField(memberShape, member)
    if (path !== undefined) return [name, ...path]
  }
  return undefined
}

const ownProperty = (properties: Shape['properties'] = {}, name: string): Shape | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined
