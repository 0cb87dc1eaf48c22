/** Codes of failures that are not a response of the service. */
export type LocalErrorCode =
  /** There was no response, or it broke off. A write may have been applied. */
  | 'NETWORK_ERROR'
  /** The response is not what the service returns, or was redirected: the address may be that of another server. */
  | 'INVALID_RESPONSE'

/** What an error is made of. */
export interface ErrorDetails {
  readonly code: string
  readonly status: number
  readonly body?: unknown
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/**
 * The only error that calls reject with, besides the reason of an aborted signal and a `TypeError` for a request that
 * cannot be sent.
 *
 * @example
 * try {
 *   await registry.createEvidence(evidence)
 * } catch (error) {
 *   if (!(error instanceof EvidenceRegistryError) || error.code !== 'EXTERNAL_ID_EXISTS') throw error
 * }
 */
export class EvidenceRegistryError extends Error {
  override readonly name = 'EvidenceRegistryError'
  /** A code of the service such as `EVIDENCE_NOT_FOUND`, or a `LocalErrorCode`. Stable, unlike the message. */
  readonly code: string
  /** The HTTP status, 0 if there was no response. */
  readonly status: number
  /** The body of the response: parsed if it is JSON, such as the `candidates` of an ambiguous external id. */
  readonly body: unknown
  /** How long the service asks to wait, ms. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, { code, status, body, retryAfterMs, cause }: ErrorDetails) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    this.status = status
    this.body = body
    this.retryAfterMs = retryAfterMs
  }
}

/** The codes of responses whose body has none. */
const CODES: Readonly<Record<number, string>> = {
  304: 'NOT_MODIFIED',
  400: 'VALIDATION_ERROR',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'AMBIGUOUS',
  429: 'RATE_LIMITED',
  503: 'UNAVAILABLE',
}

/** Reads a response that is not a success. */
export async function errorOf(response: Response, call: string): Promise<EvidenceRegistryError> {
  const { status, headers } = response
  const body = parseBody(await response.text().catch(() => ''))
  const { code, error, message }: ErrorBody = body !== null && typeof body === 'object' ? body : {}
  const text = [error, message].find((each) => typeof each === 'string')
  return new EvidenceRegistryError(`${call}: ${text ?? `the service returned status ${status}`}`, {
    code: typeof code === 'string' ? code : (CODES[status] ?? `HTTP_${status}`),
    status,
    body,
    retryAfterMs: pauseOf(headers.get('retry-after')),
  })
}

interface ErrorBody {
  readonly code?: unknown
  readonly error?: unknown
  readonly message?: unknown
}

/** A body that is not JSON stays a text. */
function parseBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `Retry-After` is a number of seconds or a date. */
function pauseOf(header: string | null): number | undefined {
  if (header === null || header === '') return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
