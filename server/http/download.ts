import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { RegistryError } from '../../core/errors.ts'
import type { BlobRange } from '../../core/ports.ts'
import type { FileInfo, Files } from '../../core/api/registry.ts'

/** Types that no browser runs. Everything else is served as octets: files are what strangers sent. */
const INERT = new Set([
  'application/json',
  'application/octet-stream',
  'application/pdf',
  'application/zip',
  'audio/aac',
  'audio/flac',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/heic',
  'image/heif',
  'image/jpeg',
  'image/png',
  'image/tiff',
  'image/webp',
  'text/csv',
  'text/plain',
  'video/mp4',
  'video/mpeg',
  'video/ogg',
  'video/quicktime',
  'video/webm',
])

export const INERT_TYPES: readonly string[] = [...INERT]

/** Answers with a file's content, whole or one range (RFC 9110 § 14), or that the caller has it. Throws `RANGE_NOT_SATISFIABLE`, `VALIDATION_ERROR`. */
export async function sendFile(
  ctx: Context,
  files: Files,
  file: FileInfo,
  mimeType: string | undefined,
): Promise<void> {
  if (mimeType !== undefined && !INERT.has(mimeType))
    throw new RegistryError('VALIDATION_ERROR', `mimeType takes one of ${INERT_TYPES.join(', ')}`)
  const etag = `"${file.sha256}"`
  const known = isKnown(ctx.get('If-None-Match'), etag)
  const range = known ? undefined : rangeOf(ctx, file, etag)
  // Opened before anything is said, so that a missing blob is still an error answer.
  const content = known || ctx.method === 'HEAD' ? undefined : await files.read(file, range)
  // Koa's own `attachment` writes both forms of RFC 6266; it also guesses a type, so ours comes after.
  ctx.attachment(file.name, { fallback: file.name.replaceAll(/[^\x20-\x7e]/g, '?') })
  ctx.set({
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'private, no-cache',
    'Accept-Ranges': 'bytes',
    ETag: etag,
    'Content-Type': mimeType ?? (INERT.has(file.mimeType) ? file.mimeType : 'application/octet-stream'),
  })
  ctx.status = known ? 304 : range === undefined ? 200 : 206
  if (known) return
  if (range !== undefined) ctx.set('Content-Range', `bytes ${range.start}-${range.end - 1}/${file.size}`)
  // Bytes that are not those recorded cut the answer short, which the client sees.
  if (content !== undefined) ctx.body = Readable.from(content, { objectMode: false })
  ctx.length = range === undefined ? file.size : range.end - range.start
}

/** `If-None-Match`, by the weak comparison (RFC 9110 § 13.1.2). */
function isKnown(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/** The range to answer; `undefined` for the whole, also where several are asked for or If-Range names another content. */
function rangeOf(ctx: Context, { size }: FileInfo, etag: string): BlobRange | undefined {
  const header = ctx.get('Range')
  const ifRange = ctx.get('If-Range')
  if (ctx.method !== 'GET' || header === '' || (ifRange !== '' && ifRange !== etag)) return undefined
  const [, first, last] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1)
  if (start < end) return { start, end }
  ctx.set('Content-Range', `bytes */${size}`)
  throw new RegistryError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes`)
}
