import type { Context } from 'koa'
import { onClose } from './observe.ts'
import type { Lane } from './overload.ts'
import type { Sender } from './shares.ts'

/** Requests that wait for something to happen. They do no work meanwhile, so they hold no place in a lane of work. */
export class Holds {
  readonly #lane: Lane | undefined
  readonly #held = new Set<AbortController>()
  #isStopped = false

  /** `lane`: how many there may be; `undefined` if there is no limit. */
  constructor(lane: Lane | undefined) {
    this.#lane = lane
  }

  /**
   * Holds a request. The signal ends the wait: after `maxMs`, if the client disconnects, with `stop`, or if another
   * sender needs the place.
   *
   * @throws `OVERLOADED` if too many wait
   */
  async hold<T>(
    { ctx, sender, maxMs }: { readonly ctx: Context; readonly sender: Sender; readonly maxMs: number },
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const turn = await this.#lane?.enter(sender)
    const ending = new AbortController()
    const end = (): void => ending.abort()
    turn?.awaits({ bytes: 0, end })
    this.#held.add(ending)
    if (this.#isStopped) end()
    const timer = setTimeout(end, maxMs)
    onClose(ctx, end)
    const beganAtMs = performance.now()
    try {
      return await wait(ending.signal)
    } finally {
      ctx.state.heldMs = performance.now() - beganAtMs
      clearTimeout(timer)
      this.#held.delete(ending)
      turn?.end()
    }
  }

  /** Ends every wait, also those that begin later. */
  stop(): void {
    this.#isStopped = true
    for (const ending of this.#held) ending.abort()
  }
}
