import type { Context } from 'koa'
import { encodeLong } from '../contract/reply.ts'

/** The body of a response that is written at once. */
export interface Content {
  /** Its media type. */
  readonly type: string
  readonly data: Uint8Array | string
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Writes a whole response with the headers of `ctx.state.head`; a short text and the headers with one system call. Koa
 * writes only streams.
 */
export function send(ctx: Context, status: number, content?: Content): void {
  const { req, res, state } = ctx
  ctx.respond = false
  // The client is gone. The log has the status.
  if (!ctx.writable) {
    res.statusCode = status
    res.end()
    return
  }
  let body: Uint8Array | string | undefined
  if (content !== undefined) {
    body = encodeLong(content.data)
    state.head.set('Content-Type', content.type)
    state.head.set('Content-Length', String(typeof body === 'string' ? Buffer.byteLength(body) : body.length))
  }
  state.head.write(res, status)
  res.end(req.method === 'HEAD' ? undefined : body)
}
