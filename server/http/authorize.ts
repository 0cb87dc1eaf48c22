import type { Context } from 'koa'
import { permits, type Principal, type Registry, type Scope } from '../../core/index.ts'
import { isKeyless, type Access, type Endpoint } from '../contract/endpoint.ts'
import { HttpError } from '../contract/errors.ts'
import { clientNetwork } from './client-network.ts'
import { rawQuery } from './query.ts'
import type { RateLimiter, Ration } from './rate-limit.ts'
import { ANONYMOUS, senderOf, type Sender } from './sender.ts'

/** What it needs to look a key up, and to count the request. */
export interface AuthorizationServices {
  readonly registry: Registry
  readonly rateLimit: RateLimiter
  readonly ration: Ration
  /** It was authorized before: then the five minutes of a file token do not matter. */
  readonly hasBegun?: boolean
}

/**
 * Who sends a request, and for which company. Decides from the X-API-Key header or a file token before anything else of
 * the request is read, and counts the request for the rate limit. The core asserts the same permissions again.
 *
 * @throws `UNAUTHORIZED` (the same for every reason), `FORBIDDEN`, `RATE_LIMITED`
 */
export async function authorize(
  { access, isUnmetered }: Endpoint,
  ctx: Context,
  companyId: string,
  { registry, rateLimit, ration, hasBegun = false }: AuthorizationServices,
): Promise<{ readonly scope: Scope; readonly sender: Sender }> {
  const scope = isKeyless(access) ? ANONYMOUS : await authenticate(registry, ctx, companyId, { access, hasBegun })
  if (scope === undefined) {
    // Counted by address, so that keys cannot be tried faster than the limit.
    rateLimit(ctx, senderOf(ctx, ANONYMOUS))
    throw new HttpError('UNAUTHORIZED', 'Unauthorized')
  }
  if (!isKeyless(access)) ctx.state.scope = scope
  // Before the permission is checked, so that a key cannot send forbidden requests without limit. Who has a token is
  // counted by address: with a link of a company, its keys cannot be brought to their limit.
  const sender = senderOf(ctx, scope)
  if (access === 'rationed') ration(ctx, sender, companyId)
  else if (isUnmetered !== true) rateLimit(ctx, sender.hasKey ? sender : senderOf(ctx, ANONYMOUS))
  if (!isPermitted(scope.principal, access)) throw new HttpError('FORBIDDEN', 'Forbidden resource')
  return { scope, sender }
}

/** Whether a valid key may use the endpoint. */
function isPermitted(principal: Principal, access: Access): boolean {
  if (isKeyless(access) || access === 'sourceSystem' || principal.kind === 'fileToken') return true
  if (access === 'operator') return principal.kind === 'operator'
  return permits(principal, access === 'fileToken' ? 'R' : access)
}

/** The scope of a key, or of a file token if there is no key. `undefined` if the endpoint does not accept it. */
async function authenticate(
  registry: Registry,
  ctx: Context,
  companyId: string,
  { access, hasBegun }: { readonly access: Access; readonly hasBegun: boolean },
): Promise<Scope | undefined> {
  const apiKey = String(ctx.req.headers['x-api-key'] ?? '')
  if (apiKey === '')
    return access === 'fileToken' ? authenticateToken(registry, ctx, { companyId, hasBegun }) : undefined
  const principal = await registry.sourceSystems.authenticate({ companyId, apiKey, address: clientNetwork(ctx.ip) })
  // The operator is not a source system.
  if (principal === undefined || (access === 'sourceSystem' && principal.kind === 'operator')) return undefined
  return { companyId, principal, logFields: ctx.state.ids, onEvidence: (id) => void (ctx.state.evidence = id) }
}

/** A file token stands for one file: a query that names another one does not fit. */
async function authenticateToken(
  registry: Registry,
  ctx: Context,
  { companyId, hasBegun }: { readonly companyId: string; readonly hasBegun: boolean },
): Promise<Scope | undefined> {
  const query = rawQuery(ctx)
  const principal = await registry.files.authenticateToken({ companyId, token: query.get('token') ?? '', hasBegun })
  if (principal?.kind !== 'fileToken') return undefined
  const namesOtherFile = query
    .getAll('fileId')
    .some((fileId) => fileId !== '' && fileId.toLowerCase() !== principal.fileId)
  return namesOtherFile ? undefined : { companyId, principal, logFields: ctx.state.ids }
}
