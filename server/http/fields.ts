import type { TSchema } from '#typebox'
import { isRegistryError, parseStrictJson, type Json, type StagedFile } from '../../core/index.ts'
import { validate } from '../../core/schemas/index.ts'
import type { BodyShape, FormShape } from '../contract/endpoint.ts'
import { HttpError } from '../contract/errors.ts'
import { InlineImage } from '../contract/files.ts'
import { mediaType } from '../contract/media-types.ts'
import { givenFields, isGiven, isObject, type Fields } from '../contract/given-fields.ts'
import { essence } from './body-type.ts'
import { isPartOf, type Form, type Stage } from './form.ts'

/** The fields of a body, and its files by the slot's name. */
export interface ParsedBody {
  readonly fields: Fields
  readonly files: ReadonlyMap<string, readonly StagedFile[]>
}

/** An inline image. In base64, these are 6.7 MiB. */
const MAX_INLINE_BYTES = 5 * 1024 * 1024
/** Of the JSON of a request: each value takes memory, however short it is. */
const JSON_LIMITS = { maxValues: 200_000 } as const

const invalid = (message: string, cause?: unknown): HttpError => new HttpError('VALIDATION_ERROR', message, { cause })

/**
 * Parses what was received of a body: the text of JSON, or a form. Validates its fields.
 *
 * @param stage - stores an inline image
 * @throws `MALFORMED_BODY`, `PAYLOAD_TOO_LARGE`, `VALIDATION_ERROR`
 */
export async function parseFields(
  received: string | Form,
  shape: BodyShape<TSchema>,
  stage: Stage,
): Promise<ParsedBody> {
  const { schema, form, rejectsEmpty } = shape
  const sent = typeof received === 'string' ? await fromJson(received, form, stage) : fromForm(received, schema)
  const fields = rejectsEmpty === true ? sent.fields : givenFields(sent.fields)
  try {
    validate(shape.choose?.(fields) ?? schema, fields)
  } catch (error) {
    throw withFileFields(error, form)
  }
  return { fields, files: sent.files }
}

/** The files of a form are not in its schema: the error of an unknown field names them, too. */
function withFileFields(error: unknown, form: FormShape | undefined): unknown {
  if (form === undefined || !isRegistryError(error) || !/^[^[.]* is not a known field;/.test(error.message))
    return error
  return invalid([error.message, ...form.slots.map(({ name }) => name)].join(', '), error)
}

/** The texts of a form as values of the types that the schema has for their fields. */
function fromForm({ texts, files }: Form, schema: TSchema): ParsedBody {
  const values = [...texts].filter(([, text]) => text !== '')
  return { fields: Object.fromEntries(values.map(([name, text]) => [name, formValue(schema, name, text)])), files }
}

/** The type of a field in a schema, or in the members of a union that have it. */
export function typeOf(schema: TSchema, name: string): string | undefined {
  const { anyOf, properties = {} }: { anyOf?: TSchema[]; properties?: Record<string, { type?: string }> } = schema
  if (anyOf !== undefined) return anyOf.map((each) => typeOf(each, name)).find((type) => type !== undefined)
  return Object.hasOwn(properties, name) ? properties[name]?.type : undefined
}

/** The text of a form field as a value of the field's type. A list is a JSON array, or separated by commas. */
function formValue(schema: TSchema, name: string, text: string): Json {
  const type = typeOf(schema, name)
  if (type === 'object' || (type === 'array' && text.trimStart().startsWith('['))) return parseField(name, text)
  if (type === 'array') return text.split(',').map((item) => item.trim())
  if (type !== 'boolean') return text
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalid(`${name} must be true or false`)
}

/** A field of a form that holds JSON, such as `meta`. */
function parseField(name: string, text: string): Json {
  try {
    return parseStrictJson(text, JSON_LIMITS)
  } catch (cause) {
    if (!isRegistryError(cause, 'VALIDATION_ERROR')) throw cause
    const { field = '', message } = cause
    const joint = field === '' ? ': ' : field.startsWith('[') ? '' : '.'
    throw invalid(`${name}${joint}${message}${placeIn(text, cause.cause)}`, cause)
  }
}

/** JSON with the field names of a form. Files can only be inline images. */
async function fromJson(text: string, form: FormShape | undefined, stage: Stage): Promise<ParsedBody> {
  const fields = parseObject(text)
  const files = new Map<string, readonly StagedFile[]>()
  for (const [field, value] of Object.entries(fields)) {
    const slot = form?.slots.find((each) => isPartOf(each, field))
    if (slot === undefined) continue
    const { name, inline } = slot
    delete fields[field]
    if (!isGiven(value) || (Array.isArray(value) && value.length === 0)) continue
    if (inline !== true) throw invalid(`${field} must be sent as multipart/form-data: JSON cannot hold its files`)
    files.set(name, [await stageInline(name, value, stage)])
  }
  return { fields, files }
}

/** A body must be an object. Strict: no member twice, no lone surrogate, a limit of values. */
function parseObject(text: string): Fields {
  let value: Json
  try {
    value = parseStrictJson(text, JSON_LIMITS)
  } catch (cause) {
    if (isRegistryError(cause) && cause.cause instanceof SyntaxError)
      throw new HttpError('MALFORMED_BODY', `The body is not JSON${placeIn(text, cause.cause)}`, { cause })
    throw cause
  }
  if (isObject(value)) return value
  throw invalid('The body must be a JSON object')
}

/** Where a text stops being JSON, such as ` (line 3, column 5)`, if V8 says it. */
function placeIn(text: string, error: unknown): string {
  const position = error instanceof SyntaxError ? /at position (\d+)/.exec(error.message)?.[1] : undefined
  if (position === undefined) return ''
  const lines = text.slice(0, Number(position)).split('\n')
  return ` (line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1})`
}

/** An image in JSON, for clients that cannot send forms. */
async function stageInline(field: string, value: Json, stage: Stage): Promise<StagedFile> {
  const { name = 'image', mimeType, data: sent } = validate(InlineImage, value, field)
  const [head = '', typeOfUrl] = DATA_URL.exec(sent) ?? []
  const data = sent.slice(head.length)
  const type = essence(mimeType ?? typeOfUrl)
  if (type === undefined) throw invalid(`${field}.mimeType must be a media type, such as image/png`)
  if (data.length > (MAX_INLINE_BYTES / 3) * 4 + 4)
    throw new HttpError('PAYLOAD_TOO_LARGE', `${field} must have at most ${MAX_INLINE_BYTES} bytes`)
  const bytes = Buffer.from(data, 'base64')
  // The decoder skips unknown characters, so the text is compared.
  if (bytes.length === 0 || bytes.toString('base64') !== data) throw invalid(`${field}.data must be base64`)
  async function* body(): AsyncGenerator<Uint8Array> {
    yield bytes
  }
  return stage({ name, mimeType: mediaType(type, name), body: body() }, MAX_INLINE_BYTES)
}

/** The beginning of a data URL (RFC 2397) in base64. Its parameters say nothing of an image. */
const DATA_URL = /^data:([^;,]{0,127})(?:;[^;,]{0,127}){0,8};base64,/i
