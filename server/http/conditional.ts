import { hash } from 'node:crypto'
import type { Context } from 'koa'
import { sendJson } from './json-response.ts'

/** `If-None-Match`, by the weak comparison (RFC 9110 § 13.1.2). */
export function matchesEtag(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/** A JSON text with its ETag. */
export interface TaggedText {
  readonly text: string
  readonly etag: string
}

/**
 * A JSON text with an ETag of it.
 *
 * @param prefix - what the ETag begins with
 */
export const taggedText = (text: string, prefix = ''): TaggedText => ({
  text,
  etag: `"${prefix}${hash('sha256', text, 'hex').slice(0, 16)}"`,
})

/** Sends a JSON text with its ETag, or 304 if the client has it already. */
export function sendIfChanged(ctx: Context, { text, etag }: TaggedText): void {
  ctx.res.setHeader('ETag', etag)
  if (matchesEtag(ctx.get('If-None-Match'), etag)) {
    ctx.status = 304
    return
  }
  sendJson(ctx, text)
}
