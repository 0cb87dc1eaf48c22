import { isRegistryError, type ErrorCode } from '../../core/index.ts'

/** The only place that knows the HTTP status and the body of every error. */

/** How an error code is sent. If the failure is not the client's business, it has another `code` or a fixed `text`. */
interface ErrorResponse {
  readonly status: number
  readonly code?: ErrorCode
  readonly text?: string
}

/** Errors that only HTTP has. */
const HTTP_ERRORS = {
  /** The body is not what its content type says, breaks off, or is missing. */
  MALFORMED_BODY: { status: 400 },
  /** The body has a content type, charset or encoding that the endpoint does not accept. */
  UNSUPPORTED_MEDIA_TYPE: { status: 415 },
  /** Neither a valid API key nor a valid file token was sent. */
  UNAUTHORIZED: { status: 401 },
  /** No endpoint has this path, or the log does not have this tile yet. */
  NOT_FOUND: { status: 404 },
  /** The path exists, but not with this method. */
  METHOD_NOT_ALLOWED: { status: 405 },
  /** The headers of the request did not arrive in time. */
  REQUEST_TIMEOUT: { status: 408 },
  /** The header Expect asks for something else than 100-continue. */
  EXPECTATION_FAILED: { status: 417 },
  /** The headers of the request are too long. */
  HEADERS_TOO_LARGE: { status: 431 },
  /** Too many requests of one client. `Retry-After` says how long to wait. */
  RATE_LIMITED: { status: 429 },
  /** A program that mounts the service has read the body already. */
  BODY_CONSUMED: { status: 500 },
  /** The server has too many requests in progress. It is sent as `UNAVAILABLE`, with `Retry-After`. */
  OVERLOADED: {
    status: 503,
    code: 'UNAVAILABLE',
    text: 'The service has too many requests in progress; try again after the time in Retry-After',
  },
} as const satisfies Readonly<Record<string, ErrorResponse>>

/** Every code that a response can have, and those that become one of them. */
export type ResponseCode = ErrorCode | keyof typeof HTTP_ERRORS

/** An error of the server itself. Errors of the core are `RegistryError`s. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly code: ResponseCode

  constructor(code: ResponseCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** One for all requests: to capture a stack costs more than the rest of a rejection. */
export const OVERLOADED = new HttpError('OVERLOADED', 'Too many requests are in progress')

/** The fault of the server: the client learns only the request id, with which the operator finds the cause. */
const internal: ErrorResponse = {
  status: 500,
  code: 'INTERNAL',
  text: 'An internal error occurred. The log of the server describes it under the request id',
}
/** A failure that may pass. Which part of the server fails is not the client's business. */
const unavailable: ErrorResponse = {
  status: 503,
  code: 'UNAVAILABLE',
  text: 'The service cannot do this now; try again later',
}

/** Every code. It does not compile if a code of the core is missing. */
const RESPONSES: { readonly [K in ResponseCode]: ErrorResponse } = {
  VALIDATION_ERROR: { status: 400 },
  FORBIDDEN: { status: 403 },
  COMPANY_NOT_FOUND: { status: 404 },
  CATEGORY_NOT_FOUND: { status: 404 },
  SUBCATEGORY_NOT_FOUND: { status: 404 },
  EVIDENCE_NOT_FOUND: { status: 404 },
  FILE_NOT_FOUND: { status: 404 },
  SOURCE_SYSTEM_NOT_FOUND: { status: 404 },
  BATCH_NOT_FOUND: { status: 404 },
  SHARE_NOT_FOUND: { status: 404 },
  ERASURE_NOT_FOUND: { status: 404 },
  EXTERNAL_ID_EXISTS: { status: 409 },
  NAME_EXISTS: { status: 409 },
  KEY_EXISTS: { status: 409 },
  CATEGORY_NOT_EMPTY: { status: 409 },
  CATEGORY_INACTIVE: { status: 409 },
  CATEGORY_MISMATCH: { status: 409 },
  TOO_MANY_FILES: { status: 409 },
  TOO_MANY_SHARES: { status: 409 },
  BUNDLE_TOO_LARGE: { status: 409 },
  IDEMPOTENCY_KEY_REUSED: { status: 409 },
  VERSION_CONFLICT: { status: 412 },
  PAYLOAD_TOO_LARGE: { status: 413 },
  RANGE_NOT_SATISFIABLE: { status: 416 },
  INTERNAL: internal,
  CORRUPT: internal,
  CONFIG_ERROR: internal,
  LOG_KEY_MISMATCH: internal,
  VERIFICATION_FAILED: internal,
  UNAVAILABLE: unavailable,
  UNKNOWN_OUTCOME: {
    status: 503,
    text:
      'The server could not determine whether this was done. Read the current state, or repeat the request ' +
      'with the same Idempotency-Key',
  },
  STORE_POISONED: unavailable,
  STORE_LOCKED: unavailable,
  LOG_BEHIND_SIGNED: unavailable,
  ENGINE_FAILED: unavailable,
  AUTHORITY_FAILED: unavailable,
  ANCHOR_FAILED: unavailable,
  WITNESS_FAILED: unavailable,
  CLOSED: unavailable,
  ...HTTP_ERRORS,
}

/** A failure as the client sees it. */
export interface Failure {
  readonly status: number
  readonly code: ResponseCode
  readonly text: string
}

/** What a thrown value means to the client. A 5xx never shows an internal message. */
export function failureOf(error: unknown): Failure {
  const { code, message } =
    isRegistryError(error) || error instanceof HttpError ? error : new HttpError('INTERNAL', 'not an error of ours')
  const response = RESPONSES[code]
  return { status: response.status, code: response.code ?? code, text: response.text ?? message }
}

/** The HTTP status of a code. */
export const statusOf = (code: ResponseCode): number => RESPONSES[code].status

/** The codes that clients see with a status, for the OpenAPI document. */
export const codesWith = (status: number): readonly ResponseCode[] =>
  Object.keys(RESPONSES)
    .filter(isResponseCode)
    .filter((code) => RESPONSES[code].status === status && (RESPONSES[code].code ?? code) === code)

const isResponseCode = (code: string): code is ResponseCode => code in RESPONSES

/**
 * Which body an error has. 401 and 403 have the authorization shape everywhere. Errors of verification endpoints carry
 * a status.
 */
export type ErrorShape = 'operation' | 'verification'

/** The JSON body of a failure. */
export function errorBody({ status, code, text }: Failure, shape: ErrorShape): object {
  if (status === 401) return { statusCode: 401, message: 'Unauthorized' }
  if (status === 403) return { statusCode: 403, message: 'Forbidden resource' }
  if (shape === 'operation') return { error: text, code }
  return { status: verificationStatus(status), error: text, code }
}

/** `error` says nothing about the requested proof: too many requests, or a failure of the server. */
function verificationStatus(status: number): string {
  if (status === 404) return 'not_found'
  if (status === 409) return 'ambiguous'
  return status < 500 && status !== 429 ? 'invalid' : 'error'
}
