import { createHash } from 'node:crypto'
import Router from '@koa/router'
import type { Context } from 'koa'
import { canonicalJson, type Json } from '../../core/commitment/canonical-json.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import type { Idempotency, Registry, Scope, StagedFile, UpdateOptions } from '../../core/api/registry.ts'
import { CompanyId } from '../../core/registry/schemas.ts'
import { validate } from '../../core/registry/validation.ts'
import { authenticate } from './authorize.ts'
import { bodyType, readJsonObject } from './bodies.ts'
import { documentPath, parametersOf, type EndpointRequest, type Endpoint } from '../contract/endpoint.ts'
import { readQuery } from './query.ts'
import type { RateLimiter } from './rate-limit.ts'
import { readJsonForm, readMultipart, type Form, type Stage, type UploadLimits } from './uploads.ts'

/** What every endpoint is run with. */
export interface RouteContext {
  readonly registry: Registry
  readonly limits: UploadLimits
  readonly rateLimit: RateLimiter
}

/** A router of the endpoints, below `base`. Each request goes: who, how often, path, query, body, handler. */
export function mount(endpoints: readonly Endpoint[], base: string, surroundings: RouteContext): Router {
  const router = new Router({ prefix: base, sensitive: true, strict: true })
  for (const endpoint of endpoints) {
    router.register(koaPath(endpoint.path), [endpoint.method], async (ctx: Context) => {
      ctx.state['route'] = `${base}${documentPath(endpoint.path)}`
      await run(endpoint, ctx, surroundings)
    })
  }
  return router
}

const koaPath = (path: string): string =>
  path.replaceAll(/\{([A-Za-z_]+)(\*?)\}/g, (_, name: string, rest: string) => (rest ? '*' : ':') + name)

async function run(endpoint: Endpoint, ctx: Context, surroundings: RouteContext): Promise<void> {
  const { registry } = surroundings
  const params = ctx['params'] as Readonly<Record<string, string>>
  const companyId = params['COMPANY_ID'] ?? ''
  const scope = await authorize(endpoint, ctx, companyId, surroundings)
  const isPublic = endpoint.access === 'public'
  if (!isPublic) validate(CompanyId, companyId)
  const query = endpoint.query
    ? readQuery(ctx, endpoint.query, isPublic)
    : isPublic
      ? {}
      : readQuery(ctx, NO_QUERY, false)
  const conditions = endpoint.conditional === true ? ifMatch(ctx) : {}
  await withBody(endpoint, ctx, scope, surroundings, async ({ fields, files }) => {
    const idempotency =
      endpoint.idempotent === true ? idempotencyOf(endpoint, ctx, params, { fields, files }) : undefined
    const options: UpdateOptions = { ...conditions, ...(idempotency && { idempotency }) }
    const asked: EndpointRequest = {
      registry,
      ctx,
      param: (name) => params[name] ?? '',
      query,
      scope,
      input: fields,
      files: (slot) => files.get(slot) ?? [],
      options,
    }
    // Before the handler, which may choose another.
    ctx.status = ('schema' in endpoint.answer ? endpoint.answer.status : undefined) ?? 200
    const body = await endpoint.handle(asked)
    if (body !== undefined) ctx.body = body
  })
}

const NO_QUERY = { type: 'object', properties: {}, additionalProperties: false } as const

async function authorize(
  endpoint: Endpoint,
  ctx: Context,
  companyId: string,
  { registry, rateLimit }: RouteContext,
): Promise<Scope> {
  let scope: Scope
  try {
    scope = await authenticate(registry, ctx, endpoint.access, companyId)
  } catch (error) {
    // So that keys cannot be tried faster than the limit.
    if (isRegistryError(error, 'UNAUTHORIZED')) await rateLimit(ctx, undefined)
    throw error
  }
  await rateLimit(ctx, scope)
  return scope
}

const NO_FORM: Form = { fields: {}, files: new Map() }

/**
 * Reads the body, runs `use`, and discards every staged file that was not used: all of them where anything failed. After a
 * success that may have been a replay it is the registry that knows: a file that a write consumed is not discarded.
 */
async function withBody(
  endpoint: Endpoint,
  ctx: Context,
  scope: Scope,
  { registry, limits }: RouteContext,
  use: (form: Form) => Promise<void>,
): Promise<void> {
  const { body } = endpoint
  if (body === undefined) return use(NO_FORM)
  const staged: StagedFile[] = []
  const stage: Stage = async (file, maxBytes) => {
    const stagedFile = await registry.files.stage(scope, file, { maxBytes })
    staged.push(stagedFile)
    return stagedFile
  }
  let used = false
  try {
    const form = await readForm(endpoint, ctx, limits, stage)
    validate(body.choose?.(form.fields) ?? body.schema, form.fields)
    await use(form)
    used = ctx.get('Idempotency-Key') === ''
  } finally {
    if (!used) await registry.files.discard(staged)
  }
}

async function readForm({ body }: Endpoint, ctx: Context, limits: UploadLimits, stage: Stage): Promise<Form> {
  const form = body?.form
  const type = bodyType(ctx.req, form ? ['multipart/form-data', 'application/json'] : ['application/json'])
  if (form === undefined) return { fields: await readJsonObject(ctx, limits.idleMs), files: new Map() }
  return type === 'multipart/form-data'
    ? readMultipart(ctx, form, limits, stage)
    : readJsonForm(ctx, form, limits, stage)
}

function idempotencyOf(
  endpoint: Endpoint,
  ctx: Context,
  params: Readonly<Record<string, string>>,
  { fields, files }: Form,
): Idempotency | undefined {
  const key = ctx.get('Idempotency-Key')
  if (key === '') return undefined
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw new RegistryError('VALIDATION_ERROR', 'Idempotency-Key takes 1 to 255 printable ASCII characters')
  const hashes: Json = Object.fromEntries(
    [...files].map(([slot, staged]) => [slot, staged.map(({ sha256 }) => sha256)]),
  )
  const fingerprint = createHash('sha256')
    .update(canonicalJson([fields, hashes]))
    .digest('hex')
  const place = parametersOf(endpoint.path).map((name) => params[name] ?? '')
  return { key, route: `${endpoint.id} ${canonicalJson(place)}`, fingerprint }
}

/** `If-Match: "<lastVersion>"`. `*` asks only that the evidence is there, which is asked anyway. */
function ifMatch(ctx: Context): { ifMatch?: number } {
  const header = ctx.get('If-Match').trim()
  if (header === '' || header === '*') return {}
  const version = /^"(\d{1,15})"$/.exec(header)?.[1]
  if (version === undefined)
    throw new RegistryError('VALIDATION_ERROR', 'If-Match takes the version of the last event in quotes, such as "3"')
  return { ifMatch: Number(version) }
}
