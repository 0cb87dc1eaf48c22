import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Scope, StagedFile } from '../../core/index.ts'
import { documentPath, type Endpoint, type EndpointGroup, type EndpointRequest } from '../contract/endpoint.ts'
import { HttpError } from '../contract/errors.ts'
import { withWireNames } from '../contract/field-names.ts'
import { idInput } from '../contract/values.ts'
import type { ReplyCache } from '../contract/reply-cache.ts'
import { authorize, type AuthorizationServices } from './authorize.ts'
import type { BodyPace } from './body.ts'
import { readBody, type RequestBody } from './fields.ts'
import type { LongPolls } from './long-polls.ts'
import type { Reservation, MemoryBudget } from './memory-budget.ts'
import type { AdmissionQueue } from './admission-queue.ts'
import type { QueueName } from './load-limits.ts'
import { readQuery } from './query.ts'
import { noRateLimit } from './rate-limit.ts'
import { respond } from './respond.ts'
import type { Sender } from './sender.ts'
import { Turn } from './admission.ts'

/** What every endpoint is run with. */
export interface EndpointServices extends AuthorizationServices {
  readonly queues: ReadonlyMap<QueueName, AdmissionQueue>
  readonly bodies: MemoryBudget
  readonly unread: MemoryBudget
  readonly stalledReaderMs: number
  readonly uploads: { readonly pace: BodyPace; readonly maxFileBytes: number; readonly maxFilesPerRequest: number }
  /** The path of the service at its public address: empty, or such as `/registry`. */
  readonly publicPath: string
  readonly replyCache: ReplyCache
  readonly pageCache: ReplyCache
  readonly health: EndpointRequest['health']
  readonly longPolls: LongPolls
}

/** Routes each endpoint of a group, below `base`, to `serve`. */
export function mount(
  router: Router,
  { endpoints }: Pick<EndpointGroup, 'endpoints'>,
  { base, services }: { readonly base: string; readonly services: EndpointServices },
): void {
  for (const endpoint of endpoints) {
    const path = base + endpoint.path
    const handle = async (ctx: Context): Promise<void> => {
      try {
        await serve(ctx, endpoint, services)
      } catch (error) {
        throw withWireNames(error, endpoint.query?.properties)
      }
    }
    // The name is shown by the log and the metrics.
    router.register(routerPath(path), [endpoint.method], handle, { name: documentPath(path) })
  }
}

/** A path parameter. Throws an error of the program if the endpoint's path does not have it. */
function paramOf({ path }: Endpoint, params: Readonly<Record<string, string>>, name: string): string {
  const value = params[name]
  if (value === undefined) throw new TypeError(`${path} has no parameter ${name}`)
  return idInput(name, value)
}

/** A path with parameters as the router writes them. */
const routerPath = (path: string): string =>
  path.replaceAll(/\{([A-Za-z_]+)(\*?)\}/g, (_, name: string, rest: string) => (rest === '' ? `:${name}` : `*${name}`))

/**
 * One request from its route to its response: authorize, read, wait for a turn, run, respond. Errors go to the error
 * middleware.
 */
async function serve(ctx: Context, endpoint: Endpoint, services: EndpointServices): Promise<void> {
  // Also of errors: through a cache, a 404 would stay when there is a proof. What is immutable has its own.
  ctx.res.setHeader('Cache-Control', endpoint.access === 'public' ? 'no-cache' : 'private, no-cache')
  const params: Readonly<Record<string, string>> = ctx['params']
  const { scope, sender } = await authorize(endpoint, ctx, params['COMPANY_ID'] ?? '', services)
  const query = readQuery(ctx, endpoint)
  const options = writeOptions(ctx, endpoint)
  const isHeavy = await endpoint.isHeavy?.(query, { registry: services.registry, scope })
  const queue = queueOf(ctx, endpoint, isHeavy)
  const turn = new Turn(ctx, services.queues.get(queue), sender)
  const body = endpoint.body && new StagedBody(ctx, endpoint.body, { scope, sender, turn, services })
  let mayHaveUnusedFiles = true
  try {
    // A form enters its queue when its first file is stored, all others after their body, so that slow senders do not
    // keep all turns.
    const { fields, files } = body === undefined ? NO_BODY : await body.read()
    await turn.begin()
    if (queue === 'lists' && !services.unread.makeRoom(sender, LONG_RESULT_BYTES)) throw services.unread.reject()
    const reply = await endpoint.handle({
      registry: services.registry,
      param: (name) => paramOf(endpoint, params, name),
      query,
      scope,
      input: fields,
      files: (slot) => files.get(slot) ?? [],
      options,
      path: services.publicPath + ctx.path,
      target: ctx.url,
      replyCache: services.replyCache,
      pageCache: services.pageCache,
      longPoll: async (maxMs, wait) => {
        turn.end()
        const result = await services.longPolls.wait({ ctx, sender, maxMs }, wait)
        // The key may have been replaced meanwhile. The request is counted already.
        await authorize(endpoint, ctx, scope.companyId, { ...services, rateLimit: noRateLimit })
        await turn.begin()
        return result
      },
      health: services.health,
    })
    if (reply.kind === 'pages') turn.end()
    const { unread, stalledReaderMs } = services
    await respond(ctx, reply, { status: endpoint.response.status ?? 200, sender, unread, stalledReaderMs, turn })
    if (reply.kind === 'file') turn.endOnClose()
    // A repeated request may have returned the first one's result, without using its own files.
    mayHaveUnusedFiles = options.idempotencyKey !== undefined
  } finally {
    turn.end()
    await body?.release(mayHaveUnusedFiles)
  }
}

/** About the size of a long result: if there is no room for one, none is made. */
const LONG_RESULT_BYTES = 4 * 1024 * 1024

/** Of a body that creates many evidences at once, which holds the event loop as a long list does. */
const LONG_BODY_BYTES = 8 * 1024

/** The kind of work of a request. */
function queueOf(ctx: Context, { access, method, queue, body }: Endpoint, isHeavy = true): QueueName {
  if (access === 'public') return 'public'
  if (method === 'GET') return queue !== undefined && isHeavy ? queue : 'reads'
  if (body?.form !== undefined && ctx.is('multipart/form-data')) return 'uploads'
  return queue !== undefined && (ctx.request.length ?? Infinity) > LONG_BODY_BYTES ? queue : 'writes'
}

/** What one request needs for its body. */
interface BodyContext {
  readonly scope: Scope
  readonly sender: Sender
  readonly turn: Turn
  readonly services: EndpointServices
}

/** What a request counts as in memory besides the bytes of its body, so that slow senders cannot be any number. */
const REQUEST_BYTES = 32 * 1024

/** The body of one request: its memory, and its files while no record uses them. */
class StagedBody {
  readonly #ctx: Context
  readonly #shape: NonNullable<Endpoint['body']>
  readonly #context: BodyContext
  readonly #staged: StagedFile[] = []
  #memory: Reservation | undefined

  constructor(ctx: Context, shape: NonNullable<Endpoint['body']>, context: BodyContext) {
    this.#ctx = ctx
    this.#shape = shape
    this.#context = context
  }

  async read(): Promise<RequestBody> {
    const { scope, sender, turn, services } = this.#context
    const { pace, maxFileBytes, maxFilesPerRequest } = services.uploads
    const memory = services.bodies.reserve(sender)
    this.#memory = memory
    memory.take(REQUEST_BYTES)
    return readBody(this.#ctx, this.#shape, {
      maxFileBytes,
      maxFilesPerRequest,
      limits: { pace, memory },
      begin: () => turn.begin(),
      stage: async (file, maxBytes) => {
        await turn.begin()
        // Until the body has arrived, the request can be ended.
        turn.awaitClient(memory)
        const staged = await services.registry.files.stage(scope, file, { maxBytes })
        this.#staged.push(staged)
        return staged
      },
    })
  }

  /** Gives the memory back, and destroys the files if no record uses them. */
  async release(isUnused: boolean): Promise<void> {
    this.#memory?.release()
    const { scope, services } = this.#context
    if (isUnused && this.#staged.length > 0) await services.registry.files.discard(this.#staged, scope)
  }
}

const NO_BODY: RequestBody = { fields: {}, files: new Map() }

/** What the headers Idempotency-Key and If-Match ask for, at the endpoints that accept them. */
function writeOptions(ctx: Context, endpoint: Endpoint): EndpointRequest['options'] {
  const idempotencyKey = endpoint.idempotent === true ? ctx.get('Idempotency-Key') : ''
  return { ...(idempotencyKey !== '' && { idempotencyKey }), ...ifMatch(ctx, endpoint) }
}

/**
 * `If-Match: "<version>"`, or the ETag of an evidence or a category, which begins with the version. That of a file is
 * its hash. A proxy that compresses puts `W/` before it. `*` only requires that there is something to change, which is
 * checked in any case. A write that cannot evaluate it rejects it, because the client relies on it.
 */
function ifMatch(ctx: Context, { method, access, conditional }: Endpoint): EndpointRequest['options'] {
  const header = ctx.get('If-Match').trim()
  if (header === '' || method === 'GET' || access === 'public') return {}
  if (conditional === undefined)
    throw invalid('If-Match must not be sent here: this request does not change anything that has an ETag')
  if (header === '*') return {}
  const [, version, sha256] = /^(?:W\/)?"(?:(\d{1,15})(?:-[0-9a-f]{16})?|([0-9a-f]{64}))"$/.exec(header) ?? []
  if (version !== undefined) return { ifVersion: Number(version) }
  if (sha256 !== undefined && conditional === 'version or content') return { ifSha256: sha256 }
  throw invalid('If-Match must be the one ETag that you have of it, or its version in quotes, such as "3"')
}

const invalid = (message: string): HttpError => new HttpError('VALIDATION_ERROR', message)
