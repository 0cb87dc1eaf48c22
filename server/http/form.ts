import type { Context } from 'koa'
import { fromBase64 } from '../../core/bytes.ts'
import { MAX_META_DEPTH } from '../../core/registry/schemas.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { parseStrictJson, type Json } from '../../core/commitment/canonical-json.ts'
import type { FileToStage, StagedFile } from '../../core/api/registry.ts'
import { bodyText } from './body.ts'
import { MAX_TEXT_BYTES, readJsonObject } from './json-body.ts'
import { partsOf, type Part } from './multipart.ts'

/** Where an endpoint takes files: the names of its parts, and how many of them. */
export interface FileSlot {
  /** The field's own name; as a text field it holds titles, or nothing. */
  readonly name: string
  /** Other part names that mean the same. */
  readonly aliases?: readonly string[]
  /** Takes any number of files, and titles for them. Else one file. */
  readonly many?: true
  /** In JSON it may be `{name?, mimeType, data}` with base64 data. */
  readonly inline?: true
}

/** How the text of a form field becomes a value: as it is where nothing is said. */
export type FieldKind = 'json' | 'boolean'

export interface FormShape {
  readonly slots: readonly FileSlot[]
  readonly kinds?: Readonly<Record<string, FieldKind>>
}

export interface UploadLimits {
  readonly maxFileBytes: number
  readonly maxFilesPerRequest: number
  readonly idleMs: number
}

/** Stores one file's bytes. What it answers is the caller's to use or discard, also where reading the form fails later. */
export type Stage = (file: FileToStage, maxBytes: number) => Promise<StagedFile>

/** A request's fields, and its files by the slot's name. */
export interface Form {
  readonly fields: Record<string, Json>
  readonly files: ReadonlyMap<string, readonly StagedFile[]>
}

const MAX_PARTS = 256
const MAX_PART_HEADER_BYTES = 8 * 1024
const MAX_INLINE_BYTES = 5 * 1024 * 1024

const refuse = (why: string): RegistryError => new RegistryError('VALIDATION_ERROR', why)

/**
 * Reads multipart/form-data. Limits end it at once; a field that is wrong is refused only when the body is whole, so
 * that a body that is both broken and wrong is called broken. Throws `PAYLOAD_TOO_LARGE`, `MALFORMED_BODY`, `VALIDATION_ERROR`.
 */
export async function readMultipart(ctx: Context, shape: FormShape, limits: UploadLimits, stage: Stage): Promise<Form> {
  const reader = new FormReader(shape, limits, stage)
  const parts = partsOf(ctx.req, { idleMs: limits.idleMs, maxParts: MAX_PARTS, maxHeaderBytes: MAX_PART_HEADER_BYTES })
  for await (const part of parts) await reader.take(part)
  return reader.finish()
}

/** Reads application/json with a form's field names: files only as inline images. */
export async function readJsonForm(ctx: Context, shape: FormShape, limits: UploadLimits, stage: Stage): Promise<Form> {
  const fields = await readJsonObject(ctx, limits.idleMs)
  const files = new Map<string, StagedFile[]>()
  for (const { name, inline } of shape.slots) {
    const value = fields[name]
    delete fields[name]
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) continue
    if (inline !== true) throw refuse(`${name} takes files, which JSON cannot send: use multipart/form-data`)
    const { data, ...image } = inlineImage(name, value)
    files.set(name, [await stage({ ...image, body: once(data) }, MAX_INLINE_BYTES)])
  }
  return { fields, files }
}

class FormReader {
  readonly #shape: FormShape
  readonly #limits: UploadLimits
  readonly #stage: Stage
  readonly #texts = new Map<string, string>()
  readonly #files = new Map<string, StagedFile[]>()
  #textBytes = 0
  #fileCount = 0
  #problem: RegistryError | undefined

  constructor(shape: FormShape, limits: UploadLimits, stage: Stage) {
    this.#shape = shape
    this.#limits = limits
    this.#stage = stage
  }

  async take(part: Part): Promise<void> {
    if (part.filename === undefined) await this.#takeText(part)
    else await this.#takeFile(part, part.filename)
  }

  finish(): Form {
    if (this.#problem !== undefined) throw this.#problem
    const titles = new Map(this.#shape.slots.map(({ name, many }) => [name, this.#takeTitles(name, many === true)]))
    const fields: Record<string, Json> = {}
    for (const [name, text] of this.#texts) fields[name] = fieldValue(name, text, kindOf(this.#shape, name))
    const files = new Map(
      [...this.#files].map(([slot, staged]) => [slot, titled(slot, staged, titles.get(slot) ?? [])]),
    )
    for (const [slot, given] of titles) if (!files.has(slot)) titled(slot, [], given)
    return { fields, files }
  }

  #note(problem: string): void {
    this.#problem ??= refuse(problem)
  }

  async #takeText({ name, body }: Part): Promise<void> {
    const text = await textOf(body, MAX_TEXT_BYTES - this.#textBytes)
    this.#textBytes += Buffer.byteLength(name) + Buffer.byteLength(text)
    if (name === '__proto__') this.#note('The field __proto__ is refused')
    else if (this.#texts.has(name)) this.#note(`The field ${shown(name)} was sent twice`)
    else this.#texts.set(name, text)
  }

  async #takeFile({ name, mimeType, body }: Part, filename: string): Promise<void> {
    const content = filename === '' ? await unlessEmpty(body) : body
    // What a browser sends for a file input that was left empty.
    if (content === undefined) return
    if (++this.#fileCount > this.#limits.maxFilesPerRequest)
      throw new RegistryError('PAYLOAD_TOO_LARGE', `A request takes at most ${this.#limits.maxFilesPerRequest} files`)
    const slot = this.#shape.slots.find(
      (candidate) => candidate.name === name || candidate.aliases?.includes(name) === true,
    )
    const staged = slot && (this.#files.get(slot.name) ?? [])
    if (slot === undefined || staged === undefined) this.#note(`${shown(name)} is not a known file field`)
    else if (slot.many !== true && staged.length > 0) this.#note(`${slot.name} takes one file`)
    else if (this.#problem === undefined) {
      const file = { name: filename, mimeType: mimeType ?? 'application/octet-stream', body: content }
      this.#files.set(slot.name, [...staged, await this.#stage(file, this.#limits.maxFileBytes)])
      return
    }
    await skip(content, this.#limits.maxFileBytes)
  }

  /** The text field of a slot: empty, or a JSON array of titles. */
  #takeTitles(slot: string, many: boolean): readonly string[] {
    const text = this.#texts.get(slot)
    this.#texts.delete(slot)
    if (text === undefined || text.trim() === '') return []
    if (!many) throw refuse(`${slot} takes a file, not a text`)
    const titles = jsonField(slot, text)
    const valid =
      Array.isArray(titles) &&
      titles.every((title) => typeof title === 'string' && /^[^\p{Cc}\p{Cs}]{0,256}$/u.test(title))
    if (valid) return titles as readonly string[]
    throw refuse(
      `${slot} takes files; its text is empty or a JSON array of their titles, each of at most 256 characters without control characters`,
    )
  }
}

function titled(slot: string, staged: readonly StagedFile[], titles: readonly string[]): readonly StagedFile[] {
  if (titles.length > staged.length) throw refuse(`${slot} has more titles than files`)
  return staged.map((file, i) => (titles[i] === undefined || titles[i] === '' ? file : { ...file, title: titles[i] }))
}

const kindOf = ({ kinds }: FormShape, name: string): FieldKind | undefined =>
  kinds && Object.hasOwn(kinds, name) ? kinds[name] : undefined

function fieldValue(name: string, text: string, kind: FieldKind | undefined): Json {
  if (kind === undefined) return text
  // An empty value clears: of an object that is the empty one.
  if (kind === 'json') return text.trim() === '' ? {} : jsonField(name, text)
  if (text === 'true' || text === 'false') return text === 'true'
  throw refuse(`${name} takes true or false`)
}

function jsonField(name: string, text: string): Json {
  try {
    // Two more than a meta may have: an array of objects around it.
    return parseStrictJson(text, { maxDepth: MAX_META_DEPTH + (name === 'meta' ? 0 : 2) })
  } catch (cause) {
    if (!isRegistryError(cause)) throw cause
    throw new RegistryError('VALIDATION_ERROR', `${name}: ${cause.message}`, { cause })
  }
}

interface InlineImage {
  readonly name: string
  readonly mimeType: string
  readonly data: Uint8Array
}

function inlineImage(field: string, value: Json): InlineImage {
  const takes = `${field} takes {name?, mimeType, data}, data in base64`
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(takes)
  const { name = 'image', mimeType, data, ...others } = value as Readonly<Record<string, Json>>
  if (
    typeof name !== 'string' ||
    typeof mimeType !== 'string' ||
    typeof data !== 'string' ||
    Object.keys(others).length > 0
  )
    throw refuse(takes)
  if (!/^image\/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}$/.test(mimeType))
    throw refuse(`${field}.mimeType takes the type of an image, such as image/png`)
  if (data.length > (MAX_INLINE_BYTES / 3) * 4 + 4)
    throw new RegistryError('PAYLOAD_TOO_LARGE', `${field} takes at most ${MAX_INLINE_BYTES} bytes`)
  const bytes = fromBase64(data)
  if (bytes === undefined || bytes.length === 0) throw refuse(`${field}.data takes base64`)
  return { name, mimeType, data: bytes }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The same bytes; `undefined` where there are none. */
async function unlessEmpty(body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array> | undefined> {
  const iterator = body[Symbol.asyncIterator]()
  const first = await iterator.next()
  return first.done === true ? undefined : rejoin(first.value, iterator)
}

async function* rejoin(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value
}

/** Reads over a file that is not kept, within what a file may have. */
async function skip(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<void> {
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new RegistryError('PAYLOAD_TOO_LARGE', `A file takes at most ${maxBytes} bytes`)
  }
}

/** Throws `PAYLOAD_TOO_LARGE` at the first byte beyond the limit, `MALFORMED_BODY` where it is not UTF-8. */
async function textOf(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes)
      throw new RegistryError('PAYLOAD_TOO_LARGE', `JSON and form text take at most ${MAX_TEXT_BYTES} bytes together`)
    chunks.push(chunk)
  }
  return bodyText(Buffer.concat(chunks, size))
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 64))
