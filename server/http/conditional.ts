import { createHash } from 'node:crypto'
import type { Context } from 'koa'

/** `If-None-Match`, by the weak comparison (RFC 9110 § 13.1.2). */
export function matchesEtag(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/**
 * Sends a JSON body with an ETag of its text, or 304 if the client has it already.
 *
 * @param prefix - what the ETag begins with
 */
export function sendIfChanged(ctx: Context, body: object, prefix = ''): void {
  const text = JSON.stringify(body)
  const etag = `"${prefix}${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`
  ctx.set('ETag', etag)
  if (matchesEtag(ctx.get('If-None-Match'), etag)) {
    ctx.status = 304
    return
  }
  ctx.type = 'json'
  ctx.body = text
}
