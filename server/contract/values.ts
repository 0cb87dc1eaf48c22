import Type from '#typebox'
import { closed, DateTime as DateTimeText, Id, MAX_LIST_LENGTH } from '../../core/schemas/index.ts'

/**
 * JSON Schemas of single values, as the contract writes them. A description completes the sentence "NAME must be …" in
 * errors. Lengths are in code points.
 */

export {
  closed,
  opt,
  Id,
  IdInput,
  Hash,
  ExternalId,
  Meta,
  Name,
  Person,
  CategoryName,
  Text,
  Permission,
  SendStatus,
  clearSchema,
} from '../../core/schemas/index.ts'

/** A time in a response: a `Date`, which JSON writes in this form. */
export const DateTime = Type.Unsafe<Date>(DateTimeText)
/** A time in a request. */
export const TimeInput = Type.String({
  format: 'date-time',
  description: 'a time in RFC 3339, such as 2027-01-31T12:00:00Z',
})
/** Without a pattern, because the text can have megabytes: the reader decodes it and compares. */
export const Base64 = Type.String({ contentEncoding: 'base64', description: 'base64' })
/** In a query. */
export const TextBoolean = Type.Boolean({ description: 'true, false, 1 or 0' })
/** A number of things. */
export const Count = Type.Integer({ minimum: 0 })
/** The version of an event: 1 is the creation. */
export const Version = Type.Integer({ minimum: 1 })

/** RFC 3339, UTC, milliseconds. */
export const dateTime = (date: Date): string => date.toISOString()

/** The time that a text in RFC 3339 names. */
export const time = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text))

/** A request with an expiry as the core takes it. */
export const withExpiry = <T extends { readonly expiresAt?: string }>({ expiresAt, ...input }: T) => ({
  ...input,
  ...defined({ expiresAt: time(expiresAt) }),
})

/** How many items a page may have. Larger values are accepted. */
export const pageLength = (max = MAX_LIST_LENGTH) =>
  Type.Integer({
    minimum: 1,
    description: `an integer of at least 1; values above ${max} count as ${max}`,
  })

/** Translates the position in a list: `len` items after the one with the id `last`. */
export const pageQuery = (
  { len, last }: { readonly len?: number | undefined; readonly last?: string | undefined },
  maxLength = MAX_LIST_LENGTH,
): { readonly limit?: number; readonly after?: string } =>
  defined({ limit: len && Math.min(len, maxLength), after: last })

/** The members whose value is not `undefined`. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const result: { [K in keyof T]?: Exclude<T[K], undefined> } = {}
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the names of a closed object
  for (const name of Object.keys(members) as (keyof T)[]) {
    const value = members[name]
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- `undefined` is excluded above
    if (value !== undefined) result[name] = value as Exclude<T[typeof name], undefined>
  }
  return result
}

/** Names of path parameters, query parameters and fields that are ids which the service has made. */
const IDS = new Set(['CATEGORY_ID', 'SUBCATEGORY_ID', 'SYSTEM_ID', 'categoryId', 'subcategoryId', 'fileId'])
/** Ids of the service in either case. Other texts stay as they are, and are not found. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The value of a parameter or field. An id is accepted in either case, and is in lowercase here. */
export const idInput = <T>(name: string, value: T): T | string =>
  IDS.has(name) && typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : value

// -- responses that several route groups share

/** A success that has nothing to say. */
export const Ok = closed({ status: Type.Literal('ok') })
export type Ok = Type.Static<typeof Ok>
export const ok: Ok = { status: 'ok' }
/** The id of what was created. */
export const Created = closed({ id: Id })

// -- failures

/** The body of 401 and 403, everywhere the same, so that it tells nothing about what exists. */
export const AuthorizationError = closed(
  { statusCode: Type.Enum([401, 403]), message: Type.Enum(['Unauthorized', 'Forbidden resource']) },
  { description: 'No key, a wrong key, or a key without the permission' },
)
/** The body of all other errors, but for those of proofs. */
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
