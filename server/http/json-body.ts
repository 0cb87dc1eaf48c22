import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import { parseStrictJson, type Json } from '../../core/commitment/canonical-json.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { BodyStream, bodyText } from './body.ts'

/** Limit of a JSON body, and of all texts of a form together. In bytes. */
export const MAX_TEXT_BYTES = 16 * 1024 * 1024

/**
 * koa-body collects the bytes within the limit; every other parser of it is off. Its JSON parser would accept an empty body, and keep the
 * last of two equal keys, and its decoder would repair invalid UTF-8. So it returns one character per byte, which is decoded strictly here.
 */
const collectBytes = koaBody({
  text: true,
  textTypes: ['application/json'],
  textLimit: MAX_TEXT_BYTES,
  encoding: 'binary',
  patchKoa: true,
  patchNode: false,
  json: false,
  urlencoded: false,
  multipart: false,
})

/**
 * Reads a body that must be a JSON object. The sender controls every byte of it.
 *
 * @param idleMs - how long the sender may be silent
 * @throws as `parseStrictJson`; `MALFORMED_BODY`, `PAYLOAD_TOO_LARGE`, and `VALIDATION_ERROR` if it is not an object
 */
export async function readJsonObject(ctx: Context, idleMs: number): Promise<Record<string, Json>> {
  const value = parseStrictJson(await readText(ctx, idleMs))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, Json>
  throw new RegistryError('VALIDATION_ERROR', 'The body must be a JSON object')
}

async function readText(ctx: Context, idleMs: number): Promise<string> {
  const body = new BodyStream(ctx.req, idleMs)
  try {
    await collectBytes(Object.create(ctx, { req: { value: body } }) as Context, async () => undefined)
    return bodyText(Buffer.from(ctx.request.body as string, 'latin1'))
  } catch (error) {
    throw clientError(error)
  } finally {
    body.destroy()
  }
}

/** Translates an error of koa-body: with a `status` it is the sender's fault. */
function clientError(error: unknown): unknown {
  if (isRegistryError(error) || !(error instanceof Error) || !('status' in error)) return error
  if (error.status === 413)
    return new RegistryError('PAYLOAD_TOO_LARGE', `A JSON body must have at most ${MAX_TEXT_BYTES} bytes`, {
      cause: error,
    })
  return new RegistryError('MALFORMED_BODY', 'The body cannot be read', { cause: error })
}
