import { setImmediate } from 'node:timers/promises'
import { HttpError } from './errors.ts'
import { TurnQueue } from './turn-queue.ts'

/** Results that are made at the same time. One can have tens of megabytes, and block the event loop for some 100 ms. */
const LIMITS = { running: 4, perSender: 3 }
/** Longest time in which a request waits for its turn. */
const MAX_WAIT_MS = 10_000

/** Makes few long results at the same time, with a pause of the event loop between them. */
export class HeavyWork {
  readonly #turns = new TurnQueue(LIMITS)

  /** Throws `OVERLOADED` if the turn of this sender does not come in time. */
  async run<T>(sender: string, make: () => Promise<T>): Promise<T> {
    const isAlone = this.#turns.running === 0
    if (!(await this.#turns.begin(MAX_WAIT_MS, sender)))
      throw new HttpError('OVERLOADED', 'Too many long results are being made')
    try {
      // The result before this one is sent meanwhile.
      if (!isAlone) await setImmediate()
      return await make()
    } finally {
      this.#turns.end(sender)
    }
  }
}
