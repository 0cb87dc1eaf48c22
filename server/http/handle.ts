import { createHash } from 'node:crypto'
import Router from '@koa/router'
import type { Context } from 'koa'
import { canonicalJson, type Json } from '../../core/commitment/canonical-json.ts'
import { RegistryError } from '../../core/errors.ts'
import type { Idempotency, Registry, UpdateOptions } from '../../core/api/registry.ts'
import { CompanyId } from '../../core/registry/schemas.ts'
import { validate } from '../../core/registry/validation.ts'
import { authorize } from './authorize.ts'
import { documentPath, parametersOf, type Endpoint } from '../contract/endpoint.ts'
import { readQuery } from './query.ts'
import type { RateLimiter } from './rate-limit.ts'
import type { Form, UploadLimits } from './form.ts'
import { readBody } from './request-body.ts'

/** What every endpoint is run with. */
export interface RouteContext {
  readonly registry: Registry
  readonly limits: UploadLimits
  readonly rateLimit: RateLimiter
}

/** Routes each endpoint, below `base`, to `handle`. */
export function createRouter(endpoints: readonly Endpoint[], base: string, routeContext: RouteContext): Router {
  const router = new Router({ prefix: base, sensitive: true, strict: true })
  for (const endpoint of endpoints) {
    const route = `${base}${documentPath(endpoint.path)}`
    router.register(koaPath(endpoint.path), [endpoint.method], (ctx: Context) => {
      ctx.state['route'] = route
      return handle(endpoint, ctx, routeContext)
    })
  }
  return router
}

/** One request from its route to its response: authorize, parse, run the operation with what it needs, respond. */
async function handle(endpoint: Endpoint, ctx: Context, { registry, limits, rateLimit }: RouteContext): Promise<void> {
  const params = ctx['params'] as Readonly<Record<string, string>>
  const scope = await authorize({ registry, rateLimit }, ctx, endpoint.access, params['COMPANY_ID'] ?? '')
  if (endpoint.access !== 'public') validate(CompanyId, scope.companyId)
  const query = readQuery(ctx, endpoint)
  const conditions = endpoint.conditional === true ? ifMatch(ctx) : {}
  const { fields, files, discardFiles } = await readBody(endpoint.body, ctx, { registry, limits, scope })
  let mayHaveUnusedFiles = true
  try {
    const options = { ...conditions, ...idempotencyOf(endpoint, ctx, params, { fields, files }) }
    ctx.status = endpoint.answer.status ?? 200
    const result = await endpoint.handle({
      registry,
      ctx,
      param: (name) => params[name] ?? '',
      query,
      scope,
      input: fields,
      files: (slot) => files.get(slot) ?? [],
      options,
    })
    if (result !== undefined) ctx.body = result
    // A repeated request has not used its files: the first one did, with files of its own.
    mayHaveUnusedFiles = 'idempotency' in options
  } finally {
    if (mayHaveUnusedFiles) await discardFiles()
  }
}

/** `{NAME}` as @koa/router writes it: `:NAME`, and `*NAME` if it may contain slashes. */
const koaPath = (path: string): string =>
  path.replaceAll(/\{([A-Za-z_]+)(\*?)\}/g, (_, name: string, rest: string) => (rest ? '*' : ':') + name)

function idempotencyOf(
  endpoint: Endpoint,
  ctx: Context,
  params: Readonly<Record<string, string>>,
  { fields, files }: Form,
): { idempotency?: Idempotency } {
  const key = ctx.get('Idempotency-Key')
  if (endpoint.idempotent !== true || key === '') return {}
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw new RegistryError('VALIDATION_ERROR', 'Idempotency-Key must be 1 to 255 printable ASCII characters')
  const hashes: Json = Object.fromEntries(
    [...files].map(([slot, staged]) => [slot, staged.map(({ sha256 }) => sha256)]),
  )
  const fingerprint = createHash('sha256')
    .update(canonicalJson([fields, hashes]))
    .digest('hex')
  const pathValues = parametersOf(endpoint.path).map((name) => params[name] ?? '')
  return { idempotency: { key, route: `${endpoint.id} ${canonicalJson(pathValues)}`, fingerprint } }
}

/** `If-Match: "<lastVersion>"`. `*` only requires that the evidence exists, which is checked in any case. */
function ifMatch(ctx: Context): Pick<UpdateOptions, 'ifMatch'> {
  const header = ctx.get('If-Match').trim()
  if (header === '' || header === '*') return {}
  const version = /^"(\d{1,15})"$/.exec(header)?.[1]
  if (version === undefined)
    throw new RegistryError('VALIDATION_ERROR', 'If-Match must be the version of the last event in quotes, such as "3"')
  return { ifMatch: Number(version) }
}
