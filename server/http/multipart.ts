import { finished, PassThrough, Readable, type Duplex } from 'node:stream'
import { finished as whenFinished } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MIMEType } from 'node:util'
import { multipart } from 'formidable'
import type { Context } from 'koa'
import { decodeUtf8 } from '../../core/bytes.ts'
import { bodyParser, essence, GuardedBody, parseBody, refusalOf, type BodyWatch } from './bodies.ts'
import { MultipartGuard, malformed, type PartLimits } from './multipart-guard.ts'

/**
 * multipart/form-data (RFC 7578, RFC 2046 § 5.1), read by formidable and given part by part at the pace of whoever
 * consumes it. The sender controls every byte of it.
 */

/** One part. Its body is read once, before the next part is asked for; what is left of it then is skipped. */
export interface Part {
  readonly name: string
  /** A part with a file name is a file, whatever its type; the name is as the client sent it. */
  readonly filename: string | undefined
  /** `type/subtype` in lower case, without parameters. */
  readonly mimeType: string | undefined
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * The parts of a request's body, in order. Throws `MALFORMED_BODY`, and `PAYLOAD_TOO_LARGE` where a limit is passed. One
 * chunk of the body is held, and what a part's body buffers: the sender waits for the consumer.
 */
export async function* partsOf(ctx: Context, idleMs: number, limits: PartLimits): AsyncGenerator<Part> {
  const reader = new PartReader(ctx, idleMs, limits)
  try {
    for await (const part of reader.parts as AsyncIterable<QueuedPart>) {
      yield part
      part.body.destroy()
    }
  } finally {
    reader.stop()
  }
}

interface QueuedPart extends Part {
  readonly body: PassThrough
}

/** A part as formidable hands it to `onPart`; the types that are published lack `headers`. */
interface ParsedPart extends NodeJS.EventEmitter {
  readonly headers?: Readonly<Record<string, string>>
  readonly mimetype: string | null
}

/** Formidable's parsing turned from pushed events into parts that wait to be asked for. */
class PartReader {
  readonly parts = new Readable({ objectMode: true, read: () => undefined })
  readonly #source: GuardedBody
  readonly #watch: MultipartGuard
  readonly #bodies = new Set<PassThrough>()
  /** The part under way, and what the chunk under way brought of it. */
  #body: PassThrough | undefined
  #pieces: Uint8Array[] = []
  #failed = false

  constructor(ctx: Context, idleMs: number, limits: PartLimits) {
    const boundary = boundaryOf(ctx.get('Content-Type'))
    this.parts.on('error', () => undefined)
    this.#watch = new MultipartGuard(boundary.length, limits, (error) => this.#fail(error))
    const watch: BodyWatch = { digest: (bytes) => this.#digest(bytes), end: () => this.#watch.end() }
    // Named again, so that formidable takes the boundary that was checked.
    const type = { 'content-type': `multipart/form-data; boundary="${boundary}"` }
    this.#source = new GuardedBody(ctx.req, idleMs, type, watch)
    const parser = bodyParser({
      multipart: true,
      formidable: {
        // Formidable decodes leniently, and chunk by chunk: as bytes, names and headers can be decoded strictly here.
        encoding: 'binary',
        enabledPlugins: [multipart, (form) => this.#watch.attach(form)],
        onPart: (part) => this.#open(part),
      },
    })
    const parsed = parseBody(ctx, this.#source, parser)
    // Formidable is done at the last boundary, not at the body's end.
    Promise.all([parsed, whenFinished(this.#source)]).then(
      () => this.parts.push(null),
      (error: unknown) => this.#fail(refusalOf(error)),
    )
  }

  /** Ends it where it is not ended: nobody reads on. */
  stop(): void {
    this.#fail(malformed('it was not read to its end'))
  }

  #fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    const cause = error as Error
    for (const stream of [this.parts, ...this.#bodies, this.#source]) stream.destroy(cause)
  }

  /** Must be synchronous and must not throw: formidable would lose the part, and leave the rejection to the process. */
  #open(part: ParsedPart): void {
    if (this.#failed) return
    try {
      const headers = readHeaders(part)
      const body = new PassThrough()
      body.on('error', () => undefined)
      body.once('close', () => this.#bodies.delete(body))
      this.#bodies.add(body)
      this.#body = body
      part.on('data', (piece: Uint8Array) => void this.#pieces.push(piece))
      part.on('end', () => {
        this.#flush(body)
        body.end()
        this.#body = undefined
      })
      this.parts.push({ ...headers, body })
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Small pieces (a false start of a boundary makes two) go on together. */
  #flush(body: PassThrough): void {
    const pieces = this.#pieces
    this.#pieces = []
    if (!body.destroyed && pieces.length > 0) body.write(Buffer.concat(pieces))
  }

  /** Settles when the chunk's parts were read, all but the last, and that one takes more. */
  async #digest(chunk: Uint8Array): Promise<void> {
    this.#watch.begin(chunk)
    // The parser's events come in ticks and microtasks: by the next turn they all have.
    await nextTurn()
    this.#watch.check()
    const open = this.#body
    if (open !== undefined) this.#flush(open)
    await Promise.all([...this.#bodies].map((body) => (body === open ? drained(body) : closed(body))))
  }
}

/** The boundary that a Content-Type names. Throws `MALFORMED_BODY` where it names none that RFC 2046 allows. */
function boundaryOf(contentType: string): string {
  const boundary = new MIMEType(contentType).params.get('boundary') ?? ''
  if (!/^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/.test(boundary))
    throw malformed('its Content-Type has no boundary of 1 to 70 characters')
  return boundary
}

const closed = (stream: Duplex): Promise<void> => new Promise((resolve) => void finished(stream, () => resolve()))

const drained = (stream: PassThrough): Promise<void> =>
  new Promise((resolve) => {
    if (!stream.writableNeedDrain || stream.destroyed) return resolve()
    const settle = (): void => {
      stream.off('drain', settle).off('close', settle)
      resolve()
    }
    stream.on('drain', settle).on('close', settle)
  })

function readHeaders({ headers = {}, mimetype }: ParsedPart): Omit<Part, 'body'> {
  // RFC 7578 § 4.7 ended transfer encodings; storing such a part as it is would keep other bytes than were meant.
  if (!/^(?:7bit|8bit|binary)$/i.test(headers['content-transfer-encoding'] ?? 'binary'))
    throw malformed('a part has a Content-Transfer-Encoding')
  const disposition = utf8Of(headers['content-disposition'] ?? '')
  const values = parameters(disposition)
  const name = values.get('name')
  if (!/^form-data *(?:;|$)/i.test(disposition) || name === undefined)
    throw malformed('a part has no Content-Disposition with a name')
  return {
    name: unescape(name),
    filename: extendedFilename(values.get('filename*')) ?? unescape(values.get('filename')),
    mimeType: essence(mimetype ?? undefined),
  }
}

/**
 * The parameters of a Content-Disposition by lower-case name; of equal names the first. Formidable's own reading cuts a
 * name at an escaped quote, makes a character of "&#1234;", and finds "filename=" inside other values.
 */
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
  } catch (cause) {
    throw malformed('a part has a broken filename*', cause)
  }
}

/** Text of bytes that came as one character each. */
function utf8Of(binary: string): string {
  try {
    return decodeUtf8(Buffer.from(binary, 'latin1'))
  } catch (cause) {
    throw malformed('a part has headers that are not UTF-8', cause)
  }
}
