import Type from '#typebox'
import { timeOfDate } from '../../clock.ts'
import { closed, CompanyId, IdToFind, limitSchema, Name, opt, Permission, Time } from '../../schemas/fields.ts'
import { apiKey, graceSeconds } from '../../schemas/inputs.ts'
import { invalidInput } from '../../schemas/validation.ts'

/** The same as the input types in core/api. */

const MAX_LIST_LENGTH = 1_000
export const newSourceSystemSchema = closed({
  name: Name,
  apiKey: opt(apiKey),
  permissions: opt(Permission),
  expiresAt: opt(Time),
})

export const sourceSystemChangeSchema = closed({
  name: opt(Name),
  apiKey: opt(apiKey),
  graceSeconds: opt(graceSeconds),
  permissions: opt(Permission),
  active: opt(Type.Boolean({ description: 'a boolean' })),
  expiresAt: opt(Time),
})

const limit = opt(limitSchema(MAX_LIST_LENGTH))

export const auditQuerySchema = closed({ limit, after: opt(IdToFind) })

export const companyQuerySchema = closed({ limit, after: opt(CompanyId) })

/** `expiresAt` in ms since 1970. Throws `VALIDATION_ERROR` unless it is a valid `Date` after `now`. */
export function futureTime(expiresAt: Date, now: number): number {
  const time = timeOfDate(expiresAt)
  if (!(time > now)) throw invalidInput('expiresAt', 'must be a valid time in the future')
  return time
}
