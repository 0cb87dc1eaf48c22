import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { isRegistryError, parseStrictJson, type Json } from '../../core/index.ts'
import { turnOf } from './admit.ts'
import { BodyStream, bodyText, type BodyPace } from './body.ts'
import { HttpError } from './errors.ts'

/** Of the JSON of a request: each value takes memory, however short it is. */
export const JSON_LIMITS = { maxValues: 200_000 } as const

export interface JsonBodyLimits extends BodyPace {
  readonly maxTextBytes: number
}

/**
 * Reads a body that must be a JSON object. The sender controls every byte of it.
 *
 * @throws `MALFORMED_BODY`, `PAYLOAD_TOO_LARGE`; `VALIDATION_ERROR` if it is not an object, or canonical JSON cannot
 * hold it
 */
export async function readJsonObject(ctx: Context, limits: JsonBodyLimits): Promise<Record<string, Json>> {
  const value = parseJson(await readText(ctx, limits))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, Json>
  throw new HttpError('VALIDATION_ERROR', 'The body must be a JSON object')
}

function parseJson(text: string): Json {
  try {
    return parseStrictJson(text, JSON_LIMITS)
  } catch (cause) {
    if (isRegistryError(cause) && cause.cause instanceof SyntaxError)
      throw new HttpError('MALFORMED_BODY', 'The body is not JSON', { cause })
    throw cause
  }
}

async function readText(ctx: Context, limits: JsonBodyLimits): Promise<string> {
  const { maxTextBytes } = limits
  const body = new BodyStream(ctx.req, limits)
  try {
    const length = ctx.get('Content-Length') || null
    body.on('data', (chunk: Uint8Array) => holdBytes(ctx, body, chunk.length))
    return bodyText(await getRawBody(body, { length, limit: maxTextBytes }))
  } catch (error) {
    throw clientError(error, maxTextBytes)
  } finally {
    body.destroy()
  }
}

/** Counts bytes of a body in memory. Destroys the body if all requests together hold too many. */
function holdBytes(ctx: Context, body: BodyStream, count: number): void {
  try {
    turnOf(ctx)?.holdBytes(count)
  } catch (error) {
    body.destroy(error as Error)
  }
}

/** Translates an error of raw-body: if it has a `status`, the sender caused it. */
function clientError(error: unknown, maxTextBytes: number): unknown {
  if (error instanceof HttpError || !(error instanceof Error) || !('status' in error)) return error
  if (error.status === 413)
    return new HttpError('PAYLOAD_TOO_LARGE', `A JSON body must have at most ${maxTextBytes} bytes`, { cause: error })
  return new HttpError('MALFORMED_BODY', 'The body cannot be read', { cause: error })
}
