import { hash, timingSafeEqual } from 'node:crypto'
import type { RouteHandler } from './routes.ts'
import { HttpError } from '../contract/errors.ts'

/** A handler for requests with this bearer token (RFC 6750). Throws `UNAUTHORIZED` for all others. */
export function requireBearer(token: string, handle: RouteHandler): RouteHandler {
  const expected = hash('sha256', token, 'buffer')
  return (ctx) => {
    const given = /^Bearer +(\S+)$/i.exec(ctx.get('Authorization'))?.[1]
    if (given !== undefined && timingSafeEqual(hash('sha256', given, 'buffer'), expected)) return handle(ctx)
    ctx.state.head.set('WWW-Authenticate', 'Bearer')
    throw new HttpError('UNAUTHORIZED', 'Unauthorized')
  }
}
