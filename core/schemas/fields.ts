import Type, { type Static, type TProperties, type TSchema } from '#typebox'
import type { CompanyId as CompanyIdText, FileId as FileIdText } from '../api/scope.ts'
import type { Json } from '../commitment/canonical-json.ts'

/**
 * JSON Schemas of single fields. The descriptions complete the sentence "NAME must be …" in error messages
 * (validation.ts). Lengths are in code points.
 */

/** An object without other members than the named ones, so that a typo is an error and not a silent loss. */
export const closed = <T extends TProperties>(properties: T, options: { description?: string; $id?: string } = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

export const opt = <T extends TSchema>(schema: T) => Type.Optional(schema)

/**
 * What a caller passes where this schema is checked. Read-only, so that it takes what the caller must not change. The
 * comments of the schema's members are those of the type.
 */
export type Input<Schema extends TSchema> = {
  readonly [Name in keyof Static<Schema>]: ReadonlyList<Static<Schema>[Name]>
}
type ReadonlyList<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value

/**
 * Nothing in a text matches. Use it instead of a pattern that ends with `$`, which in Python also matches before a last
 * line feed: clients make validators of the OpenAPI document, so a pattern must mean the same in every engine.
 */
export const without = (pattern: string) => ({ not: { type: 'string', pattern } })
/** No lone surrogate. The OpenAPI document leaves it out: not every engine knows `\\P`, and UTF-8 has none anyway. */
export const WELL_FORMED = '^\\P{Cs}*$'
const textWithout = (pattern: string) => ({ pattern: WELL_FORMED, ...without(pattern) })
const CONTROLS = '\\x00-\\x1f\\x7f-\\x9f'
/** White space beside the controls, as characters: engines differ in `\\s` and in escapes beyond `\\xff`. */
const SPACES = ' \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
const BLANK = `^[${SPACES}]+$`
/** So many lowercase hex digits. Without `$`, because the length is limited. */
export const hexOf = (length: number) => ({ maxLength: length, pattern: `^[0-9a-f]{${length}}` })

export const MAX_META_BYTES = 64 * 1024
export const MAX_META_DEPTH = 32

export const CompanyId = Type.Unsafe<CompanyIdText>(
  Type.String({
    pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$',
    description: 'a string of 1 to 64 of A-Z a-z 0-9 . _ - (but not . or ..)',
  }),
)
export const Id = Type.String({
  maxLength: 36,
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  description: 'a UUID in lowercase',
})
export const FileId = Type.Unsafe<FileIdText>(Id)
/** An id that is accepted in either case, as `uuidInput` is applied to it. */
export const IdInput = Type.String({
  maxLength: 36,
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}',
  description: 'a UUID',
})
export const Hash = Type.String({ ...hexOf(64), description: 'a SHA-256 hash of 64 lowercase hex digits' })
export const DateTime = Type.String({
  format: 'date-time',
  maxLength: 24,
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z',
  description: 'a time in RFC 3339, UTC, with milliseconds',
})
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 128,
  ...textWithout(`^[.]{1,2}$|[${CONTROLS}]`),
  description: 'a string of 1 to 128 characters without control characters (but not . or ..)',
})
export const ExternalIdPrefix = Type.String({
  minLength: 1,
  maxLength: 128,
  ...textWithout(`[${CONTROLS}]`),
  description: 'a string of 1 to 128 characters without control characters',
})
/** A `Date`, which JSON Schema does not know: the operation checks it. */
export const Time = Type.Unsafe<Date>({ description: 'a valid Date' })
/** How many items a page of most lists has at most. */
export const MAX_LIST_LENGTH = 1_000
/** How many items a page has at most. */
export const limitSchema = (maximum = MAX_LIST_LENGTH) =>
  Type.Integer({ minimum: 1, maximum, description: `an integer of 1 to ${maximum}` })
/** One line that may be empty. */
export const Line = Type.String({
  maxLength: 256,
  ...textWithout(`[${CONTROLS}]`),
  description: 'a string of at most 256 characters without control characters',
})
/** The name of an owner or a persona. */
export const Person = Type.String({
  maxLength: 256,
  ...textWithout(`${BLANK}|[${CONTROLS}]`),
  description: 'a string of at most 256 characters without control characters (not only white space)',
})
export const Name = Type.String({
  minLength: 1,
  maxLength: 256,
  ...textWithout(`${BLANK}|[${CONTROLS}]`),
  description: 'a string of 1 to 256 characters without control characters (not only white space)',
})
export const CategoryName = Type.String({
  minLength: 1,
  maxLength: 256,
  ...textWithout(`${BLANK}|[/${CONTROLS}]`),
  description: 'a string of 1 to 256 characters without / and control characters (not only white space)',
})
/** Several lines. */
export const Text = Type.String({
  maxLength: 8_192,
  ...textWithout('[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]'),
  description: 'a string of at most 8,192 characters without control characters except tab, LF and CR',
})
/** A JSON object that survives canonical JSON (RFC 8785): at most 64 KiB and 32 levels deep. */
export type Meta = { readonly [name: string]: Json }
export const Meta = Type.Unsafe<Meta>(
  Type.Record(Type.String(), Type.Unknown(), {
    description: `a JSON object of at most ${MAX_META_BYTES / 1024} KiB and ${MAX_META_DEPTH} levels`,
  }),
)
export const Permission = Type.Enum(['I', 'U', 'R', 'A'], {
  description: 'R reads; I also creates; U also updates; A also manages source systems',
})
export const SendStatus = Type.Enum(['P', 'S', 'C'], { description: 'P pending, S sent, C confirmed' })
/** The names of values that a change removes. */
export const clearSchema = <const Name extends string>(names: Name[]) =>
  Type.Array(Type.Enum(names), { description: `an array with names of ${names.join(', ')}` })
/**
 * An id that a look-up searches for. A string that is not an id of this registry is not found, which is not an error of
 * form.
 */
export const IdToFind = Type.String({ description: 'a string' })
