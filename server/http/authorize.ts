import type { Context } from 'koa'
import { RegistryError } from '../../core/errors.ts'
import { assertAllowed, type Principal } from '../../core/registry/permissions.ts'
import type { Registry, Scope } from '../../core/api/registry.ts'
import type { Access } from '../contract/endpoint.ts'
import { rawQuery } from './query.ts'

/** Who asks, and for what: decided from the path, the X-API-Key header and, for a download, the token; before anything else is read. */

const unauthorized = (): RegistryError => new RegistryError('UNAUTHORIZED', 'Unauthorized')

/** Of endpoints that anyone may ask. */
const NOBODY: Scope = { companyId: '', principal: { kind: 'sourceSystem', id: '', permissions: 'R' } }
/** Whoever holds a token reads that file and nothing else. */
const TOKEN_HOLDER: Principal = { kind: 'sourceSystem', id: 'file-token', permissions: 'R' }

/** The scope of a request. Throws `UNAUTHORIZED` for every reason alike, and `FORBIDDEN`. */
export async function authenticate(
  registry: Registry,
  ctx: Context,
  access: Access,
  companyId: string,
): Promise<Scope> {
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
  if ((query.get('fileId') ?? []).some((asked) => asked !== fileId)) throw unauthorized()
  return { companyId, principal: TOKEN_HOLDER }
}
