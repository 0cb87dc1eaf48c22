import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Static, TSchema } from '#typebox'
import { canonicalJson } from '../commitment/canonical-json.ts'
import { parseStrictJson } from '../commitment/strict-json.ts'
import { isError, RegistryError } from '../errors.ts'
import { MAX_META_BYTES, MAX_META_DEPTH } from './fields.ts'
import { isId } from '../ids.ts'

const RFC_3339 = /^(\d{4}-\d\d-\d\d)T(?!24)\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i

/**
 * Whether a text is a time in RFC 3339. `Date` would turn February 30 into March 2, so the day is compared.
 * It also accepts the hour 24.
 */
function isDateTime(text: string): boolean {
  const day = RFC_3339.exec(text)?.[1]
  if (day === undefined || Number.isNaN(Date.parse(day)) || Number.isNaN(Date.parse(text))) return false
  return new Date(day).toISOString().startsWith(day)
}

const ajv = new Ajv2020({ strict: true, verbose: true, formats: { 'date-time': isDateTime } })
const compiled = new WeakMap<TSchema, ValidateFunction>()

/**
 * Returns the value as the schema's type. Throws `VALIDATION_ERROR` for the first member that is wrong. The message
 * begins with the member's path, such as `evidences[17].meta.t`, which is also the error's `field`, and says what the
 * member must be.
 *
 * @param name - what the value itself is called if it has no members, such as `companyId`
 */
export function validate<T extends TSchema>(schema: T, value: unknown, name = ''): Static<T> {
  const check = compiledCheck(schema)
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the schema has just accepted it
  if (check(value)) return value as Static<T>
  throw validationError(name, mostUseful(check.errors ?? []))
}

/**
 * Whether a value has the shape that the schema describes.
 *
 * @example if (hasShape(Settings, value)) start(value)
 */
export const hasShape = <T extends TSchema>(schema: T, value: unknown): value is Static<T> =>
  compiledCheck(schema)(value)

/**
 * The value of a JSON text, `undefined` if the text is not JSON or its value has another shape.
 *
 * @example const settings = readShape(Settings, await readFile('settings.json', 'utf8'))
 */
export function readShape<T extends TSchema>(schema: T, text: string): Static<T> | undefined {
  try {
    const value: unknown = parseStrictJson(text)
    return hasShape(schema, value) ? value : undefined
  } catch {
    return undefined
  }
}

function compiledCheck(schema: TSchema): ValidateFunction {
  let check = compiled.get(schema)
  if (check === undefined) compiled.set(schema, (check = ajv.compile(schema)))
  return check
}

/**
 * A `VALIDATION_ERROR` for one member of the input. `text` continues the sentence that begins with the member's path.
 */
export const invalidInput = (field: string, text: string): RegistryError =>
  new RegistryError('VALIDATION_ERROR', `${field} ${text}`, { field })

/** Throws `VALIDATION_ERROR` if a change both clears and gives a value. An empty text is not given. */
export function assertClearOrGiven(change: object & { readonly clear?: readonly string[] }): void {
  const given = new Set(Object.entries(change).flatMap(([name, value]) => (isGiven(value) ? [name] : [])))
  const both = change.clear?.find((name) => given.has(name))
  if (both !== undefined) throw invalidInput(both, 'must not be both cleared and given')
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== ''

/** The error of a branch of a union says more than that no branch fits. */
const mostUseful = (errors: readonly ErrorObject[]): ErrorObject | undefined =>
  errors.find(({ keyword }) => keyword !== 'anyOf' && keyword !== 'const') ?? errors[0]

function validationError(name: string, error: ErrorObject | undefined): RegistryError {
  const members = error?.instancePath.split('/').slice(1).map(unescapePointer) ?? []
  const missing = memberNamedBy(error)
  const field = [...(name === '' ? [] : [name]), ...members, ...(missing === undefined ? [] : [missing])]
  const path = field
    .reduce((text, part) => text + (/^\d+$/.test(part) ? `[${part}]` : `${text && '.'}${part}`), '')
    .slice(0, 128)
  return path === ''
    ? new RegistryError('VALIDATION_ERROR', `The input ${problemOf(error)}`)
    : invalidInput(path, problemOf(error))
}

/** Reverses the escapes of JSON Pointer (RFC 6901 § 3). */
const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** A missing or unknown member is named by the error's parameters, because the error belongs to its parent. */
function memberNamedBy(error: ErrorObject | undefined): string | undefined {
  if (error?.keyword === 'required') return String(error.params['missingProperty'])
  if (error?.keyword === 'additionalProperties') return String(error.params['additionalProperty'])
  return undefined
}

function problemOf(error: ErrorObject | undefined): string {
  if (error === undefined) return 'is not valid'
  if (error.keyword === 'required') return `is required${expectedMember(error)}`
  if (error.keyword === 'additionalProperties') return `is not a known field${knownFields(error)}`
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- ajv does not type the parameters of errors
  if (error.keyword === 'enum') return `must be one of ${(error.params['allowedValues'] as unknown[]).join(', ')}`
  const description: string | undefined = error.parentSchema?.['description']
  const expected = description === undefined ? (error.message ?? 'is not valid') : `must be ${description}`
  if (error.keyword === 'type' && error.data === undefined) return `is required and ${expected}`
  return error.keyword === 'type' ? `${expected}, not ${kindOf(error.data)}` : expected
}

/** The names that an object may have, for an error that names another one. */
function knownFields({ parentSchema }: ErrorObject): string {
  const names = Object.keys(parentSchema?.['properties'] ?? {})
  return names.length === 0 ? '' : `; known are ${names.join(', ')}`
}

/** What a missing member must be. */
function expectedMember({ params, parentSchema }: ErrorObject): string {
  const properties: Readonly<Record<string, { readonly description?: string }>> = parentSchema?.['properties'] ?? {}
  const description = properties[String(params['missingProperty'])]?.description
  return description === undefined ? '' : ` and must be ${description}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/**
 * The canonical JSON of a meta object. Throws `VALIDATION_ERROR` for what canonical JSON cannot hold, and beyond the
 * limits.
 */
export function metaText(meta: unknown, field = 'meta'): string {
  let text: string
  try {
    text = canonicalJson(meta, { maxDepth: MAX_META_DEPTH })
  } catch (cause) {
    const reason = isError(cause) ? cause.message : 'not a JSON object'
    throw new RegistryError('VALIDATION_ERROR', `${field}: ${reason}`, { field, cause })
  }
  if (Buffer.byteLength(text) > MAX_META_BYTES)
    throw invalidInput(field, `must have at most ${MAX_META_BYTES / 1024} KiB of JSON`)
  return text
}

/** Inputs that may be written in several ways. Any other value is returned as it is, and fails its validation. */

/** Hex in either case, with or without `0x`: in lowercase, without it. */
export const hexInput = (text: string): string =>
  /^(?:0x)?[0-9a-f]+$/i.test(text) ? text.replace(/^0x/i, '').toLowerCase() : text

/** A UUID in either case: in lowercase. */
export function uuidInput(text: string): string {
  const id = text.toLowerCase()
  return isId(id) ? id : text
}
