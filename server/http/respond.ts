import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Reply } from '../contract/reply.ts'
import { sendFile } from './download.ts'
import { isFresh, sendNotModified, setFileName } from './headers.ts'
import { onClose } from './observe.ts'
import type { Reservation, MemoryBudget } from './memory-budget.ts'
import type { Sender } from './sender.ts'
import { cutOff, type Admission } from './admission.ts'

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
}

/**
 * @throws `OVERLOADED` if too many bytes of this sender are unread, `RANGE_NOT_SATISFIABLE`, and what the first part of
 *   a long response throws
 */
export async function respond(ctx: Context, reply: Reply, options: ResponseOptions): Promise<void> {
  ctx.status = options.status
  switch (reply.kind) {
    case 'json':
      if (reply.etag !== undefined) {
        if (isFresh(ctx, reply.etag)) return sendNotModified(ctx, reply.etag)
        ctx.res.setHeader('ETag', reply.etag)
      }
      if (reply.status !== undefined) ctx.status = reply.status
      if (reply.location !== undefined) ctx.set('Location', reply.location)
      return sendBytes(ctx, { type: JSON_TYPE, data: reply.text, cache: reply.cache }, options)
    case 'bytes':
      return sendBytes(ctx, reply, options)
    case 'file':
      await sendFile(ctx, reply)
      return options.admission.releaseOnClose()
    case 'pages':
      return sendPages(ctx, reply, options)
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Smaller responses are not counted: the system takes them at once, even if the client reads nothing. */
const LEAST_COUNTED_BYTES = 16 * 1024

type BytesReply = Omit<Extract<Reply, { kind: 'bytes' }>, 'kind'>

/** As bytes: of a text, Koa and Node would each count the bytes before Node encodes it. */
function sendBytes(ctx: Context, { type, data, cache, fileName }: BytesReply, options: ResponseOptions): void {
  const body = Buffer.from(data)
  if (body.length >= LEAST_COUNTED_BYTES && ctx.method !== 'HEAD') countUnread(ctx, body.length, options)
  if (fileName !== undefined) setFileName(ctx, fileName)
  if (cache !== undefined) ctx.res.setHeader('Cache-Control', cache)
  ctx.res.setHeader('Content-Type', type)
  ctx.body = body
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
  const { admission, stalledReaderMs } = options
  admission.release()
  let counted = PAGE_BYTES
  const reservation = countUnread(ctx, PAGE_BYTES, options)
  const nextPart = async (): Promise<IteratorResult<string, void>> => {
    // Only the client's time counts.
    ctx.res.setTimeout(0)
    reservation.end = undefined
    try {
      await admission.admit(MAX_PAGE_WAIT_MS)
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
  ctx.res.setHeader('Content-Type', type)
  if (ctx.method === 'HEAD') return void (await parts.return())
  async function* all(): AsyncGenerator<string> {
    for (let part = first; part.done !== true; part = await nextPart()) yield part.value
  }
  ctx.body = Readable.from(all(), { objectMode: false })
}
