import type { Context } from 'koa'
import { isRegistryError, parseStrictJson, type Json } from '../../core/index.ts'
import { turnOf } from './admit.ts'
import { bodyText, collectBody, type BodyPace } from './body.ts'
import { HttpError } from './errors.ts'
import { jsonErrorPlace } from './json-error-place.ts'

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
      throw new HttpError('MALFORMED_BODY', `The body is not JSON (${jsonErrorPlace(text)})`, { cause })
    throw cause
  }
}

/** Reads the body as text. Its bytes count for the memory of all bodies. */
async function readText(ctx: Context, { maxTextBytes, ...pace }: JsonBodyLimits): Promise<string> {
  const assertWithin = (size: number): void => {
    if (size <= maxTextBytes) return
    throw new HttpError('PAYLOAD_TOO_LARGE', `A JSON body must have at most ${maxTextBytes} bytes`)
  }
  assertWithin(Number(ctx.req.headers['content-length'] ?? 0))
  let size = 0
  const hold = (count: number): void => {
    assertWithin((size += count))
    turnOf(ctx)?.holdBytes(count)
  }
  return bodyText(await collectBody(ctx.req, { ...pace, hold }))
}
