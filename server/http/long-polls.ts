import type { Context } from 'koa'
import { onClose } from './observe.ts'
import type { AdmissionQueue } from './admission-queue.ts'
import type { Sender } from './sender.ts'

/** Requests that wait for something to happen. They do no work meanwhile, so they have no place in a queue of work. */
export class LongPolls {
  readonly #queue: AdmissionQueue | undefined
  readonly #waiting = new Set<AbortController>()
  #isStopped = false

  /** `queue`: how many there may be; `undefined` if there is no limit. */
  constructor(queue: AdmissionQueue | undefined) {
    this.#queue = queue
  }

  /**
   * Lets a request wait. The signal ends the wait: after `maxMs`, if the client disconnects, with `stop`, or if another
   * sender needs the place.
   *
   * @throws `OVERLOADED` if too many wait
   */
  async wait<T>(
    { ctx, sender, maxMs }: { readonly ctx: Context; readonly sender: Sender; readonly maxMs: number },
    waitFor: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    await this.#queue?.enter(sender)
    const ending = new AbortController()
    const end = (): void => ending.abort()
    const holding = this.#queue?.awaitClient(sender, { bytes: 0, end })
    this.#waiting.add(ending)
    if (this.#isStopped) end()
    const timer = setTimeout(end, maxMs)
    onClose(ctx, end)
    const beganAtMs = performance.now()
    try {
      return await waitFor(ending.signal)
    } finally {
      ctx.state.longPollMs = performance.now() - beganAtMs
      clearTimeout(timer)
      this.#waiting.delete(ending)
      this.#queue?.leave(sender, holding)
    }
  }

  /** Ends every wait, also those that begin later. */
  stop(): void {
    this.#isStopped = true
    for (const ending of this.#waiting) ending.abort()
  }
}
