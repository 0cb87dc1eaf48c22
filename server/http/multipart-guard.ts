import type { Duplex } from 'node:stream'
import { RegistryError } from '../../core/errors.ts'

export interface PartLimits {
  readonly maxParts: number
  /** Of one part's headers, and of what stands before the first part or after the last. */
  readonly maxHeaderBytes: number
}

export const malformed = (why: string, cause?: unknown): RegistryError =>
  new RegistryError('MALFORMED_BODY', `The multipart body is broken: ${why}`, { cause })
const tooLarge = (what: string): RegistryError =>
  new RegistryError('PAYLOAD_TOO_LARGE', `The multipart body has ${what}`)

/** What formidable's parser says as it goes: most of it with the bytes from `start` to `end` of a buffer. */
interface ParserEvent {
  readonly name:
    | 'partBegin'
    | 'headerField'
    | 'headerValue'
    | 'headerEnd'
    | 'headersEnd'
    | 'partData'
    | 'partEnd'
    | 'end'
  readonly buffer?: Buffer
  readonly start?: number
  readonly end?: number
}

/** The chunk that is parsed, or bytes that looked like a boundary, which come in a buffer of the parser's own. */
interface Parser extends Duplex {
  readonly lookbehind: Buffer
}

/** A delimiter is CRLF, two hyphens, the boundary, CRLF; another CRLF ends a part's headers. */
const DELIMITER_BYTES = 8
/** Colon, space and CRLF. */
const HEADER_BYTES = 4
const LF = 0x0a

/**
 * Guards what formidable 3.5 does not promise. Left alone, it takes any number of parts, headers, preambles and epilogues
 * of any length, the last of equal headers, a line without a colon as the end of the headers (the content then begins
 * with bytes that nobody sent), and half a boundary as the last; and it overwrites content that looked like a
 * boundary before it is read ("\r\n--Bound\rx" became "\r\n--Bound-x").
 *
 * It hears each event as the parser makes it: each byte of the body is content, header, delimiter, or padding.
 */
export class MultipartGuard {
  readonly #boundaryLength: number
  readonly #limits: PartLimits
  readonly #fail: (error: RegistryError) => void
  /** Bytes of the chunks before the one that is parsed, and of all that came those that are accounted for; the rest is padding. */
  #received = 0
  #chunk: Uint8Array = new Uint8Array()
  #accounted = 0
  #parts = 0
  #headerBytes = 0
  #field = ''
  #fields = new Set<string>()
  /** Where in the body the last line feed of the part's headers must be; `undefined` behind a header without a value. */
  #endsAt: number | undefined
  #ended = false

  constructor(boundaryLength: number, limits: PartLimits, fail: (error: RegistryError) => void) {
    this.#boundaryLength = boundaryLength
    this.#limits = limits
    this.#fail = fail
  }

  /** As a plugin of formidable's, behind the one that made the parser. */
  attach(form: object): void {
    const { _parser: parser } = form as { readonly _parser: Parser }
    const push = parser.push.bind(parser)
    parser.push = (event: ParserEvent | null) => push(event && this.#note(event, parser.lookbehind))
  }

  /** Before a chunk is parsed. */
  begin(chunk: Uint8Array): void {
    this.#chunk = chunk
  }

  /** After all of it was parsed. What makes no event shows here: preamble, epilogue, spaces before a header's value. */
  check(): void {
    this.#received += this.#chunk.length
    if (this.#received - this.#accounted <= this.#limits.maxHeaderBytes) return
    if (this.#parts > 0 && !this.#ended) this.#refuseHeaders()
    else this.#fail(malformed('there is too much before its first boundary or behind its last'))
  }

  /** At the body's end, before the parser hears of it. Throws where the last boundary did not come. */
  end(): void {
    if (!this.#ended) throw malformed('it ends before its last boundary')
  }

  #note(event: ParserEvent, lookbehind: Buffer): ParserEvent {
    const { name, buffer, start = 0, end = 0 } = event
    this.#accounted += end - start
    if (name === 'partBegin') this.#beginPart()
    else if (name === 'headerField') this.#noteField(buffer?.toString('latin1', start, end) ?? '')
    else if (name === 'headerValue') this.#noteValue(start, end)
    else if (name === 'headerEnd') this.#endHeader()
    else if (name === 'headersEnd') this.#endHeaders()
    else if (name === 'end') this.#ended = true
    if (buffer !== lookbehind) return event
    return { name, buffer: Buffer.from(buffer.subarray(start, end)), start: 0, end: end - start }
  }

  #beginPart(): void {
    this.#accounted += this.#boundaryLength + DELIMITER_BYTES
    this.#headerBytes = 0
    this.#fields = new Set()
    this.#endsAt = undefined
    if (++this.#parts > this.#limits.maxParts) this.#fail(tooLarge(`more than ${this.#limits.maxParts} parts`))
  }

  #noteField(bytes: string): void {
    this.#field += bytes
    this.#endsAt = undefined
    this.#countHeader(bytes.length)
  }

  #noteValue(start: number, end: number): void {
    this.#endsAt = this.#received + end + 3
    this.#countHeader(end - start)
  }

  #countHeader(bytes: number): void {
    this.#headerBytes += bytes
    if (this.#headerBytes > this.#limits.maxHeaderBytes) this.#refuseHeaders()
  }

  #endHeader(): void {
    const field = this.#field.toLowerCase()
    this.#field = ''
    this.#accounted += HEADER_BYTES
    if (this.#fields.has(field)) this.#fail(malformed('a part has a header twice'))
    this.#fields.add(field)
  }

  /** A line without a colon makes no event, unless a chunk ends in it: but then there is no line feed where the empty line's must be. */
  #endHeaders(): void {
    const isLine =
      this.#field !== '' || (this.#endsAt !== undefined && this.#chunk[this.#endsAt - this.#received] !== LF)
    if (isLine) this.#fail(malformed('a part has a header that is none'))
  }

  #refuseHeaders(): void {
    this.#fail(tooLarge(`a part with more than ${this.#limits.maxHeaderBytes} bytes of headers`))
  }
}
