import type { Context } from 'koa'
import { isKeyless, type Endpoint } from '../contract/endpoint.ts'
import type { Reply } from '../contract/reply.ts'
import { idInput } from '../contract/values.ts'
import { Admission } from './admission.ts'
import { Authorization } from './authorization.ts'
import type { EndpointServices } from './endpoint-services.ts'
import type { ParsedBody } from './fields.ts'
import type { QueueName } from './load-limits.ts'
import { readQuery } from './query.ts'
import { RequestBody } from './request-body.ts'
import { respond } from './respond.ts'
import { holdersOf, type Sender } from './sender.ts'
import { readWriteOptions } from './write-options.ts'

/**
 * One request from its route to its response: authorize, read, admit, handle, respond. It is admitted once its body has
 * arrived, so that slow senders do not take all places. Two exceptions have a function each: `RequestBody` admits a
 * form when its first file is stored, and `pollLong` leaves the place while it waits. If all that took long, it is
 * authorized again before it is handled.
 */
export async function serve(ctx: Context, endpoint: Endpoint, services: EndpointServices): Promise<void> {
  // Also of errors: through a cache, a 404 would stay when there is a proof. What is immutable has its own.
  ctx.state.head.set('Cache-Control', CACHING[endpoint.access] ?? 'private, no-cache')
  const params: Readonly<Record<string, string>> = ctx['params']
  const { registry, publicPath, replyCache, pageCache, health, unread, stalledReaderMs, longResults } = services

  const authorization = await Authorization.of(endpoint, ctx, params['COMPANY_ID'] ?? '', services)
  const [sender, asker] = sendersOf(endpoint, params, authorization)

  const query = readQuery(ctx, endpoint)
  const options = readWriteOptions(ctx, endpoint)
  const isHeavy =
    endpoint.isHeavy === undefined || (await endpoint.isHeavy(query, { registry, scope: authorization.scope }))
  const isLong = endpoint.method === 'GET' && longResults.expects(asker, endpoint.id)
  const queue = isLong ? 'lists' : queueOf(ctx, endpoint, isHeavy)
  const admission = new Admission(ctx, services.queues.get(queue), isLong ? asker : sender)
  const body = endpoint.body && new RequestBody(ctx, endpoint.body, { authorization, admission, services })
  try {
    let reply: Reply
    try {
      if (body !== undefined) await body.receive()

      const waits = admission.admit()
      if (waits !== undefined) await waits
      if (queue === 'lists' && !unread.makeRoom(sender, LONG_RESULT_BYTES)) throw unread.reject()

      const { fields, files } = body === undefined ? NO_INPUT : await body.parse()
      const renewal = authorization.renew()
      if (renewal !== undefined) await renewal
      const { scope } = authorization
      reply = await endpoint.handle({
        registry,
        param: (name) => paramOf(endpoint, params, name),
        query,
        scope,
        input: fields,
        files: (slot) => files.get(slot) ?? [],
        options,
        shareSecret: endpoint.access === 'share' ? ctx.get('X-Share-Secret') : '',
        dashboardUrl: () => `${(services.publicUrl ?? `${ctx.protocol}://${ctx.host}`).replace(/\/$/, '')}/ui/`,
        path: publicPath + ctx.path,
        target: ctx.url,
        replyCache,
        pageCache,
        longPoll: (maxMs, waitFor) => pollLong(ctx, { authorization, admission, services, maxMs }, waitFor),
        health,
      })
      // A repeated request may have returned the first one's result, without using its own files.
      if (options.idempotencyKey === undefined) body?.keepFiles()
    } finally {
      if (body !== undefined) await body.release()
    }
    if (endpoint.method === 'GET') longResults.note(asker, endpoint.id, reply)
    const sent = respond(ctx, reply, {
      status: endpoint.response.status ?? 200,
      sender,
      unread,
      stalledReaderMs,
      admission,
      authorization,
    })
    if (sent !== undefined) await sent
  } finally {
    admission.release()
  }
}

/** Who sends a request, and whose results are probably as long as the last one: a link is as long for everyone. */
const sendersOf = (
  { access }: Endpoint,
  params: Readonly<Record<string, string>>,
  { sender }: Authorization,
): readonly [sender: Sender, asker: Sender] => [
  sender,
  access === 'share' ? holdersOf(params['SHARE_ID'] ?? '') : sender,
]

/** `Cache-Control` of responses that need no key. */
const CACHING: Readonly<Record<string, string>> = { public: 'no-cache', share: 'no-store', rationed: 'no-store' }

/** About the size of a long result: if there is no room for one, none is made. */
const LONG_RESULT_BYTES = 4 * 1024 * 1024

/** Of a body that creates many evidences at once, which holds the event loop as a long list does. */
const LONG_BODY_BYTES = 8 * 1024

/** The queue of a request: that of its kind of work. */
function queueOf(ctx: Context, { access, method, queue, body }: Endpoint, isHeavy: boolean): QueueName {
  if (isKeyless(access) && queue === undefined) return 'public'
  if (method === 'GET') return queue !== undefined && isHeavy ? queue : 'reads'
  if (body?.form !== undefined && ctx.is('multipart/form-data')) return 'uploads'
  return queue !== undefined && (ctx.request.length ?? Infinity) > LONG_BODY_BYTES ? queue : 'writes'
}

/** Of a request without a body. */
const NO_INPUT: ParsedBody = { fields: {}, files: new Map() }

/** A path parameter. Throws an error of the program if the endpoint's path does not have it. */
function paramOf({ path }: Endpoint, params: Readonly<Record<string, string>>, name: string): string {
  const value = params[name]
  if (value === undefined) throw new TypeError(`${path} has no parameter ${name}`)
  return idInput(name, value)
}

/** A request that waits for something to happen. */
interface LongPoll {
  readonly authorization: Authorization
  readonly admission: Admission
  readonly services: EndpointServices
  readonly maxMs: number
}

/**
 * Waits without the place of the request. Then authorizes it again, because its key may have been replaced meanwhile,
 * and admits it again.
 */
async function pollLong<T>(
  ctx: Context,
  { authorization, admission, services, maxMs }: LongPoll,
  waitFor: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  admission.release()
  const result = await services.longPolls.wait({ ctx, sender: authorization.sender, maxMs }, waitFor)
  await authorization.renew(0)
  await admission.admit()
  return result
}
