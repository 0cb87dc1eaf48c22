import type { Json } from '../../core/index.ts'
import { HttpError } from './errors.ts'

export const MAX_INLINE_BYTES = 5 * 1024 * 1024

/** An image in a JSON body: `{name?, mimeType, data}` with base64 data. */
export interface InlineImage {
  readonly name: string
  readonly mimeType: string
  readonly data: Uint8Array
}

/**
 * Reads an inline image.
 *
 * @param field - its name in the body, for messages
 * @throws `VALIDATION_ERROR`, `PAYLOAD_TOO_LARGE`
 */
export function readInlineImage(field: string, value: Json): InlineImage {
  if (!isRecord(value)) throw notAnImage(field)
  const { name = 'image', mimeType, data, ...others } = value
  const hasTexts = typeof name === 'string' && typeof mimeType === 'string' && typeof data === 'string'
  if (!hasTexts || Object.keys(others).length > 0) throw notAnImage(field)
  if (!/^image\/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}$/.test(mimeType))
    throw new HttpError('VALIDATION_ERROR', `${field}.mimeType must be the type of an image, such as image/png`)
  if (data.length > (MAX_INLINE_BYTES / 3) * 4 + 4)
    throw new HttpError('PAYLOAD_TOO_LARGE', `${field} must have at most ${MAX_INLINE_BYTES} bytes`)
  const bytes = Buffer.from(data, 'base64')
  // The decoder skips unknown characters, so the text is compared.
  if (bytes.length === 0 || bytes.toString('base64') !== data)
    throw new HttpError('VALIDATION_ERROR', `${field}.data must be base64`)
  return { name, mimeType, data: bytes }
}

const isRecord = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const notAnImage = (field: string): HttpError =>
  new HttpError('VALIDATION_ERROR', `${field} must be {name?, mimeType, data} with data in base64`)
