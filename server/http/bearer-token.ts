import { hash, timingSafeEqual } from 'node:crypto'
import type { Middleware } from 'koa'
import { HttpError } from '../contract/errors.ts'

/** Lets only requests with this bearer token (RFC 6750) pass. Throws `UNAUTHORIZED` for all others. */
export function requireBearer(token: string): Middleware {
  const expected = hash('sha256', token, 'buffer')
  return (ctx, next) => {
    const given = /^Bearer +(\S+)$/i.exec(ctx.get('Authorization'))?.[1]
    if (given !== undefined && timingSafeEqual(hash('sha256', given, 'buffer'), expected)) return next()
    ctx.set('WWW-Authenticate', 'Bearer')
    throw new HttpError('UNAUTHORIZED', 'Unauthorized')
  }
}
