import { HttpError } from '../contract/errors.ts'
import { malformed } from './guarded-body.ts'

const CRLF = Buffer.from('\r\n')
const EMPTY_LINE = Buffer.from('\r\n\r\n')
/** Of one part. */
const MAX_HEADER_BYTES = 16 * 1024

/** The boundary that the Content-Type of a form names. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType) ?? []
  return quoted ?? plain
}

/**
 * Checks what formidable does not (RFC 2046 § 5.1.1, RFC 7578). It takes a line that begins with the boundary and goes
 * on as content, with all parts behind it; it ignores what is behind the closing boundary, also other parts; it takes a
 * line without a colon as the end of the headers of a part, and of two equal headers the last one.
 */
export class FormSyntax {
  readonly #delimiter: Buffer
  /** Bytes that were not checked yet. The first delimiter needs no line before it. */
  #rest: Buffer = CRLF
  #state: 'start' | 'headers' | 'content' | 'closed' = 'start'

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  /**
   * The next bytes of the form.
   *
   * @throws `MALFORMED_BODY`; `PAYLOAD_TOO_LARGE` for the headers of a part
   */
  check(chunk: Uint8Array): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#advance());
  }

  /** Checks up to the next thing of the form. Returns `false` if it needs more bytes. */
  #advance(): boolean {
    if (this.#state === 'start') return this.#readStart()
    if (this.#state === 'headers') return this.#readHeaders()
    return this.#readContent()
  }

  #readStart(): boolean {
    // Some senders write each boundary with the line feed before it, also the first one.
    if (this.#rest.subarray(0, EMPTY_LINE.length).equals(EMPTY_LINE)) return this.#skip(CRLF.length)
    const { length } = this.#delimiter
    if (this.#rest.length < length) return false
    // A sender that forgets the first boundary would lose its first part as a preamble.
    if (!this.#delimiter.equals(this.#rest.subarray(0, length)))
      throw malformed('The form must begin with its boundary')
    this.#state = 'content'
    return true
  }

  #readHeaders(): boolean {
    const end = this.#rest.indexOf(EMPTY_LINE)
    if ((end === -1 ? this.#rest.length : end) > MAX_HEADER_BYTES)
      throw new HttpError('PAYLOAD_TOO_LARGE', `The headers of a part must have at most ${MAX_HEADER_BYTES} bytes`)
    if (end === -1) return false
    const names = new Set<string>()
    for (const line of this.#rest.toString('latin1', 0, end).split('\r\n').slice(1)) {
      const name = line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase()
      if (name === '') throw malformed('A line in the headers of a part has no name and colon')
      if (names.has(name)) throw malformed(`A part of the form has two headers ${JSON.stringify(name.slice(0, 64))}`)
      names.add(name)
    }
    this.#state = 'content'
    // The content begins behind the line feed with which a delimiter may begin.
    return this.#skip(end + CRLF.length)
  }

  #readContent(): boolean {
    const { length } = this.#delimiter
    const at = this.#rest.indexOf(this.#delimiter)
    // What may be the beginning of a delimiter.
    if (at === -1) return this.#skip(Math.max(0, this.#rest.length - length + 1)) && false
    if (this.#state === 'closed') throw malformed('The form goes on behind its closing boundary')
    const next = this.#rest.toString('latin1', at + length, at + length + 3)
    if (next.startsWith('\r\n')) {
      this.#state = 'headers'
      return this.#skip(at + length)
    }
    if (/^--[ \t\r\n]/.test(next)) {
      this.#state = 'closed'
      return this.#skip(at + length)
    }
    if ('\r\n'.startsWith(next) || '--'.startsWith(next)) return this.#skip(at) && false
    throw malformed(
      'The form has a line that begins with its boundary, but is none: write nothing after a boundary, and choose ' +
        'one that no content has',
    )
  }

  #skip(bytes: number): true {
    this.#rest = this.#rest.subarray(bytes)
    return true
  }
}
