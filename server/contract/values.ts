import Type, { type TProperties, type TSchema } from '#typebox'
import { RegistryError, type Meta as CoreMeta } from '../../core/index.ts'

/** JSON Schemas of single values, as the contract writes them. Lengths are in code points. The core validates them. */

/** An object without members other than the named ones: a typo is an error and not a silent loss. */
export const closed = <T extends TProperties>(properties: T, options: { readonly description?: string } = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

export const opt = <T extends TSchema>(schema: T) => Type.Optional(schema)

export const Id = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  description: 'UUID in lowercase; the ids that the service makes are of version 7',
})
export const Hash = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256: 64 lowercase hex digits' })
export const DateTime = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
  description: 'RFC 3339, UTC, milliseconds',
})
/** A time in a request. */
export const TimeInput = Type.String({
  format: 'date-time',
  description: 'RFC 3339, in the future',
})
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]+$',
  description: 'Any text without control characters, unique in its company; not . or ..',
})
const noControls = '^[^\\p{Cc}\\p{Cs}]*$'
/** One line that may be empty. */
export const Line = Type.String({
  maxLength: 256,
  pattern: noControls,
  description: 'At most 256 characters, no control characters',
})
export const Name = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: noControls,
  description: '1 to 256 characters, no control characters',
})
export const CategoryName = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^[^/\\p{Cc}\\p{Cs}]+$',
  description: '1 to 256 characters, no / and no control characters',
})
/** Several lines. */
export const Text = Type.String({
  maxLength: 8_192,
  pattern: '^(?:[\\t\\n\\r]|[^\\p{Cc}\\p{Cs}])*$',
  description: 'At most 8,192 characters; of control characters only tab, LF and CR',
})
export const Meta = Type.Unsafe<CoreMeta>(
  Type.Record(Type.String(), Type.Unknown(), {
    description: 'A JSON object, at most 64 KiB and 32 levels deep, that survives canonical JSON (RFC 8785)',
  }),
)
export const Permission = Type.Enum(['I', 'U', 'R', 'A'], {
  description: 'R reads; I also creates; U also updates; A also manages source systems',
})
export const Base64 = Type.String({ pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' })
export const Count = Type.Integer({ minimum: 0 })
export const Version = Type.Integer({ minimum: 1 })
export const SendStatus = Type.Enum(['P', 'S', 'C'], { description: 'P pending, S sent, C confirmed' })

/** RFC 3339, UTC, milliseconds. */
export const dateTime = (date: Date): string => date.toISOString()

const RFC_3339 = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i

/** The time that a client has sent, which may be of any type. Throws `VALIDATION_ERROR` if it is not RFC 3339. */
function timeInput(field: string, value: unknown): Date {
  const day = typeof value === 'string' ? RFC_3339.exec(value)?.[1] : undefined
  // `Date` would turn February 30 into March 2.
  const isDay = day !== undefined && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day)
  const time = new Date(isDay ? String(value) : NaN)
  if (!Number.isNaN(time.getTime())) return time
  const kind = value === null ? 'null' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
  const problem = typeof value === 'string' ? '' : `, not ${kind}`
  throw new RegistryError(
    'VALIDATION_ERROR',
    `${field} must be a time in RFC 3339, such as 2027-01-31T12:00:00Z${problem}`,
    {
      field,
    },
  )
}

/** As `timeInput`, of a value that may be absent. */
export const optionalTime = (field: string, value: unknown): Date | undefined =>
  value === undefined ? undefined : timeInput(field, value)

/** The longest page of a list. */
export const MAX_LIST_LENGTH = 1_000

/**
 * The length of a page: `len`, or `max` if it is larger. Throws `VALIDATION_ERROR` for what is not an integer from 1.
 * The core's own error would name a maximum, which requests do not have.
 */
export function pageLength(len: number | undefined, max = MAX_LIST_LENGTH): number | undefined {
  if (len === undefined) return undefined
  if (Number.isInteger(len) && len >= 1) return Math.min(len, max)
  const rule = `len must be an integer of at least 1; values above ${max} count as ${max}`
  throw new RegistryError('VALIDATION_ERROR', rule, { field: 'len' })
}

/** Translates the position in a list: `len` items after the one with the id `last`. */
export const pageQuery = (
  { len, last }: { readonly len?: number | undefined; readonly last?: string | undefined },
  maxLength = MAX_LIST_LENGTH,
): { readonly limit?: number; readonly after?: string } => defined({ limit: pageLength(len, maxLength), after: last })

/** The members whose value is not `undefined`. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const result: { [K in keyof T]?: Exclude<T[K], undefined> } = {}
  for (const name of Object.keys(members) as (keyof T)[]) {
    const value = members[name]
    if (value !== undefined) result[name] = value as Exclude<T[typeof name], undefined>
  }
  return result
}

/** The names of values that a change removes. */
export const clearSchema = <const Name extends string>(names: Name[]) =>
  Type.Array(Type.Enum(names), {
    description:
      'Names of values to remove; in a form also separated by commas. An empty value or null removes nothing',
  })

// -- responses that several route groups share

export const Ok = closed({ status: Type.Literal('ok') })
export type Ok = Type.Static<typeof Ok>
export const ok: Ok = { status: 'ok' }
export const Created = closed({ id: Id })

// -- failures

export const AuthorizationError = closed(
  { statusCode: Type.Enum([401, 403]), message: Type.Enum(['Unauthorized', 'Forbidden resource']) },
  { description: 'No key, a wrong key, or a key without the permission' },
)
export const OperationError = closed(
  { error: Type.String({ description: 'For people; may change' }), code: Type.String({ description: 'Stable' }) },
  { description: 'Every other failure' },
)
/** Open, because a `not_found` proof also repeats the id of the request. */
export const VerificationError = Type.Object(
  {
    status: Type.Enum(['invalid', 'not_found', 'ambiguous', 'error'], {
      description: 'error says nothing about the requested proof',
    }),
    error: Type.String(),
    code: Type.String(),
  },
  { description: 'A failure of a verification endpoint' },
)
