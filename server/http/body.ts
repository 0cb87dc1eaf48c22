import type { IncomingMessage } from 'node:http'
import { finished, Readable } from 'node:stream'
import { HttpError } from './errors.ts'

/** How slowly a sender may send a body. Only time in which the server waits for bytes counts. */
export interface BodyPace {
  /** Longest time without a byte. */
  readonly idleMs: number
  /** Least rate of the body, measured over at least `idleMs`. Default 0: any rate. */
  readonly minBytesPerSecond?: number
  /** Milliseconds of a clock that never goes back. Default: the one of the system. */
  readonly nowMs?: () => number
}

/**
 * The body of a request as a stream that is read at the consumer's pace. Fails with `MALFORMED_BODY` if the sender
 * disconnects, or is slower than `BodyPace` allows. Destroying it leaves the request open, so that a response can still
 * be sent.
 */
export class BodyStream extends Readable {
  readonly #request: IncomingMessage
  readonly #pace: Required<BodyPace>
  readonly #release: () => void
  #idleTimer: NodeJS.Timeout | undefined
  #waitsSinceMs: number | undefined
  /** What arrived in the current period of measurement, and how long the server waited for it. */
  #period = { bytes: 0, waitedMs: 0 }

  constructor(request: IncomingMessage, { idleMs, minBytesPerSecond = 0, nowMs = () => performance.now() }: BodyPace) {
    super()
    this.#request = request
    this.#pace = { idleMs, minBytesPerSecond, nowMs }
    // Without a listener, the `error` event of an aborted request would end the process.
    request.on('error', () => undefined)
    this.on('error', () => undefined)
    request.on('data', this.#onData).on('end', this.#onEnd).pause()
    this.#release = finished(request, { writable: false }, (error) => {
      if (error) this.destroy(malformed('The sender disconnected before the end of the body', error))
    })
  }

  override _read(): void {
    const { idleMs, nowMs } = this.#pace
    this.#idleTimer ??= setTimeout(
      () => this.destroy(malformed(`The sender sent no byte of the body for ${idleMs} ms`)),
      idleMs,
    )
    this.#waitsSinceMs ??= nowMs()
    this.#request.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stopTimer()
    this.#release()
    this.#request.off('data', this.#onData).off('end', this.#onEnd).pause()
    done(error)
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#stopTimer()
    this.#measure(chunk.length)
    if (!this.push(chunk)) this.#request.pause()
  }

  /** Destroys the body at the end of a period in which too few bytes arrived. */
  #measure(bytes: number): void {
    const { idleMs, minBytesPerSecond, nowMs } = this.#pace
    const period = this.#period
    period.bytes += bytes
    if (this.#waitsSinceMs !== undefined) period.waitedMs += nowMs() - this.#waitsSinceMs
    this.#waitsSinceMs = undefined
    if (period.waitedMs < idleMs) return
    if (period.bytes * 1_000 < minBytesPerSecond * period.waitedMs)
      this.destroy(malformed(`The sender sent the body with less than ${minBytesPerSecond} bytes per second`))
    this.#period = { bytes: 0, waitedMs: 0 }
  }

  readonly #onEnd = (): void => {
    this.#stopTimer()
    this.push(null)
  }

  #stopTimer(): void {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
  }
}

/** How long a sender may continue to send a body that the server has stopped reading. */
const DRAIN_MS = 2_000

/**
 * Discards the rest of a body after the response was sent. Closing the connection at once would often lose the response
 * on its way to the client. Closes the connection after two seconds.
 */
export function drainAfterResponse(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.on('error', () => undefined)
  const timer = setTimeout(() => request.destroy(), DRAIN_MS).unref()
  request.once('close', () => clearTimeout(timer))
  request.resume()
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
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  return type !== undefined &&
    type.length <= 127 &&
    /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(type)
    ? type
    : undefined
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of a body's bytes.
 *
 * @throws `MALFORMED_BODY` if they are not UTF-8
 */
export function bodyText(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes)
  } catch (cause) {
    throw malformed('The body is not UTF-8', cause)
  }
}

const malformed = (message: string, cause?: unknown): HttpError => new HttpError('MALFORMED_BODY', message, { cause })
const unsupported = (message: string): HttpError => new HttpError('UNSUPPORTED_MEDIA_TYPE', message)
