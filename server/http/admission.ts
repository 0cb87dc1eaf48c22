import type { Socket } from 'node:net'
import type { Context } from 'koa'
import { HttpError } from '../contract/errors.ts'
import type { AdmissionQueue } from './admission-queue.ts'
import { onClose } from './observe.ts'
import type { Sender } from './sender.ts'
import { clientOf, type AwaitedClient, type Holding } from './slow-clients.ts'

/** The place of one request among those of its kind that run. */
export class Admission {
  readonly #ctx: Context
  readonly #queue: AdmissionQueue | undefined
  readonly #sender: Sender
  /** While a body is read, the request of `ctx` is another one. */
  readonly #socket: Socket
  #entering: Promise<void> | undefined
  #isAdmitted = false
  #holding: Holding | undefined

  /** `queue`: `undefined` if there is no limit. */
  constructor(ctx: Context, queue: AdmissionQueue | undefined, sender: Sender) {
    this.#ctx = ctx
    this.#queue = queue
    this.#sender = sender
    this.#socket = ctx.req.socket
  }

  /**
   * Waits for the place. If the request has it, or gets it at once, it returns no promise. Files of a form may wait for
   * it at the same time.
   *
   * @throws `OVERLOADED`; `MALFORMED_BODY` if the client has disconnected meanwhile, because no work is needed then
   */
  admit(maxWaitMs?: number): Promise<void> | undefined {
    if (!this.#isAdmitted && this.#entering === undefined)
      this.#isAdmitted = this.#queue === undefined || this.#queue.tryEnter(this.#sender)
    if (!this.#isAdmitted) return this.#wait(maxWaitMs)
    this.#assertConnected()
    return undefined
  }

  async #wait(maxWaitMs: number | undefined): Promise<void> {
    await (this.#entering ??= this.#enter(maxWaitMs))
    this.#assertConnected()
  }

  async #enter(maxWaitMs: number | undefined): Promise<void> {
    await this.#queue?.enter(this.#sender, maxWaitMs)
    this.#isAdmitted = true
  }

  #assertConnected(): void {
    if (this.#ctx.res.destroyed) throw new HttpError('MALFORMED_BODY', 'The client disconnected before its turn')
  }

  /** Says that the request waits for its client, and can be ended as long as `waits.end` is defined. */
  awaitClient(waits: Pick<AwaitedClient, 'end'>): void {
    this.#holding ??= this.#queue?.awaitClient(this.#sender, clientOf(this.#socket, waits))
  }

  /** Gives the place back. Call it when no `admit` is pending. The request can be admitted again. */
  release(): void {
    this.#entering = undefined
    if (!this.#isAdmitted) return
    this.#isAdmitted = false
    this.#queue?.leave(this.#sender, this.#holding)
    this.#holding = undefined
  }

  /** Leaves the place to the response, until that has ended. A newcomer may bring that about. */
  releaseOnClose(): void {
    this.awaitClient({ end: () => cutOff(this.#ctx) })
    const holding = this.#holding
    this.#isAdmitted = false
    onClose(this.#ctx, () => this.#queue?.leave(this.#sender, holding))
  }
}

/** Ends a response that its client reads slowly. The client sees that it is incomplete. */
export function cutOff({ res, state }: Pick<Context, 'res' | 'state'>): void {
  state.code ??= 'UNAVAILABLE'
  res.destroy()
}
