import Type from '#typebox'
import {
  clearSchema,
  closed,
  CompanyId,
  IdToFind,
  type Input,
  limitSchema,
  Name,
  opt,
  Permission,
  Time,
  without,
} from './fields.ts'

/** What the operations on companies and their source systems take. */

/** A key that the client has chosen. Only a hash of it is stored. */
export const apiKey = Type.String({
  minLength: 16,
  maxLength: 1_024,
  ...without('[^\\x21-\\x7e]'),
  description: 'a string of 16 to 1,024 printable ASCII characters without spaces',
})

const MAX_GRACE_SECONDS = 7 * 24 * 3_600

/** How long a replaced key still works. */
export const graceSeconds = Type.Integer({
  minimum: 0,
  maximum: MAX_GRACE_SECONDS,
  description: `an integer of 0 to ${MAX_GRACE_SECONDS}`,
})

/** What a change of a source system can remove. */
export const removedExpiry = clearSchema(['expiresAt'])

export const NewSourceSystem = closed({
  /** 1 to 256 characters without control characters. */
  name: Name,
  /**
   * The caller's own key, 16 to 1,024 printable ASCII characters without spaces. Default: the registry generates one
   * from 256 random bits.
   */
  apiKey: opt(apiKey),
  /** Default `U`. */
  permissions: opt(Permission),
  /** In the future. From then on the key does not work. Default: it does not expire. */
  expiresAt: opt(Time),
})
export type NewSourceSystem = Input<typeof NewSourceSystem>

export const SourceSystemChange = closed({
  name: opt(Name),
  /** Replaces the key. All previous ones stop working: at once, or after `graceSeconds`. */
  apiKey: opt(apiKey),
  /**
   * With `apiKey`: how long the replaced key still works, 0 to 604,800. Default 0, which also ends the grace period of
   * every key that was replaced earlier.
   */
  graceSeconds: opt(graceSeconds),
  permissions: opt(Permission),
  active: opt(Type.Boolean({ description: 'a boolean' })),
  /** In the future. It stays as it is if the key is replaced. */
  expiresAt: opt(Time),
  /** Removes the expiry, which must not be given then. */
  clear: opt(removedExpiry),
})
/** At least one member must be given. */
export type SourceSystemChange = Input<typeof SourceSystemChange>

export const AuditQuery = closed({
  /** 1 to 1,000 entries. Default 100. */
  limit: opt(limitSchema()),
  /** Only entries that are older than this one: its id. */
  after: opt(IdToFind),
})
export type AuditQuery = Input<typeof AuditQuery>

export const CompanyQuery = closed({
  /** 1 to 1,000 companies. Default 100. */
  limit: opt(limitSchema()),
  /** Only companies whose id is greater than this one. */
  after: opt(Type.Unsafe<string>(CompanyId)),
})
export type CompanyQuery = Input<typeof CompanyQuery>
