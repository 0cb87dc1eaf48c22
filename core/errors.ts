import type { VerificationRule } from './rules.ts'

/**
 * Every way in which the registry rejects a call or fails. Codes are stable, and part of the compatibility promise.
 * Messages are written for people and may change. The HTTP status and body of each code are in
 * `server/contract/errors.ts`.
 */
export const ERROR_CODES = [
  // -- The caller's input is not valid. Correct it; the same call fails again.

  /** A value breaks a rule. The message names the value and the rule. */
  'VALIDATION_ERROR',
  /** A file is larger, or JSON has more values, than allowed. The message names the limit. */
  'PAYLOAD_TOO_LARGE',
  /** A requested byte range lies outside the file. Request one within its size. */
  'RANGE_NOT_SATISFIABLE',

  // -- The caller may not do this.

  /** The key is valid, but its level or company does not permit this operation. Use a key that does. */
  'FORBIDDEN',

  // -- A named thing does not exist, or belongs to another company, which a caller cannot tell apart.

  'COMPANY_NOT_FOUND',
  'CATEGORY_NOT_FOUND',
  'SUBCATEGORY_NOT_FOUND',
  'EVIDENCE_NOT_FOUND',
  'FILE_NOT_FOUND',
  'SOURCE_SYSTEM_NOT_FOUND',
  'BATCH_NOT_FOUND',
  /** A share that does not exist, has ended or expired, or another secret: a caller cannot tell them apart. */
  'SHARE_NOT_FOUND',
  'ERASURE_NOT_FOUND',

  // -- The call is valid, but conflicts with what is stored.

  /** The company already has an evidence with this external id. Use another one, or update that evidence. */
  'EXTERNAL_ID_EXISTS',
  /** The name is in use by another category, subcategory or source system. Choose another one. */
  'NAME_EXISTS',
  /** The API key is in use by another source system of the company. Choose another one. */
  'KEY_EXISTS',
  /** The category or subcategory still has subcategories or evidences. Remove or move them first. */
  'CATEGORY_NOT_EMPTY',
  /** The category or subcategory is inactive and accepts no new evidences. Activate it, or choose another one. */
  'CATEGORY_INACTIVE',
  /** The category or subcategory has as many files as it can have. Delete some of them first. */
  'TOO_MANY_FILES',
  /** The evidence has as many open shares as it can have. End some of them first. */
  'TOO_MANY_SHARES',
  /** A bundle would be larger than a verifier accepts. Choose fewer `fields`, or `versions`. */
  'BUNDLE_TOO_LARGE',
  /** The id and name of a category do not belong together, or the subcategory is not in the category. */
  'CATEGORY_MISMATCH',
  /** This idempotency key was already used for a different call. Use a new key for a new call. */
  'IDEMPOTENCY_KEY_REUSED',
  /** The record has a newer version than the caller expects. Read it again, then decide again. */
  'VERSION_CONFLICT',

  // -- The registry, a store or an outside service failed.

  /** A defect of the registry. Report it, with the log of the process. */
  'INTERNAL',
  /**
   * Cannot be done now: a store cannot be reached, the clock is wrong, or too many calls are waiting. Try again later.
   */
  'UNAVAILABLE',
  /**
   * The outcome of a write could not be determined: it may have been applied. Read, or try again with the same
   * idempotency key.
   */
  'UNKNOWN_OUTCOME',
  /**
   * A write of the store failed, so it accepts no more writes. Reads still work. Fix the cause (a full disk), and open
   * the store again. The server ends with exit code 75 once the disk can be written, so that its supervisor starts it.
   */
  'STORE_POISONED',
  /** Another process uses the directory of the store. Stop that process, or use another directory. */
  'STORE_LOCKED',
  /**
   * Stored bytes are damaged: a hash, a chain or a format does not match. Run `fsck`, and restore the store from a
   * backup.
   */
  'CORRUPT',
  /**
   * The store has fewer entries than were signed, or other ones: it was set back. Restore the newest store or a later
   * backup.
   */
  'LOG_BEHIND_SIGNED',
  /** A setting or option cannot be used. The message names it and says what it must be. */
  'CONFIG_ERROR',
  /**
   * The root secret is not the one of this log, or the signer does not have its newest checkpoint key. Start with the
   * secret and the keys of this log.
   */
  'LOG_KEY_MISMATCH',
  /** A proof, signature, token, checkpoint or block does not verify. Do not trust it. */
  'VERIFICATION_FAILED',
  /**
   * A worker of the sealing pool or of the event engine failed. The sealer does its work again by itself. Repeat a
   * write that failed with it.
   */
  'ENGINE_FAILED',
  /** A timestamp authority did not return a valid token. The sealer requests one again by itself. */
  'AUTHORITY_FAILED',
  /** A chain did not accept or confirm an anchor, or its endpoint failed. The sealer tries again by itself. */
  'ANCHOR_FAILED',
  /** A witness did not return a valid cosignature, or cannot be reached. The sealer asks it again by itself. */
  'WITNESS_FAILED',
  /** The object was closed, or not started. Open a new one. */
  'CLOSED',
] as const

/** The code of a `RegistryError`. `ERROR_CODES` explains each of them. */
export type ErrorCode = (typeof ERROR_CODES)[number]

/**
 * The only error class of the registry. Distinguish errors by their `code`; `cause` is the underlying error.
 *
 * @example
 * try {
 *   verifyCheckpoint(note, verifierKey)
 * } catch (error) {
 *   if (!isRegistryError(error, 'VERIFICATION_FAILED')) throw error
 *   console.error(error.message)
 * }
 */
export class RegistryError extends Error {
  override readonly name = 'RegistryError'
  readonly code: ErrorCode
  /** The member of the input that is wrong, as a dotted path such as `category.name`. The message begins with it. */
  declare readonly field?: string
  /** The rule that does not hold, of the code `VERIFICATION_FAILED`. */
  declare readonly rule?: VerificationRule
  /** How long the service outside that failed asks not to be called again, in ms. */
  declare readonly retryAfterMs?: number

  constructor(code: ErrorCode, message: string, options: RegistryErrorOptions = {}) {
    super(message, options)
    this.code = code
    if (options.field !== undefined) this.field = options.field
    if (options.rule !== undefined) this.rule = options.rule
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
  }
}

export interface RegistryErrorOptions {
  readonly cause?: unknown
  readonly field?: string
  readonly rule?: VerificationRule
  readonly retryAfterMs?: number
}

/** Whether a value is an error, also one of another realm: test runners load modules in contexts of their own. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'

/** The message of what was thrown. */
export const messageOf = (thrown: unknown): string => (isError(thrown) ? thrown.message : String(thrown))

/**
 * Whether a value is a `RegistryError`, and has this code if one is given. Unlike `instanceof`, it also recognizes
 * errors of another copy of this module.
 */
export function isRegistryError(error: unknown, code?: ErrorCode): error is RegistryError {
  if (!isError(error) || error.name !== 'RegistryError' || !('code' in error)) return false
  return code === undefined || error.code === code
}

/** What was thrown, if it is a `RegistryError`, else one with this code and that as its cause. */
export const withCode = (code: ErrorCode, thrown: unknown): RegistryError =>
  isRegistryError(thrown) ? thrown : new RegistryError(code, messageOf(thrown), { cause: thrown })

/** The error for what breaks a rule of verification. */
export const verificationError = (rule: VerificationRule, message: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', message, { rule, cause })

/** The error for stored data that is damaged or lost. `what` is a whole sentence without its end. */
export const corrupt = (what: string, cause?: unknown): RegistryError =>
  new RegistryError('CORRUPT', `${what}: restore the record store from a backup`, { cause })
