import { createHash } from 'node:crypto'
import type { Context } from 'koa'

/** `If-None-Match`, by the weak comparison (RFC 9110 § 13.1.2). */
export function matchesEtag(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/**
 * Sends a JSON body with an ETag of its content, or 304 if the client has it already.
 *
 * @param prefix - what the ETag begins with
 * @returns the body to send, `undefined` for a 304
 */
export function sendIfChanged<T extends object>(ctx: Context, body: T, prefix = ''): T | undefined {
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 16)
  const etag = `"${prefix}${hash}"`
  ctx.set('ETag', etag)
  if (!matchesEtag(ctx.get('If-None-Match'), etag)) return body
  ctx.status = 304
  return undefined
}
