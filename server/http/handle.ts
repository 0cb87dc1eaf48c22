import type { Context } from 'koa'
import type { GetEvidencePage, ListEvidenceTexts } from '../../core/index.ts'
import type { Endpoint, EndpointGroup } from '../contract/endpoint.ts'
import { withWireNames } from '../contract/field-names.ts'
import type { Turn } from './admission.ts'
import { turnOf } from './admit.ts'
import { authorize, type AuthorizationServices } from './authorize.ts'
import type { TaggedText } from './conditional.ts'
import { HttpError } from './errors.ts'
import type { UploadLimits } from './form.ts'
import type { HeavyWork } from './heavy-work.ts'
import { idInput } from './id-input.ts'
import { sendJson } from './json-response.ts'
import { readQuery } from './query.ts'
import { senderOf } from './rate-limit.ts'
import { readBody } from './request-body.ts'
import type { PathParameters } from './route.ts'
import type { Sections } from './sections.ts'
import type { Streams } from './streams.ts'
import type { UnreadResponses } from './unread-responses.ts'

/** What every endpoint is run with. */
export interface RouteContext extends AuthorizationServices {
  readonly limits: UploadLimits
  /** The path of the service at its public address: empty, or such as `/registry`. */
  readonly publicPath: () => string
  readonly streams: Streams
  readonly unreadResponses: UnreadResponses
  readonly heavyWork: HeavyWork
  readonly listEvidences: ListEvidenceTexts
  readonly getEvidence: GetEvidencePage<TaggedText>
}

/** Routes each endpoint, below `base`, to `handle`. */
export function addEndpoints(
  sections: Sections,
  { endpoints, errorShape = 'operation' }: Pick<EndpointGroup, 'endpoints' | 'errorShape'>,
  { base, routeContext }: { readonly base: string; readonly routeContext: RouteContext },
): void {
  for (const endpoint of endpoints) {
    const path = base + endpoint.path
    const section = sections.for(path)
    section.describe(endpoint, errorShape)
    section.add({
      method: endpoint.method,
      path,
      reads: endpoint,
      run: (ctx, parameters) => handle(endpoint, { ctx, parameters }, routeContext),
    })
  }
}

interface RoutedRequest {
  readonly ctx: Context
  readonly parameters: PathParameters
}

/**
 * One request from its route to its response: authorize, parse, run the operation, respond. Errors go to the error
 * middleware.
 */
async function handle(
  endpoint: Endpoint,
  { ctx, parameters }: RoutedRequest,
  {
    registry,
    limits,
    publicPath,
    rateLimit,
    streams,
    unreadResponses,
    heavyWork,
    listEvidences,
    getEvidence,
  }: RouteContext,
): Promise<void> {
  if (endpoint.access !== 'public') ctx.res.setHeader('Cache-Control', 'private, no-cache')
  const turn = turnOf(ctx)
  const scope = await authorize(endpoint, ctx, parameters['COMPANY_ID'] ?? '', { registry, rateLimit })
  const sender = senderOf(ctx, scope.principal)
  turn?.assignTo(sender)
  const query = readQuery(ctx, endpoint)
  const options = writeOptions(ctx, endpoint)
  // A form needs its turn before its body is read, because its files are stored meanwhile. Other bodies are read
  // without a turn, so that slow senders do not keep all turns.
  if (endpoint.body === undefined || turn?.workClass === 'uploads') await startTurn(ctx, turn)
  const { fields, files, discardFiles } = await readBody(endpoint.body, ctx, { registry, limits, scope })
  let mayHaveUnusedFiles = true
  try {
    if (endpoint.body !== undefined) await startTurn(ctx, turn)
    ctx.status = endpoint.response.status ?? 200
    const request = {
      registry,
      ctx,
      param: (name: string) => idInput(name, parameters[name] ?? ''),
      query,
      scope,
      input: fields,
      files: (slot: string) => files.get(slot) ?? [],
      options,
      streams,
      listEvidences,
      getEvidence,
    }
    const runHeavy = (): Promise<unknown> => {
      assertConnected(ctx)
      unreadResponses.assertRoom(ctx, scope.principal)
      return endpoint.handle(request)
    }
    const body = await (turn?.workClass === 'lists' ? heavyWork.run(sender, runHeavy) : endpoint.handle(request))
    if (body !== undefined) sendJson(ctx, typeof body === 'string' ? body : JSON.stringify(body))
    unreadResponses.hold(ctx, scope.principal)
    if (ctx.status === 201)
      setLocation(ctx, endpoint.location?.({ created: body, input: fields, path: publicPath() + ctx.path }))
    // A repeated request may have returned the first one's result, without using its own files.
    mayHaveUnusedFiles = options.idempotencyKey !== undefined
  } catch (error) {
    throw withWireNames(error, endpoint.fieldNames)
  } finally {
    if (mayHaveUnusedFiles) await discardFiles()
  }
}

/** Waits for the request's turn. Throws if the client has disconnected meanwhile, because no work is needed then. */
async function startTurn(ctx: Context, turn: Turn | undefined): Promise<void> {
  await turn?.start()
  assertConnected(ctx)
}

function assertConnected({ res }: Context): void {
  if (res.destroyed) throw new HttpError('MALFORMED_BODY', 'The client disconnected before its turn')
}

/** Names what was created, by its path at the public address. */
function setLocation(ctx: Context, location: string | undefined): void {
  if (location !== undefined) ctx.set('Location', location)
}

/** What the headers Idempotency-Key and If-Match ask for, at the endpoints that accept them. */
function writeOptions(
  ctx: Context,
  { idempotent, conditional }: Endpoint,
): { idempotencyKey?: string; ifVersion?: number } {
  const idempotencyKey = idempotent === true ? ctx.get('Idempotency-Key') : ''
  return { ...(idempotencyKey !== '' && { idempotencyKey }), ...(conditional === true && ifMatch(ctx)) }
}

/**
 * `If-Match: "<lastVersion>"`, or the ETag of an evidence, which begins with the version. `*` only requires that the
 * evidence exists, which is checked in any case.
 */
function ifMatch(ctx: Context): { ifVersion?: number } {
  const header = ctx.get('If-Match').trim()
  if (header === '' || header === '*') return {}
  const version = /^"(\d{1,15})(?:-[0-9a-f]{16})?"$/.exec(header)?.[1]
  if (version === undefined)
    throw new HttpError(
      'VALIDATION_ERROR',
      'If-Match must be the ETag of the evidence, or the version of its last event in quotes, such as "3"',
    )
  return { ifVersion: Number(version) }
}
