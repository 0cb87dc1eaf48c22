import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { FileInfo } from '../../core/index.ts'
import type { BlobRange } from '../../adapters/kit/index.ts'
import { HttpError } from '../contract/errors.ts'
import type { Authorization } from './authorization.ts'
import type { Reply } from '../contract/reply.ts'
import { isFresh, sendNotModified, setFileName } from './headers.ts'

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
/** RFC 9110 § 5.6.4. Nothing else can be in a header: setting it would throw after the file was opened. */
const quoted = String.raw`"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"`
/** A media type with its parameters (RFC 9110 § 8.3.1), which is not a range of types such as image/*. */
const MEDIA_TYPE = new RegExp(`^${token}(?<!\\*)/(?!\\*)${token}(?:[ \\t]*;[ \\t]*${token}=(?:${token}|${quoted}))*$`)

const isMediaType = (text: string): boolean => text.length <= 255 && MEDIA_TYPE.test(text)

/**
 * Sends a file's content, whole or one range (RFC 9110 § 14), or 304 if the client has it.
 *
 * @throws `RANGE_NOT_SATISFIABLE`, `VALIDATION_ERROR` for a malformed media type
 */
export async function sendFile(
  ctx: Context,
  { file, read, mimeType }: Extract<Reply, { kind: 'file' }>,
  authorization: Pick<Authorization, 'renew'>,
): Promise<void> {
  if (mimeType !== undefined && !isMediaType(mimeType))
    throw new HttpError('VALIDATION_ERROR', 'mimeType must be a media type, such as image/png')
  const etag = `"${file.sha256}"`
  if (isFresh(ctx, etag)) {
    setHeaders(ctx, file, etag)
    return sendNotModified(ctx, etag)
  }
  const range = rangeOf(ctx, file, etag)
  // Opened before the first header is set, so that a missing blob is still an error response.
  const content = ctx.method === 'HEAD' ? undefined : await read(range)
  setHeaders(ctx, file, etag)
  // `nosniff`, `attachment` and the sandbox keep a browser from running it.
  const type = mimeType ?? (isMediaType(file.mimeType) ? file.mimeType : 'application/octet-stream')
  ctx.state.head.set('Content-Type', type)
  ctx.status = 200
  if (range !== undefined) {
    ctx.status = 206
    ctx.state.head.set('Content-Range', `bytes ${range.start}-${range.end - 1}/${file.size}`)
  }
  // If the bytes are not the recorded ones, the stream fails and the client sees that the response is cut off.
  if (content !== undefined) ctx.body = Readable.from(whileAuthorized(content, authorization), { objectMode: false })
  ctx.state.head.set('Content-Length', String(range === undefined ? file.size : range.end - range.start))
}

/** The same chunks while the request is authorized. Not a generator: if nothing is read, it still ends `content`. */
function whileAuthorized(
  content: AsyncIterable<Uint8Array>,
  authorization: Pick<Authorization, 'renew'>,
): AsyncIterable<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  const checked: AsyncIterator<Uint8Array> = {
    async next() {
      await authorization.renew()
      return chunks.next()
    },
    async return() {
      await chunks.return?.()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => checked }
}

/** The headers of a file, also of 304. They come last, because an error must not have them. */
function setHeaders(ctx: Context, file: FileInfo, etag: string): void {
  setFileName(ctx, file.name)
  ctx.state.head.setAll({
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Accept-Ranges': 'bytes',
    ETag: etag,
    // A link with a token may be shown in pages of other origins.
    ...(ctx.state.scope?.principal.kind === 'fileToken' && { 'Cross-Origin-Resource-Policy': 'cross-origin' }),
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
  ctx.state.head.set('Content-Range', `bytes */${size}`)
  throw new HttpError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes`)
}
