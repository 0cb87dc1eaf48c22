import { RegistryError } from '../core/errors.ts'

/**
 * multipart/form-data (RFC 7578, RFC 2046 § 5.1), read part by part at the pace of whoever consumes it: the sender waits
 * while a part's bytes are stored, and nothing is read ahead. The sender controls every byte of it.
 */

export interface PartLimits {
  readonly maxParts: number
  /** Of one part's headers, and of what stands before the first part or after the last. */
  readonly maxHeaderBytes: number
}

/** One part. Its body is read once, before the next part is asked for; what is left of it then is skipped. */
export interface Part {
  readonly name: string
  /** A part with a file name is a file, whatever its type; the name is as the client sent it. */
  readonly filename: string | undefined
  /** `type/subtype` in lower case, without parameters. */
  readonly mimeType: string | undefined
  readonly body: AsyncIterable<Uint8Array>
}

const malformed = (why: string): RegistryError =>
  new RegistryError('MALFORMED_BODY', `The multipart body is broken: ${why}`)
const tooLarge = (what: string): RegistryError =>
  new RegistryError('PAYLOAD_TOO_LARGE', `The multipart body has ${what}`)

const CRLF = Buffer.from('\r\n')
const HEADERS_END = Buffer.from('\r\n\r\n')

/** The boundary that a Content-Type names. Throws `MALFORMED_BODY` where it names none that RFC 2046 allows. */
export function boundaryOf(contentType: string): string {
  const boundary = parameters(contentType).get('boundary')
  if (boundary === undefined || !/^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/.test(boundary))
    throw malformed('its Content-Type has no boundary of 1 to 70 characters')
  return boundary
}

/** The parts of a body, in order. Throws `MALFORMED_BODY` and, as soon as a limit is passed, `PAYLOAD_TOO_LARGE`. */
export async function* partsOf(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
  limits: PartLimits,
): AsyncGenerator<Part> {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const window = new Window(source)
  // A body begins with its first delimiter without a line break: it gets one, so that all are alike.
  window.prepend(CRLF)
  await skipPreamble(window, delimiter, limits.maxHeaderBytes)
  for (let count = 1; await startsPart(window, delimiter); count++) {
    if (count > limits.maxParts) throw tooLarge(`more than ${limits.maxParts} parts`)
    const headers = parseHeaders(await readHeaders(window, limits.maxHeaderBytes))
    yield { ...headers, body: readBody(window, delimiter) }
    for await (const skipped of readBody(window, delimiter)) void skipped
  }
  await skipEpilogue(window, limits.maxHeaderBytes)
}

/** The bytes that came and are not taken yet. Holds one chunk and a delimiter's length at most, or what a search may look through. */
class Window {
  readonly #source: AsyncIterator<Uint8Array>
  #bytes: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  get bytes(): Buffer {
    return this.#bytes
  }

  prepend(bytes: Buffer): void {
    this.#bytes = Buffer.concat([bytes, this.#bytes])
  }

  /** Takes the first `count` bytes. */
  take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    return taken
  }

  /** Waits for more bytes; false where there are none. */
  async fill(): Promise<boolean> {
    const step = await this.#source.next()
    if (step.done === true) return false
    this.#bytes =
      this.#bytes.length === 0
        ? Buffer.from(step.value.buffer, step.value.byteOffset, step.value.byteLength)
        : Buffer.concat([this.#bytes, step.value])
    return true
  }

  /** As `fill`, where the body may not end here. */
  async need(): Promise<void> {
    if (!(await this.fill())) throw malformed('it ends before its last boundary')
  }
}

async function skipPreamble(window: Window, delimiter: Buffer, maxBytes: number): Promise<void> {
  for (let skipped = 0; ;) {
    const at = window.bytes.indexOf(delimiter)
    if (at !== -1) return void window.take(at)
    skipped += window.take(Math.max(0, window.bytes.length - delimiter.length + 1)).length
    if (skipped > maxBytes) throw malformed('its boundary does not appear')
    await window.need()
  }
}

/** Takes a delimiter that stands at the window's start; true where a part follows, false where it was the last one. */
async function startsPart(window: Window, delimiter: Buffer): Promise<boolean> {
  while (window.bytes.length < delimiter.length + 2) await window.need()
  const end = window.bytes.toString('latin1', delimiter.length, delimiter.length + 2)
  if (end !== '\r\n' && end !== '--') throw malformed('a boundary has something behind it')
  // The line break stays: it is the first half of the empty line where a part has no headers.
  window.take(delimiter.length + (end === '--' ? 2 : 0))
  return end === '\r\n'
}

async function readHeaders(window: Window, maxBytes: number): Promise<Buffer> {
  for (;;) {
    const at = window.bytes.indexOf(HEADERS_END)
    if (at > maxBytes || (at === -1 && window.bytes.length > maxBytes + HEADERS_END.length))
      throw tooLarge(`a part with more than ${maxBytes} bytes of headers`)
    if (at !== -1) return window.take(at + HEADERS_END.length).subarray(0, at)
    await window.need()
  }
}

/** Yields what stands before the next delimiter, and leaves the window there. */
async function* readBody(window: Window, delimiter: Buffer): AsyncGenerator<Uint8Array> {
  for (let from = 0; ;) {
    const at = window.bytes.indexOf(delimiter, from)
    if (at !== -1 && window.bytes.length < at + delimiter.length + 2) await window.need()
    else if (at !== -1 && !endsDelimiter(window.bytes, at + delimiter.length)) from = at + 1
    else if (at !== -1) {
      if (at > 0) yield window.take(at)
      return
    } else {
      const safe = window.bytes.length - delimiter.length + 1
      if (safe > 0) yield window.take(safe)
      from = 0
      await window.need()
    }
  }
}

/** A boundary that goes on is another boundary's beginning: content. */
const endsDelimiter = (bytes: Buffer, at: number): boolean => {
  const end = bytes.toString('latin1', at, at + 2)
  return end === '\r\n' || end === '--'
}

async function skipEpilogue(window: Window, maxBytes: number): Promise<void> {
  for (let skipped = 0; ;) {
    skipped += window.take(window.bytes.length).length
    if (skipped > maxBytes) throw malformed('there is too much behind its last boundary')
    if (!(await window.fill())) return
  }
}

function parseHeaders(block: Buffer): Omit<Part, 'body'> {
  const headers = new Map<string, string>()
  for (const line of decode(block).split('\r\n').slice(1)) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) throw malformed('a part has a header that is none')
    if (headers.has(name.toLowerCase())) throw malformed('a part has a header twice')
    headers.set(name.toLowerCase(), value)
  }
  // RFC 7578 § 4.7 ended transfer encodings; storing such a part as it is would keep other bytes than were meant.
  const encoding = headers.get('content-transfer-encoding')
  if (encoding !== undefined && !/^(?:7bit|8bit|binary)$/i.test(encoding))
    throw malformed('a part has a Content-Transfer-Encoding')
  return {
    ...parseDisposition(headers.get('content-disposition') ?? ''),
    mimeType: essence(headers.get('content-type')),
  }
}

function parseDisposition(disposition: string): { name: string; filename: string | undefined } {
  const values = parameters(disposition)
  const name = values.get('name')
  if (!/^form-data *(?:;|$)/i.test(disposition) || name === undefined)
    throw malformed('a part has no Content-Disposition with a name')
  return {
    name: unescape(name),
    filename: extendedFilename(values.get('filename*')) ?? unescape(values.get('filename')),
  }
}

/** The parameters of a header value by lower-case name; of equal names the first. */
function parameters(value: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [, name, quoted, token] of value.matchAll(/;[ \t]*([^\s;="]+)=(?:"((?:\\"|[^"])*)"|([^\s;"]*))/g)) {
    const key = (name as string).toLowerCase()
    if (!found.has(key)) found.set(key, quoted ?? token ?? '')
  }
  return found
}

/** Browsers write a quote as %22 and line breaks as %0D %0A (WHATWG HTML), curl a quote as \": other backslashes belong to paths. */
function unescape(value: string): string
function unescape(value: string | undefined): string | undefined
function unescape(value: string | undefined): string | undefined {
  return value
    ?.replaceAll('\\"', '"')
    .replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** `filename*` (RFC 8187): RFC 7578 forbids it, some clients send it. */
function extendedFilename(value: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value ?? '')?.[1]
  if (encoded === undefined) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    throw malformed('a part has a broken filename*')
  }
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

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw malformed('a part has headers that are not UTF-8')
  }
}
