import type { Context } from 'koa'
import { isKeyless, type Endpoint, type EndpointRequest } from '../contract/endpoint.ts'
import { HttpError } from '../contract/errors.ts'

/** What the headers Idempotency-Key and If-Match ask for, at the endpoints that accept them. */
export function readWriteOptions(ctx: Context, endpoint: Endpoint): EndpointRequest['options'] {
  const idempotencyKey = endpoint.idempotent === true ? ctx.get('Idempotency-Key') : ''
  return { ...(idempotencyKey !== '' && { idempotencyKey }), ...ifMatch(ctx, endpoint) }
}

/**
 * `If-Match: "<version>"`, or the ETag of an evidence or a category, which begins with the version. That of a file is
 * its hash. A proxy that compresses puts `W/` before it. `*` only requires that there is something to change, which is
 * checked in any case. A write that cannot evaluate it rejects it, because the client relies on it.
 */
function ifMatch(ctx: Context, { method, access, conditional }: Endpoint): EndpointRequest['options'] {
  if (method === 'GET' || isKeyless(access)) return {}
  const other = ['If-None-Match', 'If-Unmodified-Since'].find(
    (name) => ctx.req.headers[name.toLowerCase()] !== undefined,
  )
  if (other !== undefined) throw invalid(`${other} must not be sent with a write: it is not evaluated`)
  if (ctx.req.headers['if-match'] === undefined) return {}
  const header = ctx.get('If-Match').trim()
  if (conditional === undefined)
    throw invalid('If-Match must not be sent here: this request does not change anything that has an ETag')
  if (header === '*') return {}
  const [, version, sha256] = /^(?:W\/)?"(?:(\d{1,15})(?:-[0-9a-f]{16})?|([0-9a-f]{64}))"$/.exec(header) ?? []
  if (version !== undefined) return { ifVersion: Number(version) }
  if (sha256 !== undefined && conditional === 'version or content') return { ifSha256: sha256 }
  throw invalid('If-Match must be the one ETag that you have of it, or its version in quotes, such as "3"')
}

const invalid = (message: string): HttpError => new HttpError('VALIDATION_ERROR', message)
