import type { Socket } from 'node:net'
import type { Context } from 'koa'
import { HttpError } from '../contract/errors.ts'
import { onClose } from './observe.ts'
import type { BegunTurn, AdmissionQueue } from './admission-queue.ts'
import type { Sender } from './sender.ts'
import { clientOf, type AwaitedClient } from './slow-clients.ts'

/** The turn of one request in its queue. */
export class Turn {
  readonly #ctx: Context
  readonly #queue: AdmissionQueue | undefined
  readonly #sender: Sender
  /** While a body is read, the request of `ctx` is another one. */
  readonly #socket: Socket
  #turn: Promise<BegunTurn> | undefined

  /** `queue`: `undefined` if the request has no limit. */
  constructor(ctx: Context, queue: AdmissionQueue | undefined, sender: Sender) {
    this.#ctx = ctx
    this.#queue = queue
    this.#sender = sender
    this.#socket = ctx.req.socket
  }

  /**
   * Waits for the turn, unless it has begun.
   *
   * @throws `OVERLOADED`; `MALFORMED_BODY` if the client has disconnected meanwhile, because no work is needed then
   */
  async begin(maxWaitMs?: number): Promise<void> {
    if (this.#queue !== undefined) await (this.#turn ??= this.#queue.enter(this.#sender, maxWaitMs))
    if (this.#ctx.res.destroyed) throw new HttpError('MALFORMED_BODY', 'The client disconnected before its turn')
  }

  end(): void {
    this.#turn?.then(
      (turn) => turn.end(),
      () => undefined,
    )
    this.#turn = undefined
  }

  /** Says that the request waits for its client, and can be ended as long as `waits.end` is defined. */
  awaitClient(waits: Pick<AwaitedClient, 'end'>): void {
    const client = clientOf(this.#socket, waits)
    void this.#turn?.then((turn) => turn.awaits(client))
  }

  /** Ends it when the response has ended, which a newcomer may bring about. */
  endOnClose(): void {
    this.awaitClient({ end: () => cutOff(this.#ctx) })
    const turn = this.#turn
    this.#turn = undefined
    onClose(this.#ctx, () => void turn?.then((begun) => begun.end()))
  }
}

/** Ends a response that its client reads slowly. The client sees that it is incomplete. */
export function cutOff({ res, state }: Pick<Context, 'res' | 'state'>): void {
  state.code ??= 'UNAVAILABLE'
  res.destroy()
}
