import type { Context } from 'koa'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { assertAllowed, type Principal } from '../../core/registry/permissions.ts'
import type { Registry, Scope } from '../../core/api/registry.ts'
import type { Access } from '../contract/endpoint.ts'
import { rawQuery } from './query.ts'
import type { RateLimiter } from './rate-limit.ts'

interface Services {
  readonly registry: Registry
  readonly rateLimit: RateLimiter
}

/** Of endpoints that anyone may ask. */
const NOBODY: Scope = { companyId: '', principal: { kind: 'sourceSystem', id: '', permissions: 'R' } }
/** Whoever holds a token reads that file and nothing else. */
const TOKEN_HOLDER: Principal = { kind: 'sourceSystem', id: 'file-token', permissions: 'R' }

const unauthorized = (): RegistryError => new RegistryError('UNAUTHORIZED', 'Unauthorized')

/**
 * Decides from the path, the X-API-Key header and, for a download, the token, before anything else is read. Counts the request for the
 * rate limit. Throws `UNAUTHORIZED` (the same for every reason), `FORBIDDEN`, `RATE_LIMITED`.
 */
export async function authorize(
  { registry, rateLimit }: Services,
  ctx: Context,
  access: Access,
  companyId: string,
): Promise<Scope> {
  let scope: Scope
  try {
    scope = await authenticate(registry, ctx, access, companyId)
  } catch (error) {
    // Counted too, so that keys cannot be tried faster than the limit.
    if (isRegistryError(error, 'UNAUTHORIZED')) await rateLimit(ctx, undefined)
    throw error
  }
  await rateLimit(ctx, scope)
  return scope
}

async function authenticate(registry: Registry, ctx: Context, access: Access, companyId: string): Promise<Scope> {
  if (access === 'public') return NOBODY
  const key = ctx.get('X-API-Key')
  if (access === 'fileToken' && key === '') return tokenScope(registry, ctx, companyId)
  const principal = key === '' ? undefined : await registry.sourceSystems.authenticate(companyId, key)
  if (principal === undefined) throw unauthorized()
  if (access === 'sourceSystem') {
    if (principal.kind === 'operator') throw unauthorized()
  } else assertAllowed(principal, access === 'fileToken' ? 'R' : access)
  return { companyId, principal }
}

function tokenScope(registry: Registry, ctx: Context, companyId: string): Scope {
  const query = rawQuery(ctx)
  const [token] = query.get('token') ?? []
  const fileId = token === undefined ? undefined : registry.files.tokenFile(companyId, token)
  if (fileId === undefined) throw unauthorized()
  if ((query.get('fileId') ?? []).some((requestedId) => requestedId !== fileId)) throw unauthorized()
  return { companyId, principal: TOKEN_HOLDER }
}
