/**
 * Every way in which the registry refuses or fails. Codes are stable and promised; messages are for people and may change.
 * The HTTP status and body of each code live in `server/http/errors.ts`.
 */
export const ERROR_CODES = [
  // The caller's input.
  'VALIDATION_ERROR',
  'MALFORMED_BODY',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RANGE_NOT_SATISFIABLE',
  'RATE_LIMITED',
  'UNAUTHORIZED',
  'FORBIDDEN',
  // What it names does not exist (or belongs to somebody else, which is the same to the caller).
  'COMPANY_NOT_FOUND',
  'CATEGORY_NOT_FOUND',
  'SUBCATEGORY_NOT_FOUND',
  'EVIDENCE_NOT_FOUND',
  'FILE_NOT_FOUND',
  'SOURCE_SYSTEM_NOT_FOUND',
  'BATCH_NOT_FOUND',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  // It clashes with what is there.
  'EXTERNAL_ID_EXISTS',
  'NAME_EXISTS',
  'KEY_EXISTS',
  'CATEGORY_NOT_EMPTY',
  'CATEGORY_INACTIVE',
  'CATEGORY_MISMATCH',
  'IDEMPOTENCY_KEY_REUSED',
  'VERSION_CONFLICT',
  // Ours.
  'INTERNAL',
  'UNAVAILABLE',
  /** A write whose outcome could not be learnt: it may or may not have been applied. */
  'UNKNOWN_OUTCOME',
  /** The store refused a write and takes no more until it is reopened and checked. */
  'STORE_POISONED',
  /** Somebody else owns the store's directory. */
  'STORE_LOCKED',
  /** Stored bytes are not what they must be (a hash, a chain, a format). */
  'CORRUPT',
  /** The store holds less than was signed: a restore that lost entries. */
  'LOG_BEHIND_SIGNED',
  /** The configuration cannot be used; the message names the setting. */
  'CONFIG_ERROR',
  /** The checkpoint key does not belong to this log. */
  'LOG_KEY_MISMATCH',
  /** A proof, signature, token or block that does not verify. */
  'VERIFICATION_FAILED',
  /** A worker of the sealing pool died or was refused; the work can be done again. */
  'ENGINE_FAILED',
  /** A timestamp authority or chain did not do what was asked; it is tried again. */
  'AUTHORITY_FAILED',
  'ANCHOR_FAILED',
  'CLOSED',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** The one error class of the registry. Catch it by `code`; `cause` keeps what was underneath. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** True for a `RegistryError` (of that code, where one is named), also one from another copy of this module. */
export function isRegistryError(error: unknown, code?: ErrorCode): error is RegistryError {
  return (
    error instanceof Error &&
    error.name === 'RegistryError' &&
    (code === undefined || (error as RegistryError).code === code)
  )
}
