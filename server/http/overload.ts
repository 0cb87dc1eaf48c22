import { setImmediate as nextTurn } from 'node:timers/promises'
import { HttpError } from '../contract/errors.ts'

/**
 * What keeps one server usable under any load, behind the door (`door.ts`): a lane for each kind of work, and budgets
 * for memory. Both are shared among senders by the same rule (`Shares`).
 */

/** Who sends a request: a company by a valid key, or a network address without one. */
export interface Sender {
  readonly name: string
  readonly hasKey: boolean
}

const MIB = 1024 * 1024

/** How many requests of a lane run at the same time, and how many more may wait. */
interface LaneLimits {
  readonly running: number
  readonly waiting: number
}

/** Without a key; reads; lists, bundles and long histories; writes in JSON; forms; downloads; waiting for an event. */
export const LANE_NAMES = ['public', 'reads', 'lists', 'writes', 'uploads', 'downloads', 'held'] as const
export type LaneName = (typeof LANE_NAMES)[number]

/** What one server does at the same time, and holds in memory. */
export interface LoadLimits {
  readonly lanes: Readonly<Record<LaneName, LaneLimits>>
  /** Longest time in which a request waits for its turn. Longer waits mean that the store stands still. */
  readonly maxWaitMs: number
  /** Bytes of all request bodies in memory. Files do not count, because they are streamed. */
  readonly bodyBytes: number
  /** Bytes of responses that their clients have not yet read. */
  readonly unreadBytes: number
  /** A response ends if its client reads nothing for this long, or up to twice as long. */
  readonly stalledReaderMs: number
}

/** Constants, not settings: they were measured together, and a wrong one stops the service. */
export const LOAD_LIMITS: LoadLimits = {
  lanes: {
    public: { running: 96, waiting: 928 },
    reads: { running: 96, waiting: 928 },
    // A result can have tens of megabytes, and hold the event loop for 100 ms.
    lists: { running: 4, waiting: 200 },
    writes: { running: 512, waiting: 640 },
    // With S3, each holds 8 MiB.
    uploads: { running: 48, waiting: 200 },
    downloads: { running: 128, waiting: 200 },
    // A quarter of all requests that may be in progress.
    held: { running: 1_024, waiting: 0 },
  },
  maxWaitMs: 10_000,
  bodyBytes: 64 * MIB,
  unreadBytes: 128 * MIB,
  stalledReaderMs: 30_000,
}

/** One for all requests: to capture a stack costs more than the rest of a rejection. */
export const OVERLOADED = new HttpError('OVERLOADED', 'Too many requests are in progress')

/** So many senders are kept without anything: a map that gets and loses its only entry all the time is slow. */
const KEPT_SENDERS = 64

/**
 * Counts what each sender has of something that is limited. A sender may have seven times what is free: if it is alone,
 * all but an eighth; if several want much, equal parts; and a newcomer always finds some.
 */
class Shares {
  readonly #max: number
  readonly #bySender = new Map<string, number>()
  #used = 0

  constructor(max: number) {
    this.#max = max
  }

  get used(): number {
    return this.#used
  }

  of(sender: string): number {
    return this.#bySender.get(sender) ?? 0
  }

  /** Whether a sender can have so much more. What no other sender uses is never too large. */
  hasRoom(sender: string, amount: number): boolean {
    const own = this.of(sender)
    const free = this.#max - this.#used - amount
    return this.#used === 0 || (free >= 0 && (own === 0 || own + amount <= 7 * free))
  }

  /** `amount`: negative to give it back. */
  add(sender: string, amount: number): void {
    const own = this.of(sender) + amount
    this.#used += amount
    if (own === 0 && this.#bySender.size > KEPT_SENDERS) this.#bySender.delete(sender)
    else this.#bySender.set(sender, own)
  }
}

interface LaneOptions {
  readonly maxWaitMs: number
  /** The event loop does other work between two requests. */
  readonly pauses: boolean
}

/** One kind of work: so many requests run, so many wait, in turns of their senders. */
export class Lane {
  readonly #admitted: Shares
  readonly #running: Shares
  /** By sender, in the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #maxWaitMs: number
  readonly #pauses: boolean
  #rejected = 0

  constructor({ running, waiting }: LaneLimits, { maxWaitMs, pauses }: LaneOptions) {
    this.#admitted = new Shares(running + waiting)
    this.#running = new Shares(running)
    this.#maxWaitMs = maxWaitMs
    this.#pauses = pauses
  }

  /** For `/metrics`: what the requests do now, and how many were rejected since the start. */
  get state(): { readonly running: number; readonly waiting: number; readonly rejected: number } {
    const running = this.#running.used
    return { running, waiting: this.#admitted.used - running, rejected: this.#rejected }
  }

  /**
   * Waits for the turn of a request.
   *
   * @returns a function that ends the turn
   * @throws `OVERLOADED` at once if too many wait, and after `maxWaitMs`
   */
  async enter({ name }: Sender, maxWaitMs = this.#maxWaitMs): Promise<() => void> {
    if (!this.#admitted.hasRoom(name, 1)) throw this.#reject()
    this.#admitted.add(name, 1)
    const isAlone = this.#running.used === 0
    if (this.#running.hasRoom(name, 1)) this.#running.add(name, 1)
    else if (!(await this.#wait(name, maxWaitMs))) {
      this.#admitted.add(name, -1)
      throw this.#reject()
    }
    if (this.#pauses && !isAlone) await nextTurn()
    return () => this.#leave(name)
  }

  #reject(): HttpError {
    this.#rejected++
    return OVERLOADED
  }

  #leave(name: string): void {
    this.#admitted.add(name, -1)
    this.#running.add(name, -1)
    for (const [sender, queue] of this.#waiting)
      if (this.#running.hasRoom(sender, 1)) {
        // The other senders come before its next one.
        this.#waiting.delete(sender)
        if (queue.length > 1) this.#waiting.set(sender, queue)
        this.#running.add(sender, 1)
        queue.shift()?.()
        return
      }
  }

  #wait(sender: string, maxWaitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(sender) ?? []
      if (queue.length === 0) this.#waiting.set(sender, queue)
      const start = (): void => {
        clearTimeout(timer)
        resolve(true)
      }
      queue.push(start)
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(start), 1)
        if (queue.length === 0) this.#waiting.delete(sender)
        resolve(false)
      }, maxWaitMs)
    })
  }
}

/** Bytes in memory. All senders without a key together can have half of them. */
export class MemoryBudget {
  readonly #all: Shares
  readonly #keyless: Shares
  /** In the order in which they began. */
  readonly #held = new Set<HeldMemory>()
  #rejected = 0

  constructor(maxBytes: number) {
    this.#all = new Shares(maxBytes)
    this.#keyless = new Shares(maxBytes / 2)
  }

  get used(): number {
    return this.#all.used
  }

  /** How often there was no room since the start. */
  get rejected(): number {
    return this.#rejected
  }

  /** `end` is called if another request needs the memory more. It must release it. Default: the memory stays held. */
  hold(sender: Sender, end?: (error: HttpError) => void): HeldMemory {
    const held = new HeldMemory(this, sender, end)
    this.#held.add(held)
    return held
  }

  hasRoom({ name, hasKey }: Sender, bytes: number): boolean {
    return this.#all.hasRoom(name, bytes) && (hasKey || this.#keyless.hasRoom(name, bytes))
  }

  /** Counts bytes, negative ones to give them back. */
  add({ name, hasKey }: Sender, bytes: number): void {
    this.#all.add(name, bytes)
    if (!hasKey) this.#keyless.add(name, bytes)
  }

  forget(held: HeldMemory): void {
    this.#held.delete(held)
  }

  /** Counts a rejection and returns its error. */
  reject(): HttpError {
    this.#rejected++
    return OVERLOADED
  }

  /** Of what can be ended, the newest of the sender that has most. */
  largest(): HeldMemory | undefined {
    let largest: HeldMemory | undefined
    for (const held of this.#held)
      if (held.end !== undefined && this.#all.of(held.sender.name) >= this.#all.of(largest?.sender.name ?? ''))
        largest = held
    return largest
  }
}

/** What one request holds of a budget. */
export class HeldMemory {
  readonly sender: Sender
  end: ((error: HttpError) => void) | undefined
  readonly #budget: MemoryBudget
  #bytes = 0

  constructor(budget: MemoryBudget, sender: Sender, end?: (error: HttpError) => void) {
    this.#budget = budget
    this.sender = sender
    this.end = end
  }

  /**
   * Holds more bytes. If there is no room, ends the newest holder of the sender that has most.
   *
   * @throws `OVERLOADED` if that is this one, or none can be ended
   */
  take(bytes: number): void {
    while (!this.#budget.hasRoom(this.sender, bytes)) {
      const largest = this.#budget.largest()
      if (largest === undefined || largest === this) throw this.#budget.reject()
      largest.end?.(this.#budget.reject())
    }
    this.add(bytes)
  }

  /** Counts bytes that are there in any case; negative ones to give them back. */
  add(bytes: number): void {
    this.#bytes += bytes
    this.#budget.add(this.sender, bytes)
  }

  /** Gives everything back. */
  release(): void {
    this.#budget.add(this.sender, -this.#bytes)
    this.#bytes = 0
    this.#budget.forget(this)
  }
}
