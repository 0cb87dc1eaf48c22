import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Principal } from '../../core/index.ts'
import { afterResponse } from './after-response.ts'
import { HttpError } from './errors.ts'
import { endIfIdle } from './idle-client.ts'
import { hasKey, senderOf } from './rate-limit.ts'
import type { StreamLimits } from './stream-limits.ts'
import { Tally } from './tally.ts'

/** Default of `UnreadOptions.maxBytes` and of the setting. */
export const MAX_UNREAD_RESPONSE_BYTES = 128 * 1024 * 1024
/** Smaller responses do not count: the system takes them at once, even if the client reads nothing. */
const LEAST_BYTES = 16 * 1024
/** One key or address can have a quarter of all bytes, and all requests without a key together half of them. */
const [SENDER_SHARES, KEYLESS_SHARES] = [4, 2]

export interface UnreadOptions {
  /** Limit for the bytes of all responses that their clients have not yet read. */
  readonly maxBytes: number
  readonly streamLimits: Pick<StreamLimits, 'idleMs'>
}

/** A share of the bytes with its limit. */
type Share = readonly [name: string, maxBytes: number]

/**
 * Counts the bytes of large responses that are sent whole, until their clients have read them. Without a limit, a
 * client that requests much on many connections and reads nothing would fill the memory.
 */
export class UnreadResponses {
  readonly #options: UnreadOptions
  readonly #bytes = new Tally()
  #rejected = 0

  constructor(options: UnreadOptions) {
    this.#options = options
  }

  /** Bytes that wait for their clients. */
  get bytes(): number {
    return this.#bytes.of(ALL)
  }

  /** Responses that were rejected since the start. */
  get rejected(): number {
    return this.#rejected
  }

  /**
   * Rejects a request for a long result before it is made, if its sender has half of what it may have.
   *
   * @throws `OVERLOADED`
   */
  assertRoom(ctx: Context, principal: Principal): void {
    const share = this.#shareOf(ctx, principal)
    if (this.#isBeyond(share, share[1] / 2)) throw this.#reject()
  }

  /**
   * Counts the body of a response, and ends the response if its client reads nothing for too long. A response that is
   * the only one of its share is never too large.
   *
   * @throws `OVERLOADED` instead of sending the result of a read, if too many bytes wait. A write is done already, so
   *   its result is always sent
   */
  hold(ctx: Context, principal: Principal): void {
    const size = sizeOf(ctx)
    if (size < LEAST_BYTES) return
    const shares = this.#sharesOf(ctx, principal)
    if (ctx.method === 'GET' && shares.some((share) => this.#isBeyond(share, size))) {
      removeRepresentation(ctx)
      throw this.#reject()
    }
    for (const [name] of shares) this.#bytes.add(name, size)
    afterResponse(ctx, () => {
      for (const [name] of shares) this.#bytes.add(name, -size)
    })
    endIfIdle(ctx.res, this.#options.streamLimits.idleMs)
  }

  #reject(): HttpError {
    this.#rejected++
    return new HttpError('OVERLOADED', 'Too many bytes of responses wait for their clients')
  }

  #sharesOf(ctx: Context, principal: Principal): readonly Share[] {
    const { maxBytes } = this.#options
    const sender = this.#shareOf(ctx, principal)
    const all: Share = [ALL, maxBytes]
    return hasKey(principal) ? [all, sender] : [all, [KEYLESS, maxBytes / KEYLESS_SHARES], sender]
  }

  #shareOf = (ctx: Context, principal: Principal): Share => [
    senderOf(ctx, principal),
    this.#options.maxBytes / SENDER_SHARES,
  ]

  #isBeyond([name, maxBytes]: Share, size: number): boolean {
    const used = this.#bytes.of(name)
    return used > 0 && used + size > maxBytes
  }
}

/** Names of shares that no sender has. */
const [ALL, KEYLESS] = ['all', 'without a key']

/** The bytes of a body that is sent whole; 0 for a stream, and if no body is sent. */
function sizeOf(ctx: Context): number {
  const { body } = ctx
  if (ctx.method === 'HEAD' || body === undefined || body === null || body instanceof Readable) return 0
  return ctx.length ?? 0
}

/** What describes the result does not describe the error, which must not be cached. */
function removeRepresentation(ctx: Context): void {
  for (const name of ['Content-Type', 'Content-Disposition', 'ETag']) ctx.remove(name)
  ctx.set('Cache-Control', 'no-store')
}
