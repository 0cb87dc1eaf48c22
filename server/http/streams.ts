import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Principal } from '../../core/index.ts'
import { afterResponse } from './after-response.ts'
import { HttpError } from './errors.ts'
import { endIfIdle } from './idle-client.ts'
import type { StreamLimits } from './stream-limits.ts'
import { Tally } from './tally.ts'

/** Sends long JSON responses part by part, at the pace of the client. */
export class Streams {
  readonly #limits: StreamLimits
  readonly #openByKey = new Tally()

  constructor(limits: StreamLimits) {
    this.#limits = limits
  }

  /**
   * Sends what `start` returns. An error before the first part is a usual error response. After it, the connection is
   * destroyed, so that the client sees that the response is incomplete.
   *
   * @throws `RATE_LIMITED` if the key reads too many such responses already
   */
  async send(ctx: Context, principal: Principal, start: () => Promise<AsyncIterable<string>>): Promise<void> {
    // First, because the client may disconnect before the first part.
    afterResponse(ctx, this.#open(ctx, principal))
    const parts = await start()
    ctx.type = 'json'
    ctx.body = Readable.from(parts, { objectMode: false })
    endIfIdle(ctx.res, this.#limits.idleMs)
  }

  #open(ctx: Context, principal: Principal): () => void {
    const { maxPerKey } = this.#limits
    const key = principal.kind === 'sourceSystem' ? principal.id : principal.kind
    if (this.#openByKey.of(key) >= maxPerKey) {
      ctx.set('Retry-After', '1')
      throw new HttpError('RATE_LIMITED', `A key can read at most ${maxPerKey} whole lists at the same time: use len`)
    }
    this.#openByKey.add(key, 1)
    return () => this.#openByKey.add(key, -1)
  }
}
