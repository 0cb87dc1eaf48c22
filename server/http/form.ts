import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { isRegistryError, parseStrictJson, type FileToStage, type Json, type StagedFile } from '../../core/index.ts'
import type { FieldKind, FileSlot, FormShape } from '../contract/endpoint.ts'
import { bodyText, type BodyPace } from './body.ts'
import { HttpError } from './errors.ts'
import { isGiven } from './given-fields.ts'
import { MAX_INLINE_BYTES, readInlineImage } from './inline-image.ts'
import { JSON_LIMITS, readJsonObject } from './json-body.ts'
import { jsonErrorPlace } from './json-error-place.ts'
import { partsOf, type Part } from './multipart.ts'

export interface UploadLimits extends BodyPace {
  readonly maxFileBytes: number
  readonly maxFilesPerRequest: number
}

/** Stores the bytes of one file. The caller uses or discards it, also if reading the form fails later. */
export type Stage = (file: FileToStage, maxBytes: number) => Promise<StagedFile>

/** How the files of a form are read. */
export interface FormOptions {
  readonly shape: FormShape
  readonly limits: UploadLimits
  readonly stage: Stage
  readonly maxTextBytes: number
  /** Counts bytes of texts, which stay in memory. Default: they are not counted. */
  readonly holdBytes?: (count: number) => void
}

/** The fields of a request, and its files by the slot's name. */
export interface Form {
  readonly fields: Record<string, Json>
  readonly files: ReadonlyMap<string, readonly StagedFile[]>
}

/** Parts with texts. Those with files have a limit of their own. */
const MAX_TEXT_PARTS = 256
const MAX_PART_HEADER_BYTES = 8 * 1024

const invalid = (message: string, cause?: unknown): HttpError => new HttpError('VALIDATION_ERROR', message, { cause })

/**
 * Reads multipart/form-data. Stops at once at a limit. A wrong field is reported only after the body was read, so that
 * a body that is both broken and wrong is reported as broken.
 *
 * @throws `PAYLOAD_TOO_LARGE`, `MALFORMED_BODY`, `VALIDATION_ERROR`
 */
export async function readMultipart(request: IncomingMessage, options: FormOptions): Promise<Form> {
  const reader = new FormReader(options)
  const maxParts = MAX_TEXT_PARTS + options.limits.maxFilesPerRequest
  const limits = { ...options.limits, maxParts, maxHeaderBytes: MAX_PART_HEADER_BYTES }
  for await (const part of partsOf(request, limits)) await reader.read(part)
  return reader.finish()
}

/** Reads application/json with the field names of a form. Files can only be inline images. */
export async function readJsonForm(ctx: Context, { shape, limits, stage, maxTextBytes }: FormOptions): Promise<Form> {
  const fields = await readJsonObject(ctx, { ...limits, maxTextBytes })
  const files = new Map<string, StagedFile[]>()
  for (const { name, inline, many } of shape.slots) {
    const value = fields[name]
    delete fields[name]
    // A text can only be the titles of files, and JSON has none.
    if (many === true && typeof value === 'string') continue
    if (value === undefined || !isGiven(value) || (Array.isArray(value) && value.length === 0)) continue
    if (inline !== true) throw invalid(`${name} must be sent as multipart/form-data: JSON cannot hold its files`)
    const { data, ...image } = readInlineImage(name, value)
    files.set(name, [await stage({ ...image, body: chunksOf(data) }, MAX_INLINE_BYTES)])
  }
  return { fields, files }
}

/** Collects the texts of a form and stages its files. */
class FormReader {
  readonly #shape: FormShape
  readonly #limits: UploadLimits
  readonly #stage: Stage
  readonly #maxTextBytes: number
  readonly #holdBytes: (count: number) => void
  readonly #texts = new Map<string, string>()
  readonly #files = new Map<string, StagedFile[]>()
  #textBytes = 0
  #fileCount = 0
  /** The first wrong field. */
  #problem: HttpError | undefined

  constructor({ shape, limits, stage, maxTextBytes, holdBytes = () => undefined }: FormOptions) {
    this.#maxTextBytes = maxTextBytes
    this.#holdBytes = holdBytes
    this.#shape = shape
    this.#limits = limits
    this.#stage = stage
  }

  async read(part: Part): Promise<void> {
    // A Blob of FormData has a file name, also if it is the JSON text of a field.
    const isText = part.filename === undefined || kindOf(this.#shape, part.name) === 'json'
    if (isText) await this.#readText(part)
    else await this.#readFile(part, part.filename ?? '')
  }

  finish(): Form {
    if (this.#problem !== undefined) throw this.#problem
    const files = new Map<string, readonly StagedFile[]>()
    for (const slot of this.#shape.slots) {
      const staged = withTitles(slot.name, this.#files.get(slot.name) ?? [], this.#takeTitles(slot))
      if (staged.length > 0) files.set(slot.name, staged)
    }
    const fields: Record<string, Json> = {}
    for (const [name, text] of this.#texts)
      if (isGiven(text)) fields[name] = fieldValue(name, text, kindOf(this.#shape, name))
    return { fields, files }
  }

  async #readText({ name, body }: Part): Promise<void> {
    const text = await readText(body, (count) => this.#holdText(count))
    this.#textBytes += Buffer.byteLength(name)
    if (name === '__proto__') this.#problem ??= invalid('The field name __proto__ is not allowed')
    else if (this.#texts.has(name)) this.#problem ??= invalid(`The field ${quoted(name)} was sent twice`)
    else this.#texts.set(name, text)
  }

  /** Counts bytes of texts. Throws `PAYLOAD_TOO_LARGE`, or `OVERLOADED` if all requests together hold too many. */
  #holdText(count: number): void {
    this.#textBytes += count
    if (this.#textBytes > this.#maxTextBytes)
      throw new HttpError('PAYLOAD_TOO_LARGE', `The texts of a form must have at most ${this.#maxTextBytes} bytes`)
    this.#holdBytes(count)
  }

  async #readFile({ name, mimeType = 'application/octet-stream', body }: Part, filename: string): Promise<void> {
    const content = filename === '' ? await nonEmpty(body) : body
    // A browser sends this for an empty file input.
    if (content === undefined) return
    if (++this.#fileCount > this.#limits.maxFilesPerRequest)
      throw new HttpError('PAYLOAD_TOO_LARGE', `A request must have at most ${this.#limits.maxFilesPerRequest} files`)
    const slot = this.#slotFor(name)
    if (slot === undefined || this.#problem !== undefined) return skip(content, this.#limits.maxFileBytes)
    const staged = await this.#stage({ name: filename, mimeType, body: content }, this.#limits.maxFileBytes)
    this.#files.set(slot.name, [...(this.#files.get(slot.name) ?? []), staged])
  }

  /** The slot that a file part belongs to. `undefined`, and a noted problem, if there is none or it is full. */
  #slotFor(name: string): FileSlot | undefined {
    const slot = this.#shape.slots.find((each) => isPartOf(each, name))
    if (slot === undefined) this.#problem ??= invalid(`${quoted(name)} is not a known file field`)
    else if (slot.many === true || !this.#files.has(slot.name)) return slot
    else this.#problem ??= invalid(`${slot.name} must be one file`)
    return undefined
  }

  /** The text field of a slot, which is removed from the texts. */
  #takeTitles({ name, many }: FileSlot): string {
    const text = this.#texts.get(name) ?? ''
    this.#texts.delete(name)
    if (text.trim() !== '' && many !== true) throw invalid(`${name} must be a file, not a text`)
    return text
  }
}

/** Files of a slot for many may have an index: `images[0]`, `images.items[0]`. */
function isPartOf({ name: own, aliases = [], many }: FileSlot, partName: string): boolean {
  const name = many === true ? partName.replace(/\[\d{0,6}\]$/, '') : partName
  return own === name || aliases.includes(name)
}

/** The files with their titles. Without files, the text has no effect. */
function withTitles(slot: string, staged: readonly StagedFile[], text: string): readonly StagedFile[] {
  if (staged.length === 0 || text.trim() === '') return staged
  const titles = titlesIn(text) ?? staged.map(() => text)
  if (titles.length > staged.length) throw invalid(`${slot} has more titles than files`)
  return staged.map((file, i) => (titles[i] === undefined || titles[i] === '' ? file : { ...file, title: titles[i] }))
}

/** The titles in a JSON array, `undefined` for any other text. */
function titlesIn(text: string): readonly string[] | undefined {
  try {
    const value = parseStrictJson(text)
    return isTexts(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

const kindOf = ({ kinds }: FormShape, name: string): FieldKind | undefined =>
  kinds && Object.hasOwn(kinds, name) ? kinds[name] : undefined

function fieldValue(name: string, text: string, kind: FieldKind | undefined): Json {
  if (kind === undefined) return text
  if (kind === 'json') return jsonField(name, text)
  if (kind === 'list') return text.trimStart().startsWith('[') ? jsonField(name, text) : listField(text)
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalid(`${name} must be true or false`)
}

const listField = (text: string): readonly string[] => text.split(',').map((item) => item.trim())

function jsonField(name: string, text: string): Json {
  try {
    return parseStrictJson(text, JSON_LIMITS)
  } catch (cause) {
    if (!isRegistryError(cause, 'VALIDATION_ERROR')) throw cause
    const place = cause.cause instanceof SyntaxError ? ` (${jsonErrorPlace(text)})` : ''
    throw invalid(`${name}: ${cause.message}${place}`, cause)
  }
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The same bytes; `undefined` if there are none. */
async function nonEmpty(body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array> | undefined> {
  const iterator = body[Symbol.asyncIterator]()
  const first = await iterator.next()
  return first.done === true ? undefined : prepend(first.value, iterator)
}

async function* prepend(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value
}

/** Reads a file that is not stored. The limit for files applies to it, too. */
async function skip(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<void> {
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new HttpError('PAYLOAD_TOO_LARGE', `A file must have at most ${maxBytes} bytes`)
  }
}

/** `hold` is called before a chunk is kept. Throws `MALFORMED_BODY` if the bytes are not UTF-8. */
async function readText(body: AsyncIterable<Uint8Array>, hold: (count: number) => void): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) {
    hold(chunk.length)
    chunks.push(chunk)
  }
  return bodyText(Buffer.concat(chunks))
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 64))
