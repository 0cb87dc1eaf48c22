import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { BlobRange, FileInfo, Files } from '../../core/index.ts'
import { matchesEtag } from './conditional.ts'
import { HttpError } from './errors.ts'

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
/** RFC 9110 § 5.6.4. Nothing else can be in a header: setting it would throw after the file was opened. */
const quoted = String.raw`"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"`
/** A media type with its parameters (RFC 9110 § 8.3.1). */
const MEDIA_TYPE = new RegExp(`^${token}/${token}(?:[ \\t]*;[ \\t]*${token}=(?:${token}|${quoted}))*$`)

const isMediaType = (text: string): boolean => text.length <= 255 && MEDIA_TYPE.test(text)

interface Download {
  readonly files: Files
  readonly file: FileInfo
  /** Overrides the stored media type. */
  readonly mimeType: string | undefined
}

/**
 * Sends a file's content, whole or one range (RFC 9110 § 14), or 304 if the client has it.
 *
 * @throws `RANGE_NOT_SATISFIABLE`, `VALIDATION_ERROR` for a malformed media type
 */
export async function sendFile(ctx: Context, { files, file, mimeType }: Download): Promise<void> {
  if (mimeType !== undefined && !isMediaType(mimeType))
    throw new HttpError('VALIDATION_ERROR', 'mimeType must be a media type, such as image/png')
  const etag = `"${file.sha256}"`
  const isCached = matchesEtag(ctx.get('If-None-Match'), etag)
  const range = isCached ? undefined : rangeOf(ctx, file, etag)
  // Opened before the first header is set, so that a missing blob is still an error response.
  const content = isCached || ctx.method === 'HEAD' ? undefined : await files.read(file, range && { range })
  setHeaders(ctx, file, etag, mimeType)
  ctx.status = isCached ? 304 : range === undefined ? 200 : 206
  if (isCached) return
  if (range !== undefined) ctx.set('Content-Range', `bytes ${range.start}-${range.end - 1}/${file.size}`)
  // If the bytes are not the recorded ones, the stream fails and the client sees that the response is cut off.
  if (content !== undefined) ctx.body = Readable.from(content, { objectMode: false })
  ctx.length = range === undefined ? file.size : range.end - range.start
}

function setHeaders(ctx: Context, file: FileInfo, etag: string, mimeType: string | undefined): void {
  // `attachment` writes both forms of RFC 6266. It also guesses a Content-Type, which is overwritten below.
  ctx.attachment(file.name, { fallback: file.name.replaceAll(/[^\x20-\x7e]/g, '?') })
  ctx.set({
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'private, no-cache',
    'Accept-Ranges': 'bytes',
    ETag: etag,
    // `nosniff`, `attachment` and the sandbox keep a browser from running it.
    'Content-Type': mimeType ?? (isMediaType(file.mimeType) ? file.mimeType : 'application/octet-stream'),
  })
}

/**
 * The range to send. `undefined`: the whole file, also if the request has several ranges or If-Range names other
 * content.
 */
function rangeOf(ctx: Context, { size }: FileInfo, etag: string): BlobRange | undefined {
  const header = ctx.get('Range')
  const ifRange = ctx.get('If-Range')
  if (ctx.method !== 'GET' || header === '' || (ifRange !== '' && ifRange !== etag)) return undefined
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1)
  if (start < end) return { start, end }
  ctx.set('Content-Range', `bytes */${size}`)
  throw new HttpError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes`)
}
