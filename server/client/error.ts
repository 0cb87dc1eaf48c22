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

/** Why there was no response, and what to check. `fetch` of Node says only that it failed; the reason is its cause. */
export function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  // One for each address of a host.
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  if (inner instanceof Error) return networkReason(inner)
  const { code = '', address, port, hostname }: SystemError & Error = error
  // Of the list in the standard of `fetch`.
  if (error.message === 'bad port') return 'clients with fetch never connect to this port: use another one'
  if (code === 'ECONNREFUSED')
    return `connection refused by ${address}:${port}: check the address, and that the service runs`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host name ${hostname} is unknown: check the address`
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO')
    return `no TLS at this address (${code}): check the address and its port, or begin it with http://`
  if (/CERT|SIGNATURE/.test(code))
    return `its TLS certificate is not accepted, ${error.message}: check the address, or set NODE_EXTRA_CA_CERTS`
  return error.message
}

interface SystemError {
  readonly code?: string
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
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
