import type { ByteStream, NamedUpload, Upload } from './options.ts'
import { textOf, type Fields } from './route.ts'

/** A part of a multipart body: a text, or a file. */
export interface Part {
  readonly name: string
  readonly value: string | FilePart
}

interface FilePart {
  readonly fileName: string
  readonly type: string
  readonly content: NamedUpload['content']
}

/**
 * Returns the parts of a body with files, `undefined` if it has none. `fileFields` are the names of the fields that can
 * be files. Leaves out fields that are `null`: in JSON they mean "not given", and a form has no `null`.
 */
export function partsOf(body: Fields, fileFields: readonly string[] = []): readonly Part[] | undefined {
  const hasFile = fileFields.some((name) => isUpload(body[name]) || isUploads(body[name]))
  if (!hasFile) return undefined
  return Object.entries(body).flatMap(([name, value]) => {
    if (value === null) return []
    if (fileFields.includes(name) && isUpload(value)) return [{ name, value: filePart(value) }]
    return fileFields.includes(name) && isUploads(value) ? fileParts(name, value) : [{ name, value: textOf(value) }]
  })
}

/** The titles of a list of files are a text field of the same name. */
function fileParts(name: string, uploads: readonly Upload[]): readonly Part[] {
  const files = uploads.map(filePart)
  const parts = files.map((value) => ({ name, value }))
  if (!uploads.some((upload) => 'title' in upload)) return parts
  const titles = uploads.map((upload, i) => ('title' in upload && upload.title) || titleOf(files[i]?.fileName))
  return [{ name, value: JSON.stringify(titles) }, ...parts]
}

const titleOf = (fileName = ''): string => fileName.replace(/(?<=.)\.[^.]*$/, '')

/** The name and type of a file come from the options, else from the Blob. */
function filePart(upload: Upload): FilePart {
  const { content, name, type }: NamedUpload = upload instanceof Blob ? { content: upload } : upload
  const isBlob = content instanceof Blob
  return {
    content,
    fileName: name ?? (isBlob && 'name' in content ? String(content.name) : 'file'),
    type: type ?? ((isBlob && content.type) || 'application/octet-stream'),
  }
}

const isUpload = (value: unknown): value is Upload =>
  value instanceof Blob || (typeof value === 'object' && value !== null && 'content' in value)
const isUploads = (value: unknown): value is readonly Upload[] =>
  Array.isArray(value) && value.length > 0 && value.every(isUpload)

/** Whether the parts can be sent a second time. */
export const isRepeatable = (parts: readonly Part[]): boolean =>
  parts.every(({ value }) => typeof value === 'string' || !isStream(value.content))

const isStream = (content: NamedUpload['content']): content is ByteStream =>
  typeof content === 'object' && Symbol.asyncIterator in content

// -- for browsers

/** Reads streams into memory, because browsers do not stream the body of a request over HTTP/1.1. */
export async function formData(parts: readonly Part[]): Promise<FormData> {
  const form = new FormData()
  for (const { name, value } of parts)
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([await blobPart(value.content)], { type: value.type }), value.fileName)
  return form
}

async function blobPart(content: NamedUpload['content']): Promise<Blob | Uint8Array<ArrayBuffer> | string> {
  const opened = typeof content === 'function' ? content() : content
  if (opened instanceof Uint8Array) return new Uint8Array(opened)
  if (!isStream(opened)) return opened
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of opened) chunks.push(new Uint8Array(chunk))
  return new Blob(chunks)
}

// -- for Node

/** A multipart body as a stream of bytes. */
export interface MultipartBody {
  readonly contentType: string
  /** `undefined` if the size of a stream is not known. */
  readonly totalBytes: number | undefined
  readonly stream: AsyncGenerator<Uint8Array, void, undefined>
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const LINE_END = encode('\r\n')

/** The body of a form. Its size is known in advance unless a stream is among its files. */
export function multipartBody(parts: readonly Part[], boundary: string): MultipartBody {
  const end = encode(`--${boundary}--\r\n`)
  const sizes = parts.map((part) => partSize(part, boundary))
  const isKnown = sizes.every((size) => size !== undefined)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    totalBytes: isKnown ? sizes.reduce((sum, size) => sum + size, end.length) : undefined,
    stream: multipartStream(parts, boundary, end),
  }
}

/** The bytes of a form, part by part. */
async function* multipartStream(
  parts: readonly Part[],
  boundary: string,
  end: Uint8Array,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const part of parts) {
    yield partHead(part, boundary)
    yield* typeof part.value === 'string' ? [encode(part.value)] : bytesOf(part.value.content)
    yield LINE_END
  }
  yield end
}

function partHead({ name, value }: Part, boundary: string): Uint8Array {
  const file =
    typeof value === 'string' ? '' : `; filename="${escapeName(value.fileName)}"\r\nContent-Type: ${value.type}`
  return encode(`--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"${file}\r\n\r\n`)
}

/** As in the HTML standard's multipart/form-data encoding. */
const escapeName = (name: string): string => name.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')

async function* bytesOf(content: NamedUpload['content']): AsyncGenerator<Uint8Array, void, undefined> {
  const opened = typeof content === 'function' ? content() : content
  if (typeof opened === 'string') yield encode(opened)
  else if (opened instanceof Uint8Array) yield opened
  else yield* opened instanceof Blob ? opened.stream() : opened
}

function partSize(part: Part, boundary: string): number | undefined {
  const size = sizeOf(part.value)
  return size === undefined ? undefined : partHead(part, boundary).length + size + LINE_END.length
}

function sizeOf(value: Part['value']): number | undefined {
  if (typeof value === 'string') return encode(value).length
  const { content } = value
  if (typeof content === 'string') return encode(content).length
  if (content instanceof Uint8Array) return content.length
  return content instanceof Blob ? content.size : undefined
}
