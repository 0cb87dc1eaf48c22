import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { isError } from '../../adapters/kit/index.ts'
import { HttpError } from '../contract/errors.ts'
import type { Reservation } from './memory-budget.ts'

/** How slowly a sender may send a body. Only time in which the server waits for bytes counts. */
export interface BodyPace {
  /** Longest time without a byte. */
  readonly idleMs: number
  /** Least rate of the body on average, once the server has waited a minute for it. 0: any rate. */
  readonly minBytesPerSecond: number
}

/** What a body may take of time and memory. */
export interface BodyLimits {
  readonly pace: BodyPace
  /** What the body takes of the memory for all bodies. */
  readonly memory: Reservation
  /** Bytes that may stay in memory. */
  readonly maxBytes: number
  /** Says what has too many bytes. */
  readonly tooLarge: string
}

/** How the body of a form differs from others. */
export interface FormBody {
  /** What the parser reads after the last byte. */
  readonly epilogue: Uint8Array
  /** Gets all bytes. Throws to end the body. */
  check(chunk: Uint8Array): void
}

const RATE_AFTER_MS = 60_000

/**
 * The body of a request as the parsers of koa-body read it, at their pace. They bound neither time nor memory, so this
 * does: it fails if the sender disconnects or is too slow, and if too many bytes stay in memory. Destroying it leaves
 * the request open, so that a response can still be sent.
 */
export class GuardedBody extends Readable {
  /** For the parsers. */
  readonly headers: IncomingHttpHeaders
  readonly #request: IncomingMessage
  readonly #limits: BodyLimits
  #idleTimer: NodeJS.Timeout | undefined
  #waitsSinceMs: number | undefined
  #waitedMs = 0
  readonly #form: FormBody | undefined
  #received = 0
  #buffered = 0

  constructor(request: IncomingMessage, limits: BodyLimits, form?: FormBody) {
    super()
    if (request.readableDidRead)
      throw new HttpError(
        'BODY_CONSUMED',
        'A body parser of the program around this service has read the body: mount the service before the parser',
      )
    this.headers = request.headers
    this.#request = request
    this.#limits = limits
    this.#form = form
    limits.memory.end = (error) => this.destroy(error)
    // Without a listener, the `error` event of an aborted request would end the process.
    request.on('error', () => undefined)
    this.on('error', () => undefined)
    request.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose).pause()
    if (request.destroyed) this.#onClose()
  }

  /** Says that bytes do not stay in memory: they are content of a file. */
  pass(bytes: number): void {
    this.#buffered -= bytes
    this.#limits.memory.add(-bytes)
  }

  override _read(): void {
    this.#idleTimer ??= setTimeout(
      () => this.destroy(malformed(`The sender sent no byte of the body for ${this.#limits.pace.idleMs} ms`)),
      this.#limits.pace.idleMs,
    )
    this.#waitsSinceMs ??= performance.now()
    this.#request.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#idleTimer)
    this.#limits.memory.end = undefined
    if (error !== null) this.#limits.memory.release()
    this.#request.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose).pause()
    done(error)
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#stopWaiting()
    this.#received += chunk.length
    this.#buffered += chunk.length
    if (this.#buffered > this.#limits.maxBytes) return this.#rejectSize()
    const { minBytesPerSecond } = this.#limits.pace
    if (this.#waitedMs > RATE_AFTER_MS && this.#received * 1_000 < minBytesPerSecond * this.#waitedMs)
      return void this.destroy(
        malformed(`The sender sent the body with less than ${minBytesPerSecond} bytes per second`),
      )
    try {
      this.#form?.check(chunk)
      this.#limits.memory.take(chunk.length)
      if (!this.push(chunk)) this.#request.pause()
    } catch (error) {
      this.destroy(asError(error))
    }
    return undefined
  }

  readonly #onEnd = (): void => {
    this.#stopWaiting()
    if (this.#form !== undefined) this.push(this.#form.epilogue)
    this.push(null)
  }

  readonly #onClose = (): void => {
    if (!this.#request.complete) this.destroy(malformed('The sender disconnected before the end of the body'))
  }

  #stopWaiting(): void {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
    if (this.#waitsSinceMs !== undefined) this.#waitedMs += performance.now() - this.#waitsSinceMs
    this.#waitsSinceMs = undefined
  }

  #rejectSize(): void {
    this.destroy(new HttpError('PAYLOAD_TOO_LARGE', this.#limits.tooLarge))
  }
}

const importKoaBody = () => import('koa-body')
let koaBody: ReturnType<typeof importKoaBody> | undefined

/** Loaded at the first body, because it takes 100 ms. */
export const loadKoaBody = () => (koaBody ??= importKoaBody())

/** Every parser of koa-body off. It decodes no text, because it would replace what is not UTF-8. */
export const NO_PARSER = { json: false, urlencoded: false, text: false, multipart: false } as const

/**
 * Runs a parser of koa-body on a guarded body. Returns what it made of it. `unreadable`: what is wrong if it fails.
 *
 * @throws `MALFORMED_BODY`, `PAYLOAD_TOO_LARGE`, `OVERLOADED`
 */
export async function parseBody(
  ctx: Context,
  guard: GuardedBody,
  parser: Middleware,
  unreadable = 'The body cannot be read',
): Promise<unknown> {
  const { req } = ctx
  // For the parser only. An object with `ctx` as its prototype would make every later use of `ctx` slow.
  Object.assign(ctx, { req: guard })
  // The parsers would wait for ever for a stream that fails before they listen.
  const failed = new Promise<never>((_, reject) => guard.once('error', reject))
  try {
    await Promise.race([parser(ctx, async () => undefined), failed])
  } catch (cause) {
    if (guard.errored === null) throw malformed(unreadable, cause)
  } finally {
    Object.assign(ctx, { req })
    guard.destroy()
  }
  if (guard.errored !== null) throw guard.errored
  return ctx.request.body
}

let textParser: Middleware | undefined

async function loadTextParser(): Promise<Middleware> {
  const parsers = await loadKoaBody()
  // Without an encoding it returns the bytes. The guard has the limit.
  return parsers.koaBody({ ...NO_PARSER, text: true, textTypes: ['application/json'], textLimit: '1gb', encoding: '' })
}

/** The text of a JSON body. */
export async function readJsonText(ctx: Context, limits: BodyLimits): Promise<string> {
  textParser ??= await loadTextParser()
  const bytes = await parseBody(ctx, new GuardedBody(ctx.req, limits), textParser)
  if (!(bytes instanceof Uint8Array)) throw malformed('The body cannot be read')
  const text = decodeBody(bytes)
  if (text.startsWith('\uFEFF')) throw malformed('The body begins with a byte order mark, which JSON must not have')
  return text
}

/**
 * The media type of a request's body, in lower case and without parameters.
 *
 * @throws `MALFORMED_BODY` if there is no body, `UNSUPPORTED_MEDIA_TYPE` if it is not one of `accepted`, encoded, or
 * not in UTF-8
 */
export function bodyType(request: IncomingMessage, accepted: readonly string[]): string {
  const {
    'content-type': contentType,
    'content-length': length,
    'content-encoding': encoding,
    'transfer-encoding': transferEncoding,
  } = request.headers
  if (transferEncoding === undefined && (length === undefined || Number(length) === 0))
    throw malformed('A body is required')
  const type = essence(contentType)
  if (type === undefined || !accepted.includes(type))
    throw unsupported(`The body's Content-Type must be ${accepted.join(' or ')}`)
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported('The body must not have a Content-Encoding')
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(contentType ?? '')?.[1]
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset)) throw unsupported('The body must be in UTF-8')
  return type
}

/** `type/subtype` of a Content-Type, in lower case; `undefined` if it is not a valid one. */
export function essence(contentType: string | undefined): string | undefined {
  const type = ESSENCE.exec(contentType ?? '')?.[1]
  return type !== undefined && type.length <= 127 ? type.toLowerCase() : undefined
}

/** Only spaces and tabs may surround it (RFC 9110 § 5.6.3). `trim` would also remove others, such as U+00A0. */
const ESSENCE = /^[ \t]*([a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*)[ \t]*(?:;|$)/i

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of bytes of a body. `what` names them.
 *
 * @throws `MALFORMED_BODY` if they are not UTF-8
 */
export function decodeBody(bytes: Uint8Array, what = 'The body'): string {
  try {
    return strictUtf8.decode(bytes)
  } catch (cause) {
    throw malformed(`${what} is not UTF-8`, cause)
  }
}

/** What was thrown, for a stream that ends with it. */
export const asError = (thrown: unknown): Error => (isError(thrown) ? thrown : new Error(String(thrown)))

/** The body is not what its headers say, or it breaks off. */
export const malformed = (message: string, cause?: unknown): HttpError =>
  new HttpError('MALFORMED_BODY', message, { cause })
const unsupported = (message: string): HttpError => new HttpError('UNSUPPORTED_MEDIA_TYPE', message)
