import { malformed } from './guarded-body.ts'

const LINE_FEED = Buffer.from('\r\n')
const EMPTY_LINE = Buffer.from('\r\n\r\n')

/**
 * Finds lines of a form that begin with its delimiter and go on with anything but a line feed or `--`. No content may
 * have them, and only white space may follow (RFC 2046 § 5.1.1). formidable takes such a line and all parts behind it
 * as content, and may change its bytes.
 */
export class Delimiters {
  readonly #delimiter: Buffer
  /** What may be the beginning of a delimiter. The first one needs no line before it. */
  #rest: Buffer = LINE_FEED
  #isOpen = false
  #isClosed = false

  /** `contentType`: of the form. It is read as by formidable. */
  constructor(contentType: string) {
    const [, quoted, plain = ''] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType) ?? []
    this.#delimiter = Buffer.from(`\r\n--${quoted ?? plain}`)
  }

  /**
   * The next bytes of the form.
   *
   * @throws `MALFORMED_BODY`
   */
  check(chunk: Uint8Array): void {
    if (this.#isClosed) return
    let bytes = Buffer.concat([this.#rest, chunk])
    // Some senders write each boundary with the line feed before it, also the first one.
    while (!this.#isOpen && bytes.subarray(0, EMPTY_LINE.length).equals(EMPTY_LINE))
      bytes = bytes.subarray(LINE_FEED.length)
    const { length } = this.#delimiter
    // A sender that forgets the first boundary would lose its first part as a preamble.
    if (!this.#isOpen && bytes.length >= length && !this.#delimiter.equals(bytes.subarray(0, length)))
      throw malformed('The form must begin with its boundary')
    this.#isOpen ||= bytes.length >= length
    for (let at = bytes.indexOf(this.#delimiter); at !== -1; at = bytes.indexOf(this.#delimiter, at + length)) {
      const next = bytes.toString('latin1', at + length, at + length + 2)
      if (next.length < 2) break
      if (next === '--') {
        this.#isClosed = true
        return
      }
      if (next !== '\r\n')
        throw malformed(
          'The form has a line that begins with its boundary, but is none: write nothing after a boundary, and choose ' +
            'one that no content has',
        )
    }
    this.#rest = bytes.subarray(-length - 1)
  }
}
