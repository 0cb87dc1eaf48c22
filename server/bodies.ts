import type { IncomingMessage } from 'node:http'
import { decodeUtf8 } from '../core/bytes.ts'
import { parseStrictJson, type Json } from '../core/canonical-json.ts'
import { RegistryError } from '../core/errors.ts'
import { essence } from './multipart.ts'

/** JSON and form text of one request together, in bytes. */
export const MAX_TEXT_BYTES = 16 * 1024 * 1024

/**
 * The bytes of a request as they come, none read before it is asked for. Throws `MALFORMED_BODY` where the body breaks
 * off, or brings no byte for `idleMs`; the time in which nobody asks does not count.
 */
export async function* bytesOf(request: IncomingMessage, idleMs: number): AsyncGenerator<Uint8Array> {
  // An aborted request emits `error`, which would end the process where nobody listens.
  request.on('error', () => undefined)
  for (;;) {
    const chunk = request.read() as Buffer | null
    if (chunk !== null) yield chunk
    else if (request.readableEnded) return
    else await moreOf(request, idleMs)
  }
}

/** Settles when there is something to read, or the body's end; rejects when it breaks off or is silent too long. */
function moreOf(request: IncomingMessage, idleMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (why: string): void => settle(() => reject(new RegistryError('MALFORMED_BODY', why)))
    const timer = setTimeout(() => refuse(`The body brought no byte for ${idleMs} ms`), idleMs)
    const ready = (): void => settle(resolve)
    const broken = (): void => (request.readableEnded ? settle(resolve) : refuse('The body broke off'))
    function settle(then: () => void): void {
      clearTimeout(timer)
      request.off('readable', ready).off('end', ready).off('close', broken).off('error', broken)
      then()
    }
    if (request.destroyed && !request.readableEnded) return broken()
    request.on('readable', ready).on('end', ready).on('close', broken).on('error', broken)
  })
}

/** How long a sender may go on with a body that was refused, before the connection is cut. */
const LINGER_MS = 2_000

/**
 * Discards what still comes of a request that was answered before its body was read: a connection cut at once would
 * often take the answer with it. After two seconds it is cut.
 */
export function drainAfterAnswer(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.on('error', () => undefined)
  const timer = setTimeout(() => request.destroy(), LINGER_MS).unref()
  request.once('close', () => clearTimeout(timer))
  request.resume()
}

/** The media type of a request's body. Throws `MALFORMED_BODY` where there is no body, `UNSUPPORTED_MEDIA_TYPE` unless it is one of `taken`. */
export function bodyType(request: IncomingMessage, taken: readonly string[]): string {
  const {
    'content-type': contentType,
    'content-length': length,
    'content-encoding': encoding,
    'transfer-encoding': transfer,
  } = request.headers
  if (transfer === undefined && (length === undefined || Number(length) === 0))
    throw new RegistryError('MALFORMED_BODY', 'A body is required')
  const type = essence(contentType)
  if (type === undefined || !taken.includes(type))
    throw new RegistryError('UNSUPPORTED_MEDIA_TYPE', `The body's Content-Type must be ${taken.join(' or ')}`)
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new RegistryError('UNSUPPORTED_MEDIA_TYPE', 'The body must not have a Content-Encoding')
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(contentType ?? '')?.[1]
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset))
    throw new RegistryError('UNSUPPORTED_MEDIA_TYPE', 'The body must be in UTF-8')
  return type
}

/** All bytes as text. Throws `PAYLOAD_TOO_LARGE` at the first byte beyond the limit, `MALFORMED_BODY` where it is not UTF-8. */
export async function textOf(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > maxBytes)
      throw new RegistryError('PAYLOAD_TOO_LARGE', `JSON and form text take at most ${MAX_TEXT_BYTES} bytes together`)
    chunks.push(chunk)
  }
  try {
    return decodeUtf8(Buffer.concat(chunks, size))
  } catch (cause) {
    throw new RegistryError('MALFORMED_BODY', 'The body is not UTF-8', { cause })
  }
}

/** A JSON object from outside. Throws as `parseStrictJson`, and `VALIDATION_ERROR` where it is no object. */
export async function readJsonObject(request: IncomingMessage, idleMs: number): Promise<Record<string, Json>> {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > MAX_TEXT_BYTES)
    throw new RegistryError('PAYLOAD_TOO_LARGE', `A JSON body takes at most ${MAX_TEXT_BYTES} bytes`)
  const value = parseStrictJson(await textOf(bytesOf(request, idleMs), MAX_TEXT_BYTES))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, Json>
  throw new RegistryError('VALIDATION_ERROR', 'The body must be a JSON object')
}
