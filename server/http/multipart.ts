import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import { BodyStream, type BodyPace } from './body.ts'
import { HttpError } from './errors.ts'
import { malformed, readPartHeaders, type PartHeaders } from './part-headers.ts'

/**
 * multipart/form-data (RFC 7578, RFC 2046 § 5.1), read strictly and part by part at the consumer's pace. The sender
 * controls every byte.
 *
 * The packages that read it were tried. @fastify/busboy 3.2 ends a part at any line that begins with the boundary, so
 * it silently cuts files that contain such a line; it also drops headers without a colon. formidable 3.5 needs more
 * lines of guards than this file has.
 */

/** One part. Its body can be read once, before the next part is requested; the rest of it is skipped then. */
export interface Part extends PartHeaders {
  readonly body: AsyncIterable<Uint8Array>
}

export interface MultipartLimits extends BodyPace {
  readonly maxParts: number
  /** Limit for the headers of one part, and for what precedes the first boundary or follows the last one. */
  readonly maxHeaderBytes: number
}

/**
 * The parts of a request's body, in order. Holds one chunk of the body in memory.
 *
 * @throws `MALFORMED_BODY`; `PAYLOAD_TOO_LARGE` beyond a limit
 */
export async function* partsOf(request: IncomingMessage, limits: MultipartLimits): AsyncGenerator<Part> {
  const boundary = boundaryOf(request.headers['content-type'] ?? '')
  const source = new BodyStream(request, limits)
  const scanner = new DelimiterScanner(source, `--${boundary}`)
  try {
    await skip(scanner.content(), limits.maxHeaderBytes)
    for (let parts = 1; !scanner.isAtEnd; parts++) {
      if (parts > limits.maxParts) throw tooLarge(`more than ${limits.maxParts} parts`)
      const headers = readPartHeaders(await scanner.headerBlock(limits.maxHeaderBytes))
      yield { ...headers, body: scanner.content() }
      // Continues where the consumer stopped reading.
      if (!scanner.isAtDelimiter) await skip(scanner.content())
    }
    await skip(scanner.epilogue(), limits.maxHeaderBytes)
  } finally {
    source.destroy()
  }
}

/** Reads a body up to each delimiter: a line break, two hyphens, the boundary, and then a line break or two hyphens. */
class DelimiterScanner {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #delimiter: Buffer
  /**
   * Bytes that were received and not yet returned. Starts with the line break that the first delimiter does not need.
   */
  #buffer: Buffer = Buffer.from('\r\n')
  #isAtDelimiter = false
  #isAtEnd = false

  constructor(source: AsyncIterable<Uint8Array>, dashBoundary: string) {
    this.#chunks = source[Symbol.asyncIterator]()
    this.#delimiter = Buffer.from(`\r\n${dashBoundary}`, 'latin1')
  }

  /** Whether the delimiter after the current content was read. */
  get isAtDelimiter(): boolean {
    return this.#isAtDelimiter
  }

  /** Whether that was the last delimiter. */
  get isAtEnd(): boolean {
    return this.#isAtEnd
  }

  /**
   * Returns the bytes before the next delimiter, and reads over the delimiter. Another call continues where a stopped
   * one ended.
   */
  async *content(): AsyncGenerator<Uint8Array> {
    let from = 0
    while (!this.#isAtDelimiter) {
      const { contentEnd, next } = this.#findDelimiter(from)
      if (next === 'content') {
        from = contentEnd + 1
        continue
      }
      if (contentEnd > 0) yield this.#take(contentEnd)
      from = 0
      if (next === 'unknown') await this.#fill()
      else this.#passDelimiter()
    }
  }

  /**
   * The bytes between the line break of a delimiter and the empty line. Throws `PAYLOAD_TOO_LARGE` if there are more
   * than `maxBytes`.
   */
  async headerBlock(maxBytes: number): Promise<Buffer> {
    this.#isAtDelimiter = false
    for (;;) {
      // The line break of the delimiter is still in the buffer, so that an empty block looks like any other one.
      const end = this.#buffer.indexOf('\r\n\r\n')
      if ((end === -1 ? this.#buffer.length : end) > maxBytes + 2)
        throw tooLarge(`a part with more than ${maxBytes} bytes of headers`)
      if (end !== -1) return this.#take(end + 4).subarray(2, end)
      await this.#fill()
    }
  }

  async *epilogue(): AsyncGenerator<Uint8Array> {
    if (this.#buffer.length > 0) yield this.#buffer
    for (let step = await this.#chunks.next(); step.done !== true; step = await this.#chunks.next()) yield step.value
  }

  /**
   * Looks for the next delimiter. The bytes before `contentEnd` certainly belong to the content. `unknown`: more bytes
   * are needed to decide what follows them.
   */
  #findDelimiter(from: number): { contentEnd: number; next: 'delimiter' | 'content' | 'unknown' } {
    const at = this.#buffer.indexOf(this.#delimiter, from)
    if (at === -1) {
      const possibleStart = this.#buffer.indexOf('\r', Math.max(from, this.#buffer.length - this.#delimiter.length + 1))
      return { contentEnd: possibleStart === -1 ? this.#buffer.length : possibleStart, next: 'unknown' }
    }
    const end = at + this.#delimiter.length
    if (this.#buffer.length < end + 2) return { contentEnd: at, next: 'unknown' }
    const suffix = this.#buffer.toString('latin1', end, end + 2)
    return { contentEnd: at, next: suffix === '\r\n' || suffix === '--' ? 'delimiter' : 'content' }
  }

  #passDelimiter(): void {
    this.#isAtDelimiter = true
    this.#isAtEnd = this.#buffer.toString('latin1', this.#delimiter.length, this.#delimiter.length + 2) === '--'
    this.#take(this.#delimiter.length + (this.#isAtEnd ? 2 : 0))
  }

  #take(length: number): Buffer {
    const taken = this.#buffer.subarray(0, length)
    this.#buffer = this.#buffer.subarray(length)
    return taken
  }

  async #fill(): Promise<void> {
    const { done, value } = await this.#chunks.next()
    if (done === true) throw malformed('it ends before its last boundary')
    this.#buffer =
      this.#buffer.length === 0
        ? Buffer.from(value.buffer, value.byteOffset, value.length)
        : Buffer.concat([this.#buffer, value])
  }
}

async function skip(content: AsyncIterable<Uint8Array>, maxBytes = Number.POSITIVE_INFINITY): Promise<void> {
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > maxBytes) throw malformed('there is too much before its first boundary or after its last one')
  }
}

/** The boundary that a Content-Type names. Throws `MALFORMED_BODY` if RFC 2046 does not allow it. */
function boundaryOf(contentType: string): string {
  const boundary = new MIMEType(contentType).params.get('boundary') ?? ''
  if (!/^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/.test(boundary))
    throw malformed('its Content-Type must have a boundary of 1 to 70 characters')
  return boundary
}

const tooLarge = (what: string): HttpError => new HttpError('PAYLOAD_TOO_LARGE', `The multipart body has ${what}`)
