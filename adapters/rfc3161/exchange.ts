import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { concatBytes } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'

export interface ExchangeOptions {
  /** Who is asked, as errors name it: the address itself may hold a secret. */
  readonly name: string
  readonly url: URL
  /** Sent by POST; without one it is a GET. */
  readonly body?: { readonly type: string; readonly bytes: Uint8Array }
  /** Default: any. */
  readonly answerType?: string
  readonly maxBytes: number
  /** From the first step to the last byte. */
  readonly timeoutMs: number
  readonly headers?: Readonly<Record<string, string>>
  /** PEM of the CAs of https. Default: those of Node. */
  readonly tlsCa?: string | undefined
  readonly lookup?: LookupFunction
  readonly signal?: AbortSignal | undefined
}

/**
 * One request and its whole answer: HTTP 200, of the type that was asked for, no larger than told, in time. Nothing is followed, decoded or
 * tried again. Throws `AUTHORITY_FAILED` that says what was wrong, or the signal's reason.
 */
export async function exchange(options: ExchangeOptions): Promise<Uint8Array> {
  const { name, signal, timeoutMs } = options
  signal?.throwIfAborted()
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    return await answerOf(options, signal === undefined ? timeout : AbortSignal.any([signal, timeout]))
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    if (error instanceof Refusal) throw failed(name, error.message)
    if (timeout.aborted) throw failed(name, `no whole answer came within ${timeoutMs} ms`, error)
    throw failed(name, `it cannot be reached, or broke off (${reasonOf(error)})`, error)
  }
}

/** What the answer itself is refused for. */
class Refusal extends Error {}

export const failed = (name: string, reason: string, cause?: unknown): RegistryError =>
  new RegistryError('AUTHORITY_FAILED', `${name}: ${reason}`, { cause })

/** Codes only: a message may quote what was sent. */
const reasonOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown'

async function answerOf(options: ExchangeOptions, signal: AbortSignal): Promise<Uint8Array> {
  const { url, body, headers, lookup, tlsCa } = options
  const requestOptions: RequestOptions & { readonly ca?: string } = {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...headers,
      Accept: options.answerType ?? '*/*',
      ...(body && { 'Content-Type': body.type, 'Content-Length': body.bytes.length }),
    },
    // A connection of its own: nothing of it outlives the answer.
    agent: false,
    signal,
    ...(lookup && { lookup }),
    ...(tlsCa !== undefined && { ca: tlsCa }),
  }
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, requestOptions)
  try {
    const responding = once(request, 'response') as Promise<[IncomingMessage]>
    request.end(body?.bytes)
    const [response] = await responding
    // Once there is a response, what breaks shows there.
    request.on('error', () => undefined)
    assertAnswer(response, options)
    return await bodyOf(response, options.maxBytes)
  } finally {
    request.destroy()
  }
}

function assertAnswer({ statusCode = 0, headers }: IncomingMessage, { answerType, maxBytes }: ExchangeOptions): void {
  if (statusCode >= 300 && statusCode < 400)
    throw new Refusal(`it redirects (HTTP ${statusCode}), which is not followed: set the address that it redirects to`)
  if (statusCode !== 200) throw new Refusal(`it answered HTTP ${statusCode}`)
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (answerType !== undefined && type !== answerType)
    throw new Refusal(`its answer is ${type === '' ? 'of no content type' : quoted(type)}, not ${answerType}`)
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new Refusal(`its answer is encoded (${quoted(encoding)})`)
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

const tooLarge = (maxBytes: number): Refusal => new Refusal(`its answer has more than ${maxBytes} bytes`)

/** The other side's words, short and printable. */
const quoted = (text: string): string => JSON.stringify(text.replace(/[^\x20-\x7e]/g, '?').slice(0, 60))

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return concatBytes(...chunks)
}
