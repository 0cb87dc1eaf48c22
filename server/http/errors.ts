import { isRegistryError, RegistryError, type ErrorCode } from '../../core/errors.ts'

/** The one place that knows which HTTP status and which body a failure has. */

/** How a code leaves the server. One that is not the caller's business has another `code` or a fixed `text`. */
interface Exit {
  readonly status: number
  readonly code?: ErrorCode
  readonly text?: string
}

const internal: Exit = {
  status: 500,
  code: 'INTERNAL',
  text: 'Something went wrong here; the log tells what, by the request id',
}
const unavailable: Exit = { status: 503, code: 'UNAVAILABLE', text: 'The service cannot do this now; try again later' }

const EXITS: { readonly [K in ErrorCode]: Exit } = {
  VALIDATION_ERROR: { status: 400 },
  MALFORMED_BODY: { status: 400 },
  UNAUTHORIZED: { status: 401 },
  FORBIDDEN: { status: 403 },
  COMPANY_NOT_FOUND: { status: 404 },
  CATEGORY_NOT_FOUND: { status: 404 },
  SUBCATEGORY_NOT_FOUND: { status: 404 },
  EVIDENCE_NOT_FOUND: { status: 404 },
  FILE_NOT_FOUND: { status: 404 },
  SOURCE_SYSTEM_NOT_FOUND: { status: 404 },
  BATCH_NOT_FOUND: { status: 404 },
  NOT_FOUND: { status: 404 },
  METHOD_NOT_ALLOWED: { status: 405 },
  EXTERNAL_ID_EXISTS: { status: 409 },
  NAME_EXISTS: { status: 409 },
  KEY_EXISTS: { status: 409 },
  CATEGORY_NOT_EMPTY: { status: 409 },
  CATEGORY_INACTIVE: { status: 409 },
  CATEGORY_MISMATCH: { status: 409 },
  IDEMPOTENCY_KEY_REUSED: { status: 409 },
  VERSION_CONFLICT: { status: 412 },
  PAYLOAD_TOO_LARGE: { status: 413 },
  UNSUPPORTED_MEDIA_TYPE: { status: 415 },
  RANGE_NOT_SATISFIABLE: { status: 416 },
  RATE_LIMITED: { status: 429 },
  INTERNAL: internal,
  CORRUPT: internal,
  CONFIG_ERROR: internal,
  LOG_KEY_MISMATCH: internal,
  VERIFICATION_FAILED: internal,
  UNAVAILABLE: unavailable,
  UNKNOWN_OUTCOME: {
    status: 503,
    text: 'It could not be learnt whether this was done; look, or try again with the same Idempotency-Key',
  },
  STORE_POISONED: unavailable,
  STORE_LOCKED: unavailable,
  LOG_BEHIND_SIGNED: unavailable,
  ENGINE_FAILED: unavailable,
  AUTHORITY_FAILED: unavailable,
  ANCHOR_FAILED: unavailable,
  CLOSED: unavailable,
}

/** A failure as the caller sees it. */
export interface Failure {
  readonly status: number
  readonly code: ErrorCode
  readonly text: string
}

/** What any thrown value means to the caller. A 5xx never shows an internal message. */
export function failureOf(error: unknown): Failure {
  if (!isRegistryError(error)) return failureOf(new RegistryError('INTERNAL', ''))
  const { status, code = error.code, text = error.message } = EXITS[error.code]
  return { status, code, text }
}

export const statusOf = (code: ErrorCode): number => EXITS[code].status

/** The codes that are seen outside with a status, for the OpenAPI document. */
export const codesWith = (status: number): readonly ErrorCode[] =>
  (Object.keys(EXITS) as ErrorCode[]).filter(
    (code) => EXITS[code].status === status && (EXITS[code].code ?? code) === code,
  )

/** Whose body an answer has: 401 and 403 have the authorization shape everywhere, verification answers carry a status. */
export type ErrorShape = 'operation' | 'verification'

/** The JSON body of a failure. */
export function errorBody({ status, code, text }: Failure, shape: ErrorShape): object {
  if (status === 401) return { statusCode: 401, message: 'Unauthorized' }
  if (status === 403) return { statusCode: 403, message: 'Forbidden resource' }
  if (shape === 'operation') return { error: text, code }
  return { status: verificationStatus(status), error: text, code }
}

/** `error` is for what says nothing about the thing asked for: too many requests, a failure of ours. */
function verificationStatus(status: number): string {
  if (status === 404) return 'not_found'
  if (status === 409) return 'ambiguous'
  return status < 500 && status !== 429 ? 'invalid' : 'error'
}
