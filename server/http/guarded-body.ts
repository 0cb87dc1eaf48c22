import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
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

/** What was thrown, for a stream that ends with it. */
export const asError = (thrown: unknown): Error => (isError(thrown) ? thrown : new Error(String(thrown)))

/** The body is not what its headers say, or it breaks off. */
export const malformed = (message: string, cause?: unknown): HttpError =>
  new HttpError('MALFORMED_BODY', message, { cause })
