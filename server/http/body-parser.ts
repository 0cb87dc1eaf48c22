import type { Context, Middleware } from 'koa'
import { GuardedBody, malformed, type BodyLimits } from './guarded-body.ts'

const importKoaBody = () => import('koa-body')
let koaBody: ReturnType<typeof importKoaBody> | undefined

/** Loaded at the first body, because it takes 100 ms. */
export const loadKoaBody = () => (koaBody ??= importKoaBody())

/** Every parser of koa-body off. It decodes no text, because it would replace what is not UTF-8. */
export const NO_PARSER = { json: false, urlencoded: false, text: false, multipart: false } as const

/**
 * Runs a parser of koa-body on a guarded body. Returns what it made of it. `unreadable`: what is wrong if it fails.
 *
 * @throws `MALFORMED_BODY`, `PAYLOAD_TOO_LARGE`, `OVERLOADED`
 */
export async function parseBody(
  ctx: Context,
  guard: GuardedBody,
  parser: Middleware,
  unreadable = 'The body cannot be read',
): Promise<unknown> {
  const { req } = ctx
  // For the parser only. An object with `ctx` as its prototype would make every later use of `ctx` slow.
  Object.assign(ctx, { req: guard })
  // The parsers would wait for ever for a stream that fails before they listen.
  const failed = new Promise<never>((_, reject) => guard.once('error', reject))
  try {
    await Promise.race([parser(ctx, async () => undefined), failed])
  } catch (cause) {
    if (guard.errored === null) throw malformed(unreadable, cause)
  } finally {
    Object.assign(ctx, { req })
    guard.destroy()
  }
  if (guard.errored !== null) throw guard.errored
  return ctx.request.body
}

let textParser: Middleware | undefined

async function loadTextParser(): Promise<Middleware> {
  const parsers = await loadKoaBody()
  // Without an encoding it returns the bytes. The guard has the limit.
  return parsers.koaBody({ ...NO_PARSER, text: true, textTypes: ['application/json'], textLimit: '1gb', encoding: '' })
}

/** The text of a JSON body. */
export async function readJsonText(ctx: Context, limits: BodyLimits): Promise<string> {
  textParser ??= await loadTextParser()
  const bytes = await parseBody(ctx, new GuardedBody(ctx.req, limits), textParser)
  if (!(bytes instanceof Uint8Array)) throw malformed('The body cannot be read')
  const text = decodeBody(bytes)
  if (text.startsWith('\uFEFF')) throw malformed('The body begins with a byte order mark, which JSON must not have')
  return text
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of bytes of a body. `what` names them.
 *
 * @throws `MALFORMED_BODY` if they are not UTF-8
 */
export function decodeBody(bytes: Uint8Array, what = 'The body'): string {
  try {
    return strictUtf8.decode(bytes)
  } catch (cause) {
    throw malformed(`${what} is not UTF-8`, cause)
  }
}
