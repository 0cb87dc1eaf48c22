/** A request that waits, with those that arrived before and after it. */
interface Waiting {
  readonly start: () => void
  previous?: Waiting | undefined
  next?: Waiting | undefined
}

/**
 * Gives requests their turn in the order of their arrival. A request that has waited too long leaves the queue at once,
 * so that a store that stands still does not let the queue grow.
 */
export class TurnQueue {
  readonly #maxRunning: number
  /** A linked list, so that a request leaves it in constant time from any position. */
  #first: Waiting | undefined
  #last: Waiting | undefined
  #running = 0
  #waiting = 0

  /** `maxRunning`: how many requests have a turn at the same time. */
  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning
  }

  /** How many requests have a turn. */
  get running(): number {
    return this.#running
  }

  /** How many requests wait in the queue. */
  get waiting(): number {
    return this.#waiting
  }

  /** Waits for a turn, which lasts until `end`. Resolves with false, without a turn, after `maxWaitMs`. */
  async begin(maxWaitMs: number): Promise<boolean> {
    if (this.#running >= this.#maxRunning) return this.#wait(maxWaitMs)
    this.#running++
    return true
  }

  /** Ends a turn. The request that has waited longest gets it. */
  end(): void {
    if (this.#first === undefined) this.#running--
    else this.#first.start()
  }

  #wait(maxWaitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = (hasTurn: boolean): void => {
        clearTimeout(timer)
        this.#remove(waiting)
        resolve(hasTurn)
      }
      const waiting: Waiting = { start: () => leave(true) }
      const timer = setTimeout(() => leave(false), maxWaitMs)
      this.#append(waiting)
    })
  }

  #append(waiting: Waiting): void {
    waiting.previous = this.#last
    if (this.#last === undefined) this.#first = waiting
    else this.#last.next = waiting
    this.#last = waiting
    this.#waiting++
  }

  #remove({ previous, next }: Waiting): void {
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    this.#waiting--
  }
}
