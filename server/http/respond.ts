import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { encodeLong, type Reply } from '../contract/reply.ts'
import { sendFile } from './download.ts'
import { isFresh, sendNotModified, setFileName } from './headers.ts'
import { onClose } from './observe.ts'
import type { Reservation, MemoryBudget } from './memory-budget.ts'
import type { Sender } from './sender.ts'
import { cutOff, type Admission } from './admission.ts'
import type { Authorization } from './authorization.ts'
import { JSON_TYPE, send, type Content } from './send.ts'

/** Writes what a handler returned to Koa. Nothing else writes the success of an endpoint. */

/** What a response needs to know of its request. */
export interface ResponseOptions {
  /** Of a success, unless the reply has its own. */
  readonly status: number
  readonly sender: Sender
  /** Bytes that clients have not read yet. */
  readonly unread: MemoryBudget
  readonly stalledReaderMs: number
  /** Of the request. A file takes it over; each part of a long response is admitted by itself. */
  readonly admission: Pick<Admission, 'admit' | 'release' | 'releaseOnClose'>
  /** Of the request. A long response ends with it. */
  readonly authorization: Pick<Authorization, 'renew'>
}

/**
 * @throws `OVERLOADED` if too many bytes of this sender are unread, `RANGE_NOT_SATISFIABLE`, and what the first part of
 *   a long response throws
 */
export function respond(ctx: Context, reply: Reply, options: ResponseOptions): void | Promise<void> {
  const { head } = ctx.state
  switch (reply.kind) {
    case 'json':
      if (reply.etag !== undefined) {
        if (isFresh(ctx, reply.etag)) return sendNotModified(ctx, reply.etag)
        head.set('ETag', reply.etag)
      }
      if (reply.location !== undefined) head.set('Location', reply.location)
      return sendWhole(ctx, { type: JSON_TYPE, data: reply.encoded ?? reply.text }, reply, options)
    case 'bytes':
      if (reply.fileName !== undefined) setFileName(ctx, reply.fileName)
      return sendWhole(ctx, reply, reply, options)
    case 'file':
      return sendFile(ctx, reply, options.authorization).then(() => options.admission.releaseOnClose())
    case 'pages':
      return sendPages(ctx, reply, options)
  }
}

/** Smaller responses are not counted: the system takes them at once, even if the client reads nothing. */
const LEAST_COUNTED_BYTES = 16 * 1024

/** Of the reply itself, if they differ from those of its endpoint. */
interface OwnOptions {
  readonly status?: number | undefined
  readonly cache?: string | undefined
}

function sendWhole(ctx: Context, content: Content, { status, cache }: OwnOptions, options: ResponseOptions): void {
  const data = encodeLong(content.data)
  if (data.length >= LEAST_COUNTED_BYTES && ctx.method !== 'HEAD') countUnread(ctx, data.length, options)
  if (cache !== undefined) ctx.state.head.set('Cache-Control', cache)
  send(ctx, status ?? options.status, { type: content.type, data })
}

/**
 * Counts the bytes of a response until its client has read them. Without a limit, a client that requests much on many
 * connections and reads nothing would fill the memory. A write is done already, so its result needs no room.
 */
function countUnread(ctx: Context, bytes: number, { sender, unread, stalledReaderMs }: ResponseOptions): Reservation {
  const reservation = unread.reserve(sender, ctx.req.socket)
  // Before it takes any: if there is no room, it would stay among the others for ever.
  onClose(ctx, () => reservation.release())
  if (ctx.method === 'GET') reservation.take(bytes)
  else reservation.add(bytes)
  endForNewcomers(ctx, reservation)
  // Node destroys the connection after this time without progress. If the client accepted a part of the last write
  // before it stopped reading, the time begins again.
  ctx.res.setTimeout(stalledReaderMs)
  return reservation
}

/** Lets a response end, while its client reads it, if a newcomer needs the memory. */
function endForNewcomers(ctx: Context, reservation: Reservation): void {
  reservation.end = () => {
    reservation.release()
    cutOff(ctx)
  }
}

/** A long response ends if a part of it is not admitted for this long. */
const MAX_PAGE_WAIT_MS = 60_000
/** What a long response counts as unread, as long as it is open: about a page. A longer part counts with its length. */
const PAGE_BYTES = 256 * 1024

/**
 * Sends a response part by part, at the pace of its client. Each part is admitted by itself. An error before the
 * first part is a usual error response. After it, the connection is destroyed, so that the client sees that the
 * response is incomplete.
 */
async function sendPages(
  ctx: Context,
  { parts, type = JSON_TYPE, fileName }: Extract<Reply, { kind: 'pages' }>,
  options: ResponseOptions,
): Promise<void> {
  const { admission, authorization, stalledReaderMs } = options
  admission.release()
  let counted = PAGE_BYTES
  const reservation = countUnread(ctx, PAGE_BYTES, options)
  const nextPart = async (): Promise<IteratorResult<string, void>> => {
    // Only the client's time counts.
    ctx.res.setTimeout(0)
    reservation.end = undefined
    try {
      await admission.admit(MAX_PAGE_WAIT_MS)
      await authorization.renew()
      const part = await parts.next()
      const length = Math.max(PAGE_BYTES, part.value?.length ?? 0)
      reservation.take(length - counted)
      counted = length
      return part
    } finally {
      admission.release()
      ctx.res.setTimeout(stalledReaderMs)
      endForNewcomers(ctx, reservation)
    }
  }
  const first = await nextPart()
  if (fileName !== undefined) setFileName(ctx, fileName)
  ctx.state.head.set('Content-Type', type)
  ctx.status = options.status
  if (ctx.method === 'HEAD') return void (await parts.return())
  async function* all(): AsyncGenerator<string> {
    for (let part = first; part.done !== true; part = await nextPart()) yield part.value
  }
  ctx.body = Readable.from(all(), { objectMode: false })
}
