import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { concatBytes, RegistryError } from '../kit/index.ts'
import { errnoOf } from '../files/errors.ts'

interface ExchangeOptions {
  /** Name of the other side in errors. The URL may contain a secret, so errors do not show it. */
  readonly name: string
  readonly url: URL
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
    if (error instanceof ResponseError) throw authorityError(name, error.message)
    if (timeout.aborted) throw authorityError(name, `no complete response within ${timeoutMs} ms`, error)
    throw authorityError(
      name,
      `it cannot be reached, or the connection was lost (${errnoOf(error) ?? 'unknown'})`,
      error,
    )
  }
}

/** The response was received and is not acceptable. */
class ResponseError extends Error {}

/** `AUTHORITY_FAILED`, with the name of the authority. */
export const authorityError = (name: string, reason: string, cause?: unknown): RegistryError =>
  new RegistryError('AUTHORITY_FAILED', `${name}: ${reason}`, { cause })

async function respond(options: ExchangeOptions, signal: AbortSignal): Promise<Uint8Array> {
  const { url, body, headers, lookup, tlsCa } = options
  const requestOptions: RequestOptions & { readonly ca?: string } = {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...headers,
      Accept: options.responseType ?? '*/*',
      ...(body && { 'Content-Type': body.type, 'Content-Length': body.bytes.length }),
    },
    // No shared agent, so that no connection outlives the response.
    agent: false,
    signal,
    ...(lookup && { lookup }),
    ...(tlsCa !== undefined && { ca: tlsCa }),
  }
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, requestOptions)
  try {
    const responded: Promise<IncomingMessage> = once(request, 'response').then(([response]) => response)
    request.end(body?.bytes)
    const response = await responded
    // After the response has begun, errors are reported by the response itself.
    request.on('error', () => undefined)
    assertAcceptable(response, options)
    return await bodyOf(response, options.maxBytes)
  } finally {
    request.destroy()
  }
}

function assertAcceptable(
  { statusCode = 0, headers }: IncomingMessage,
  { responseType, maxBytes }: ExchangeOptions,
): void {
  if (statusCode >= 300 && statusCode < 400)
    throw new ResponseError(
      `it redirects (HTTP ${statusCode}), which is not followed: configure the URL that it redirects to`,
    )
  // Some authorities say 201 to every request.
  if (statusCode < 200 || statusCode > 299) throw new ResponseError(`it responded with HTTP ${statusCode}`)
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (responseType !== undefined && type !== responseType)
    throw new ResponseError(`its response must be ${responseType}, got ${type ? quoted(type) : 'no content type'}`)
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new ResponseError(`its response is encoded (${quoted(encoding)})`)
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

const tooLarge = (maxBytes: number): ResponseError => new ResponseError(`its response has more than ${maxBytes} bytes`)

/** Shortens text of the other side and makes it printable. */
const quoted = (text: string): string => JSON.stringify(text.replace(/[^\x20-\x7e]/g, '?').slice(0, 60))

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const body: AsyncIterable<Uint8Array> = response
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return concatBytes(...chunks)
}
