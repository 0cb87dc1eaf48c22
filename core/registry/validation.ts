import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Static, TSchema } from 'typebox'
import { canonicalJson } from '../commitment/canonical-json.ts'
import { RegistryError } from '../errors.ts'
import { MAX_META_BYTES, MAX_META_DEPTH } from './schemas.ts'

const dateTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)\.\d{3}Z$/

const ajv = new Ajv2020({ strict: true, verbose: true, formats: { 'date-time': dateTime } })
const compiled = new WeakMap<TSchema, ValidateFunction>()

/** The value as the schema's type. Throws `VALIDATION_ERROR` with a text that names the field and what it takes. */
export function validate<T extends TSchema>(schema: T, value: unknown): Static<T> {
  let check = compiled.get(schema)
  if (check === undefined) compiled.set(schema, (check = ajv.compile(schema)))
  if (check(value)) return value as Static<T>
  throw new RegistryError('VALIDATION_ERROR', explain(check.errors ?? []))
}

/** One line for the first error: the field, and what it takes. */
function explain(errors: readonly ErrorObject[]): string {
  const error = errors.find(({ keyword }) => keyword !== 'anyOf' && keyword !== 'const') ?? errors[0]
  if (error === undefined) return 'The input is not valid'
  const at = error.instancePath.slice(1).replaceAll('/', '.')
  if (error.keyword === 'required') return `${path(at, String(error.params['missingProperty']))} is required`
  if (error.keyword === 'additionalProperties')
    return `${path(at, String(error.params['additionalProperty']))} is not a known field`
  const takes = (error.parentSchema as { description?: string } | undefined)?.description
  const field = at === '' ? 'The input' : at
  if (error.keyword === 'enum')
    return `${field} takes one of ${(error.params['allowedValues'] as unknown[]).map(String).join(', ')}`
  return takes === undefined ? `${field} ${error.message ?? 'is not valid'}` : `${field} takes: ${takes}`
}

const path = (at: string, name: string): string => (at === '' ? name : `${at}.${name}`).slice(0, 128)

/** The canonical text of a meta object. Throws `VALIDATION_ERROR` for what canonical JSON refuses, and beyond the limits. */
export function metaText(meta: unknown): string {
  let text: string
  try {
    text = canonicalJson(meta, { maxDepth: MAX_META_DEPTH })
  } catch (cause) {
    throw new RegistryError(
      'VALIDATION_ERROR',
      `meta: ${cause instanceof Error ? cause.message : 'not a JSON object'}`,
      { cause },
    )
  }
  if (Buffer.byteLength(text) > MAX_META_BYTES)
    throw new RegistryError('VALIDATION_ERROR', `meta takes at most ${MAX_META_BYTES / 1024} KiB of JSON`)
  return text
}
