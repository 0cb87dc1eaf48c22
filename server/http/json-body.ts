import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { isRegistryError, parseStrictJson, type Json } from '../../core/index.ts'
import { BodyStream, bodyText } from './body.ts'
import { HttpError } from './errors.ts'

/** Limit of a JSON body, and of all texts of a form together. In bytes. */
export const MAX_TEXT_BYTES = 16 * 1024 * 1024

/**
 * Reads a body that must be a JSON object. The sender controls every byte of it.
 *
 * @param idleMs - how long the sender may be silent
 * @throws `MALFORMED_BODY`, `PAYLOAD_TOO_LARGE`; `VALIDATION_ERROR` if it is not an object, or canonical JSON cannot
 * hold it
 */
export async function readJsonObject(ctx: Context, idleMs: number): Promise<Record<string, Json>> {
  const value = parseJson(await readText(ctx, idleMs))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, Json>
  throw new HttpError('VALIDATION_ERROR', 'The body must be a JSON object')
}

function parseJson(text: string): Json {
  try {
    return parseStrictJson(text)
  } catch (cause) {
    if (isRegistryError(cause) && cause.cause instanceof SyntaxError)
      throw new HttpError('MALFORMED_BODY', 'The body is not JSON', { cause })
    throw cause
  }
}

async function readText(ctx: Context, idleMs: number): Promise<string> {
  const body = new BodyStream(ctx.req, idleMs)
  try {
    const length = ctx.get('Content-Length') || null
    return bodyText(await getRawBody(body, { length, limit: MAX_TEXT_BYTES }))
  } catch (error) {
    throw clientError(error)
  } finally {
    body.destroy()
  }
}

/** Translates an error of raw-body: if it has a `status`, the sender caused it. */
function clientError(error: unknown): unknown {
  if (error instanceof HttpError || !(error instanceof Error) || !('status' in error)) return error
  if (error.status === 413)
    return new HttpError('PAYLOAD_TOO_LARGE', `A JSON body must have at most ${MAX_TEXT_BYTES} bytes`, { cause: error })
  return new HttpError('MALFORMED_BODY', 'The body cannot be read', { cause: error })
}
