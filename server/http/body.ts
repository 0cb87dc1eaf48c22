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

/** Watches the pace of a sender. Calls `fail` once it is slower than `BodyPace` allows. */
class PaceWatch {
  readonly #pace: Required<BodyPace>
  readonly #fail: (error: HttpError) => void
  #idleTimer: NodeJS.Timeout | undefined
  #waitsSinceMs: number | undefined
  /** What arrived in the current period of measurement, and how long the server waited for it. */
  #period = { bytes: 0, waitedMs: 0 }

  constructor(
    { idleMs, minBytesPerSecond = 0, nowMs = () => performance.now() }: BodyPace,
    fail: (error: HttpError) => void,
  ) {
    this.#pace = { idleMs, minBytesPerSecond, nowMs }
    this.#fail = fail
  }

  /** The server waits for bytes from now on, unless it does already. */
  wait(): void {
    const { idleMs, nowMs } = this.#pace
    this.#idleTimer ??= setTimeout(
      () => this.#fail(malformed(`The sender sent no byte of the body for ${idleMs} ms`)),
      idleMs,
    )
    this.#waitsSinceMs ??= nowMs()
  }

  /** Bytes arrived. Fails at the end of a period in which there were too few. */
  receive(bytes: number): void {
    this.stop()
    const { idleMs, minBytesPerSecond, nowMs } = this.#pace
    const period = this.#period
    period.bytes += bytes
    if (this.#waitsSinceMs !== undefined) period.waitedMs += nowMs() - this.#waitsSinceMs
    this.#waitsSinceMs = undefined
    if (period.waitedMs < idleMs) return
    this.#period = { bytes: 0, waitedMs: 0 }
    if (period.bytes * 1_000 < minBytesPerSecond * period.waitedMs)
      this.#fail(malformed(`The sender sent the body with less than ${minBytesPerSecond} bytes per second`))
  }

  stop(): void {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
  }
}

const disconnected = (cause: unknown): HttpError =>
  malformed('The sender disconnected before the end of the body', cause)

/**
 * The body of a request as a stream that is read at the consumer's pace. Fails with `MALFORMED_BODY` if the sender
 * disconnects, or is slower than `BodyPace` allows. Destroying it leaves the request open, so that a response can still
 * be sent.
 */
export class BodyStream extends Readable {
  readonly #request: IncomingMessage
  readonly #watch: PaceWatch
  readonly #release: () => void

  constructor(request: IncomingMessage, pace: BodyPace) {
    super()
    this.#request = request
    this.#watch = new PaceWatch(pace, (error) => this.destroy(error))
    // Without a listener, the `error` event of an aborted request would end the process.
    request.on('error', () => undefined)
    this.on('error', () => undefined)
    request.on('data', this.#onData).on('end', this.#onEnd).pause()
    this.#release = finished(request, { writable: false }, (error) => {
      if (error) this.destroy(disconnected(error))
    })
  }

  override _read(): void {
    this.#watch.wait()
    this.#request.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#watch.stop()
    this.#release()
    this.#request.off('data', this.#onData).off('end', this.#onEnd).pause()
    done(error)
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#watch.receive(chunk.length)
    if (!this.push(chunk)) this.#request.pause()
  }

  readonly #onEnd = (): void => {
    this.#watch.stop()
    this.push(null)
  }
}

export interface CollectOptions extends BodyPace {
  /** Called before a chunk is kept. What it throws ends the body. */
  readonly hold: (count: number) => void
}

/**
 * Reads a whole body into memory. Fails as `BodyStream` does, and with what `hold` throws, but costs less: no stream
 * and no iterator.
 */
export function collectBody(request: IncomingMessage, { hold, ...pace }: CollectOptions): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    let isSettled = false
    const settle = (error?: Error): void => {
      isSettled = true
      watch.stop()
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      if (error === undefined) resolve(Buffer.concat(chunks))
      else reject(error)
    }
    const watch = new PaceWatch(pace, settle)
    const onData = (chunk: Buffer): void => {
      watch.receive(chunk.length)
      if (isSettled) return
      try {
        hold(chunk.length)
        chunks.push(chunk)
        watch.wait()
      } catch (error) {
        settle(error as Error)
      }
    }
    const onEnd = (): void => settle()
    const onClose = (): void => settle(disconnected(request.errored))
    // Without a listener, the `error` event of an aborted request would end the process.
    request.on('error', () => undefined).on('close', onClose)
    if (request.destroyed) return onClose()
    watch.wait()
    request.on('data', onData).on('end', onEnd).resume()
  })
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
  const type = ESSENCE.exec(contentType ?? '')?.[1]
  return type !== undefined && type.length <= 127 ? type.toLowerCase() : undefined
}

/** Only spaces and tabs may surround it (RFC 9110 § 5.6.3). `trim` would also remove others, such as U+00A0. */
const ESSENCE = /^[ \t]*([a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*)[ \t]*(?:;|$)/i

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
