import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { finished, Transform, type TransformCallback } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { koaBody, type KoaBodyMiddlewareOptions } from 'koa-body'
import { decodeUtf8 } from '../../core/bytes.ts'
import { parseStrictJson, type Json } from '../../core/commitment/canonical-json.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'

/** JSON and form text of one request together, in bytes. */
export const MAX_TEXT_BYTES = 16 * 1024 * 1024

/** What a body is read by hears of each chunk, and of the end. */
export interface BodyWatch {
  /** Called before the chunk goes on; settles when the next one may come. */
  digest(chunk: Uint8Array): Promise<void>
  /** Throws where the body may not end here. */
  end(): void
}

/**
 * A request's body as the libraries read it instead of the request itself, which they would read as fast as it comes. Fails
 * with `MALFORMED_BODY` where the body breaks off, or brings no byte for `idleMs`; the time in which the next chunk is
 * not let in does not count.
 */
export class GuardedBody extends Transform {
  readonly headers: IncomingHttpHeaders
  readonly #idleMs: number
  readonly #watch: BodyWatch | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(request: IncomingMessage, idleMs: number, headers: IncomingHttpHeaders = {}, watch?: BodyWatch) {
    super()
    this.headers = { ...request.headers, ...headers }
    this.#idleMs = idleMs
    this.#watch = watch
    this.on('error', () => undefined)
    // An aborted request emits `error`, which would end the process where nobody listens.
    request.on('error', () => undefined)
    const release = finished(request, { writable: false }, (error) => {
      if (error) this.destroy(new RegistryError('MALFORMED_BODY', 'The body broke off', { cause: error }))
    })
    this.once('close', release)
    this.#listen()
    request.pipe(this)
  }

  #listen(): void {
    if (this.destroyed) return
    this.#timer = setTimeout(
      () => this.destroy(new RegistryError('MALFORMED_BODY', `The body brought no byte for ${this.#idleMs} ms`)),
      this.#idleMs,
    )
  }

  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, done: TransformCallback): void {
    clearTimeout(this.#timer)
    const admitMore = (): void => {
      this.#listen()
      done()
    }
    const digested = this.#watch?.digest(chunk)
    this.push(chunk)
    if (digested === undefined) admitMore()
    else digested.then(admitMore, done)
  }

  override _flush(done: TransformCallback): void {
    clearTimeout(this.#timer)
    try {
      this.#watch?.end()
      done()
    } catch (error) {
      done(error as Error)
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
    done(error)
  }
}

/** koa-body for what is named only; what it read goes nowhere unless asked. Making one takes 10 µs: it checks its options. */
export const bodyParser = (options: Partial<KoaBodyMiddlewareOptions>): Middleware =>
  koaBody({
    json: false,
    urlencoded: false,
    text: false,
    multipart: false,
    patchNode: false,
    patchKoa: false,
    ...options,
  })

/** Runs koa-body over a guarded body. Throws what the body failed with, or an error of a library's: see `refusalOf`. */
export async function parseBody(ctx: Context, body: GuardedBody, parser: Middleware): Promise<void> {
  await parser(Object.create(ctx, { req: { value: body } }) as Context, async () => undefined)
}

/** What an error of koa-body's libraries means to the sender: formidable's carry `httpCode` (500 where it is the sender's fault), the others `status`. */
export function refusalOf(error: unknown): unknown {
  if (isRegistryError(error) || !(error instanceof Error)) return error
  const { httpCode, status = httpCode } = error as { readonly httpCode?: unknown; readonly status?: unknown }
  if (status === 413)
    return new RegistryError('PAYLOAD_TOO_LARGE', `JSON takes at most ${MAX_TEXT_BYTES} bytes`, { cause: error })
  if (typeof status !== 'number') return error
  return new RegistryError('MALFORMED_BODY', 'The body cannot be read', { cause: error })
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

/** `type/subtype` of a Content-Type, in lower case; `undefined` where it is none. */
export function essence(contentType: string | undefined): string | undefined {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  return type !== undefined &&
    type.length <= 127 &&
    /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(type)
    ? type
    : undefined
}

/** Text of a body's bytes. Throws `MALFORMED_BODY` where they are not UTF-8. */
export function bodyText(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes)
  } catch (cause) {
    throw new RegistryError('MALFORMED_BODY', 'The body is not UTF-8', { cause })
  }
}

/** A JSON object from outside. Throws as `parseStrictJson`, and `VALIDATION_ERROR` where it is no object. */
export async function readJsonObject(ctx: Context, idleMs: number): Promise<Record<string, Json>> {
  const value = parseStrictJson(await readText(ctx, idleMs))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, Json>
  throw new RegistryError('VALIDATION_ERROR', 'The body must be a JSON object')
}

/** JSON as text: koa-body would make {} of an empty body, keep the last of equal keys, and mend what is no UTF-8, so it hands on bytes, a character each. */
const jsonText = bodyParser({
  text: true,
  textTypes: ['application/json'],
  textLimit: MAX_TEXT_BYTES,
  encoding: 'binary',
  patchKoa: true,
})

async function readText(ctx: Context, idleMs: number): Promise<string> {
  const body = new GuardedBody(ctx.req, idleMs)
  try {
    await parseBody(ctx, body, jsonText)
    return bodyText(Buffer.from(ctx.request.body as string, 'latin1'))
  } catch (error) {
    throw refusalOf(error)
  } finally {
    body.destroy()
  }
}
