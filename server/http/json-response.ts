import type { Context } from 'koa'

/**
 * Sends a JSON text, as bytes: of a text, Koa and Node would each count the bytes before Node encodes it. (Not
 * `ctx.type`, which looks the media type up each time.)
 */
export function sendJson(ctx: Context, json: string): void {
  ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8')
  ctx.body = Buffer.from(json)
}
