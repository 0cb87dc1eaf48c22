import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { isRegistryError, RegistryError, type RegistryErrorOptions } from '../kit/index.ts'
import { errnoOf } from '../files/errors.ts'
import { pauseAskedFor, pauseText, ResponseError, sendOutside, type Proxies } from '../outside.ts'

interface ExchangeOptions {
  /** Name of the other side in errors. The URL may contain a secret, so errors do not show it. */
  readonly name: string
  readonly url: URL
  readonly proxies: Proxies
  /** Sent with POST. Without a body the request is a GET. */
  readonly body?: { readonly type: string; readonly bytes: Uint8Array }
  /** Required content type of the response. Default: any. */
  readonly responseType?: string
  /** Upper bound of the response's size. */
  readonly maxBytes: number
  /** Time limit from the look-up of the name to the last byte. */
  readonly timeoutMs: number
  readonly headers?: Readonly<Record<string, string>>
  /** PEM of the CA certificates for https. Default: those of Node. */
  readonly tlsCa?: string | undefined
  readonly lookup?: LookupFunction
  readonly signal?: AbortSignal | undefined
}

/**
 * Sends one request and returns the response's body. The response must be HTTP 2xx, of the required type and size, and
 * arrive in time. Does not follow redirects, decode, or retry. Throws `AUTHORITY_FAILED` with the reason, or the
 * signal's reason.
 */
export async function exchange(options: ExchangeOptions): Promise<Uint8Array> {
  const { name, signal, timeoutMs } = options
  signal?.throwIfAborted()
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    return await respond(options, signal === undefined ? timeout : AbortSignal.any([signal, timeout]))
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    if (isRegistryError(error)) throw error
    if (error instanceof ResponseError) throw authorityError(name, error.message)
    if (timeout.aborted) throw authorityError(name, `no complete response within ${timeoutMs} ms`, { cause: error })
    throw authorityError(name, `it cannot be reached, or the connection was lost (${errnoOf(error) ?? 'unknown'})`, {
      cause: error,
    })
  }
}

/** `AUTHORITY_FAILED`, with the name of the authority. */
export const authorityError = (name: string, reason: string, options?: RegistryErrorOptions): RegistryError =>
  new RegistryError('AUTHORITY_FAILED', `${name}: ${reason}`, options)

async function respond(options: ExchangeOptions, signal: AbortSignal): Promise<Uint8Array> {
  const { body, headers, responseType, tlsCa, ...rest } = options
  const { body: received } = await sendOutside({
    ...rest,
    agent: false,
    headers: { ...headers, Accept: responseType ?? '*/*', ...(body && { 'Content-Type': body.type }) },
    body: body?.bytes,
    assertAcceptable: (response) => assertAcceptable(response, options),
    ca: tlsCa,
    signal,
  })
  return received
}

function assertAcceptable(response: IncomingMessage, { name, responseType }: ExchangeOptions): void {
  const { statusCode = 0, headers } = response
  if (statusCode >= 300 && statusCode < 400)
    throw new ResponseError(
      `it redirects (HTTP ${statusCode}), which is not followed: configure the URL that it redirects to`,
    )
  const retryAfterMs = pauseAskedFor(response)
  if (retryAfterMs !== undefined)
    throw authorityError(name, `it responded with HTTP ${statusCode} and ${pauseText(retryAfterMs)}`, { retryAfterMs })
  // Some authorities say 201 to every request.
  if (statusCode < 200 || statusCode > 299) throw new ResponseError(`it responded with HTTP ${statusCode}`)
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (responseType !== undefined && type !== responseType)
    throw new ResponseError(`its response must be ${responseType}, got ${type ? quoted(type) : 'no content type'}`)
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new ResponseError(`its response is encoded (${quoted(encoding)})`)
}

/** Shortens text of the other side and makes it printable. */
const quoted = (text: string): string => JSON.stringify(text.replace(/[^\x20-\x7e]/g, '?').slice(0, 60))
