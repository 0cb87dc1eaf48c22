import { Tally } from './tally.ts'

/** A request that waits, with those that arrived before and after it. */
interface Waiting {
  readonly sender: string | undefined
  readonly start: () => void
  previous?: Waiting | undefined
  next?: Waiting | undefined
}

export interface TurnLimits {
  /** How many requests have a turn at the same time. */
  readonly running: number
  /** How many of them can be of one sender. */
  readonly perSender: number
}

/**
 * Gives requests their turn in the order of their arrival, except that a sender with many turns lets others pass. A
 * request that has waited too long leaves the queue at once, so that a store that stands still does not let the queue
 * grow.
 */
export class TurnQueue {
  readonly #limits: TurnLimits
  readonly #runningBySender = new Tally()
  /** A linked list, so that a request leaves it in constant time from any position. */
  #first: Waiting | undefined
  #last: Waiting | undefined
  #running = 0
  #waiting = 0

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  /** How many requests have a turn. */
  get running(): number {
    return this.#running
  }

  /** How many requests wait in the queue. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Waits for a turn, which lasts until `end`. Resolves with false, without a turn, after `maxWaitMs`.
   *
   * @param sender - `undefined`: has no limit of its own
   */
  async begin(maxWaitMs: number, sender?: string): Promise<boolean> {
    if (!this.#canRun(sender)) return this.#wait(maxWaitMs, sender)
    this.#count(sender, 1)
    return true
  }

  /** Ends a turn of a sender. The request that has waited longest, and can run, gets it. */
  end(sender?: string): void {
    this.#count(sender, -1)
    for (let next = this.#first; next !== undefined; next = next.next)
      if (this.#canRun(next.sender)) return next.start()
  }

  #canRun(sender: string | undefined): boolean {
    const { running, perSender } = this.#limits
    if (this.#running >= running) return false
    return sender === undefined || this.#runningBySender.of(sender) < perSender
  }

  #count(sender: string | undefined, change: 1 | -1): void {
    this.#running += change
    if (sender !== undefined) this.#runningBySender.add(sender, change)
  }

  #wait(maxWaitMs: number, sender: string | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = (hasTurn: boolean): void => {
        clearTimeout(timer)
        this.#remove(waiting)
        if (hasTurn) this.#count(sender, 1)
        resolve(hasTurn)
      }
      const waiting: Waiting = { sender, start: () => leave(true) }
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
