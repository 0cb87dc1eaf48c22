import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { FileToStage, StagedFile } from '../../core/index.ts'
import type { FileSlot } from '../contract/endpoint.ts'
import { defaultName } from '../contract/media-types.ts'
import { HttpError } from '../contract/errors.ts'
import { decodeBody, parseBody } from './body-parser.ts'
import { assertUtf8 } from './body-type.ts'
import { formParserFor, type PartSink, type PartsReader } from './form-parser.ts'
import { boundaryOf, FormSyntax } from './form-syntax.ts'
import { asError, GuardedBody, malformed, type BodyLimits } from './guarded-body.ts'
import { readPartHeaders } from './part-headers.ts'
import { withTitles, type SlotFile } from './titles.ts'

/** multipart/form-data (RFC 7578). The sender controls every byte. */

/** Stores the bytes of one file. The caller uses or discards it, also if reading the form fails later. */
export type Stage = (file: FileToStage, maxBytes: number) => Promise<StagedFile>

/** How a form is read. */
export interface FormOptions {
  readonly slots: readonly FileSlot[]
  readonly limits: BodyLimits
  readonly stage: Stage
  readonly maxFileBytes: number
  readonly maxFilesPerRequest: number
  /** Whether a part with a file name is a text all the same: a Blob of FormData has one. */
  readonly isText: (name: string) => boolean
}

/** The texts of a form, and its files by the slot's name. */
export interface Form {
  readonly texts: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, readonly StagedFile[]>
}

/** Parts with texts. Those with files have a limit of their own. */
const MAX_TEXT_PARTS = 256
/** For the headers of parts, and what is around the parts. */
const OVERHEAD_BYTES = 256 * 1024
/**
 * formidable accepts a form that ends behind any boundary. No boundary and no header has this byte: after it, the
 * parser fails unless it has read the closing boundary, behind which everything is ignored.
 */
const EPILOGUE = Uint8Array.of(0)
const UNREADABLE =
  'The form cannot be read: it must have parts with headers, and end with the closing boundary (--BOUNDARY--)'

const invalid = (message: string, cause?: unknown): HttpError => new HttpError('VALIDATION_ERROR', message, { cause })
const tooLarge = (message: string): HttpError => new HttpError('PAYLOAD_TOO_LARGE', message)

/** @throws `PAYLOAD_TOO_LARGE`, `MALFORMED_BODY`, `VALIDATION_ERROR`, `OVERLOADED` */
export async function readMultipart(ctx: Context, options: FormOptions): Promise<Form> {
  const boundary = boundaryOf(ctx.get('Content-Type'))
  if (boundary === undefined)
    throw malformed('The Content-Type of the form has no boundary: let the HTTP library that writes the form set it')
  const { limits } = options
  const syntax = new FormSyntax(boundary)
  const form = { epilogue: EPILOGUE, check: (chunk: Uint8Array) => syntax.check(chunk) }
  const guard = new GuardedBody(ctx.req, { ...limits, maxBytes: limits.maxBytes + OVERHEAD_BYTES }, form)
  const parts = new PartReader(guard, options)
  try {
    await parseBody(ctx, guard, await formParserFor(guard, parts), UNREADABLE)
    return await parts.finish()
  } catch (error) {
    await parts.cancel(error)
    throw error
  }
}

/** Collects the texts of a form, and stages its files as they arrive. */
class PartReader implements PartsReader {
  readonly #guard: GuardedBody
  readonly #options: FormOptions
  readonly #texts = new Map<string, readonly Uint8Array[]>()
  readonly #files: {
    readonly slot: string
    readonly index: number | undefined
    readonly body: Readable
    readonly staged: Promise<StagedFile | undefined>
  }[] = []
  #textBytes = 0
  #partCount = 0
  #failure: unknown

  constructor(guard: GuardedBody, options: FormOptions) {
    this.#guard = guard
    this.#options = options
  }

  begin(headers: Readonly<Record<string, string>>): PartSink | undefined {
    // The parser goes on with what it has got, and no request would use the files in it.
    if (this.#failure !== undefined) return undefined
    try {
      const { maxFilesPerRequest, slots, isText } = this.#options
      if (++this.#partCount > MAX_TEXT_PARTS + maxFilesPerRequest) throw tooLarge('The form has too many parts')
      const { name, fileName, mimeType, hasFileType } = readPartHeaders(headers)
      const isFile = fileName !== undefined || (hasFileType && slots.some((slot) => isPartOf(slot, name)))
      if (isFile && !isText(name)) return this.#readFile(name, { name: fileName ?? '', mimeType })
      assertUtf8(headers['content-type'], `The field ${quoted(name)}`)
      return this.#readText(name)
    } catch (error) {
      this.#fail(error)
      return undefined
    }
  }

  /** The form, once all parts were read. */
  async finish(): Promise<Form> {
    await Promise.all(this.#files.map(({ staged }) => staged))
    if (this.#failure !== undefined) throw this.#failure
    const texts = new Map<string, string>()
    // Browsers send a line break of a text as CR LF.
    for (const [name, chunks] of this.#texts)
      texts.set(name, decodeBody(Buffer.concat(chunks), `The field ${quoted(name)}`).replaceAll('\r\n', '\n'))
    const files = new Map<string, SlotFile[]>()
    for (const { slot, index, staged } of this.#files) {
      const file = await staged
      if (file !== undefined) files.set(slot, [...(files.get(slot) ?? []), { file, index }])
    }
    return { texts, files: this.#titled(texts, files) }
  }

  readonly #resume = (): void => {
    this.#guard.resume()
  }

  /** Ends the body. The parser may have got all of it already. */
  #fail(error: unknown): void {
    this.#failure ??= error
    this.#guard.destroy(asError(error))
  }

  /** Waits until no file is staged any more. */
  async cancel(reason: unknown): Promise<void> {
    this.#failure ??= reason
    for (const { body } of this.#files) body.destroy(asError(reason))
    await Promise.all(this.#files.map(({ staged }) => staged))
  }

  #readText(name: string): PartSink {
    if (name === '__proto__') throw invalid('The field name __proto__ is not allowed')
    if (this.#texts.has(name)) throw invalid(`The field ${quoted(name)} was sent twice`)
    const chunks: Uint8Array[] = []
    this.#texts.set(name, chunks)
    return {
      write: (chunk) => {
        this.#textBytes += chunk.length
        chunks.push(chunk)
        const { maxBytes, tooLarge: message } = this.#options.limits
        if (this.#textBytes > maxBytes) this.#fail(tooLarge(message))
      },
      end: () => undefined,
    }
  }

  #readFile(name: string, file: Omit<FileToStage, 'body'>): PartSink {
    const { slots } = this.#options
    const slot = slots.find((each) => isPartOf(each, name))
    if (slot === undefined)
      throw invalid(`${quoted(name)} is not a known file field; known are ${slots.map((each) => each.name).join(', ')}`)
    if (slot.many !== true && this.#files.some((other) => other.slot === slot.name))
      throw invalid(`${slot.name} must be one file`)
    if (this.#files.length >= this.#options.maxFilesPerRequest)
      throw tooLarge(`A request must have at most ${this.#options.maxFilesPerRequest} files`)
    // Without a listener, the error of a form that fails would end the process.
    const body = new Readable({ read: this.#resume }).on('error', () => undefined)
    const index = INDEX.exec(name)?.[1] || undefined
    this.#files.push({
      slot: slot.name,
      index: index === undefined ? index : Number(index),
      body,
      staged: this.#stage({ ...file, body }),
    })
    return {
      write: (chunk) => {
        this.#guard.pass(chunk.length)
        if (!body.push(chunk)) this.#guard.pause()
      },
      end: () => {
        body.push(null)
        // Nothing reads a stream that has ended: without this, the rest of the form would stay paused.
        this.#resume()
      },
    }
  }

  /** `undefined` for what a browser sends for an empty file input, and for a failure, which ends the body. */
  async #stage({ body, ...file }: FileToStage): Promise<StagedFile | undefined> {
    try {
      const content = file.name === '' ? await nonEmpty(body) : body
      const name = file.name || defaultName(file.mimeType)
      return content && (await this.#options.stage({ ...file, name, body: content }, this.#options.maxFileBytes))
    } catch (error) {
      this.#fail(error)
      return undefined
    }
  }

  /** The files with their titles, which are the texts of the slots. */
  #titled(texts: Map<string, string>, files: ReadonlyMap<string, readonly SlotFile[]>): Form['files'] {
    const titled = new Map<string, readonly StagedFile[]>()
    for (const slot of this.#options.slots) {
      const { name, many } = slot
      const text = texts.get(name) ?? ''
      for (const [part, misplaced] of texts) {
        if (!isPartOf(slot, part)) continue
        texts.delete(part)
        // Some clients send an empty text for a file that is not given.
        if (misplaced !== '' && (part !== name || many !== true))
          throw invalid(`${quoted(part)} must be a file, not a text`)
      }
      titled.set(name, withTitles(name, files.get(name) ?? [], text))
    }
    return titled
  }
}

const INDEX = /\[(\d{0,6})\]$/

/** Files of a slot for many may have an index: `images[0]`, `images.items[0]`. */
export function isPartOf({ name: own, aliases = [], many }: FileSlot, partName: string): boolean {
  const name = many === true ? partName.replace(INDEX, '') : partName
  return own === name || aliases.includes(name)
}

/** The same bytes; `undefined` if there are none. */
async function nonEmpty(body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array> | undefined> {
  const iterator = body[Symbol.asyncIterator]()
  const first = await iterator.next()
  return first.done === true ? undefined : prepend(first.value, iterator)
}

/** A stream that begins with a chunk that was read already. */
async function* prepend(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 64))
