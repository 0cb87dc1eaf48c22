import { OVERLOADED, type HttpError } from '../contract/errors.ts'
import type { Sender } from './sender.ts'
import { Portions } from './portions.ts'
import { clientOf, slowestOf, type AwaitedClient, type Holding, type Traffic } from './slow-clients.ts'

interface BudgetOptions {
  /**
   * What ends if there is no room: the newest of the sender that has most, or for a newcomer the one with the slowest
   * client. Default: `newest`.
   */
  readonly ends?: 'newest' | 'slowest'
  /** ms since any fixed time; never goes back. Default: `performance.now`. */
  readonly nowMs?: () => number
}

/** Bytes in memory. All senders without a key together can have half of them. */
export class MemoryBudget {
  readonly #all: Portions
  readonly #keyless: Portions
  readonly #ends: 'newest' | 'slowest'
  readonly #nowMs: () => number
  /** In the order in which they began. */
  readonly #reservations = new Set<Reservation>()
  #rejected = 0

  constructor(maxBytes: number, { ends = 'newest', nowMs = () => performance.now() }: BudgetOptions = {}) {
    this.#all = new Portions(maxBytes)
    this.#keyless = new Portions(maxBytes / 2)
    this.#ends = ends
    this.#nowMs = nowMs
  }

  get used(): number {
    return this.#all.used
  }

  /** How often there was no room since the start. */
  get rejected(): number {
    return this.#rejected
  }

  /** Nothing at first. `traffic`: of the client's connection, if the slowest one ends. */
  reserve(sender: Sender, traffic: Traffic = NO_TRAFFIC): Reservation {
    const reservation = new Reservation(this, sender, { traffic, sinceMs: this.#nowMs() })
    this.#reservations.add(reservation)
    return reservation
  }

  /** Whether a sender can have more bytes, after others were ended for it. `taker`: who gets them, if it is known. */
  makeRoom(sender: Sender, bytes: number, taker?: Reservation): boolean {
    while (!this.#hasRoom(sender, bytes)) {
      const loser = this.#loser(sender, bytes)
      if (loser === undefined || loser === taker) return false
      loser.end?.(this.reject())
    }
    return true
  }

  #hasRoom({ name, hasKey }: Sender, bytes: number): boolean {
    return this.#all.hasRoom(name, bytes) && (hasKey || this.#keyless.hasRoom(name, bytes))
  }

  /** Counts bytes, negative ones to give them back. */
  add({ name, hasKey }: Sender, bytes: number): void {
    this.#all.add(name, bytes)
    if (!hasKey) this.#keyless.add(name, bytes)
  }

  forget(reservation: Reservation): void {
    this.#reservations.delete(reservation)
  }

  /** Counts a rejection and returns its error. */
  reject(): HttpError {
    this.#rejected++
    return OVERLOADED
  }

  #loser({ name }: Sender, bytes: number): Reservation | undefined {
    // If only the half of the senders without a key is full, what others have would end for nothing.
    const isFull = !this.#all.hasRoom(name, bytes)
    const candidates = [...this.#reservations].filter(({ sender }) => isFull || !sender.hasKey)
    if (this.#ends === 'slowest') return this.#all.of(name) === 0 ? slowestOf(candidates, this.#nowMs()) : undefined
    let largest: Reservation | undefined
    for (const each of candidates)
      if (each.end !== undefined && this.#all.of(each.sender.name) >= this.#all.of(largest?.sender.name ?? ''))
        largest = each
    return largest
  }
}

const NO_TRAFFIC: Traffic = { bytesRead: 0, bytesWritten: 0, writableLength: 0 }

/** What one request has of a budget. */
export class Reservation implements Holding {
  readonly sender: Sender
  /** Called if another request needs the memory more. It must release it. `undefined`: it keeps the memory. */
  end: AwaitedClient['end']
  readonly client: AwaitedClient
  readonly since: Holding['since']
  readonly #budget: MemoryBudget
  #bytes = 0
  #isReleased = false

  constructor(
    budget: MemoryBudget,
    sender: Sender,
    { traffic, sinceMs }: { readonly traffic: Traffic; readonly sinceMs: number },
  ) {
    this.#budget = budget
    this.sender = sender
    this.client = clientOf(traffic, this)
    this.since = { ms: sinceMs, bytes: this.client.bytes }
  }

  get amount(): number {
    return this.#bytes
  }

  /**
   * Takes more bytes. If there is no room, others are ended.
   *
   * @throws `OVERLOADED` if there is none after that
   */
  take(bytes: number): void {
    if (!this.#isReleased && !this.#budget.makeRoom(this.sender, bytes, this)) throw this.#budget.reject()
    this.add(bytes)
  }

  /** Counts bytes that are there in any case; negative ones to give them back. */
  add(bytes: number): void {
    if (this.#isReleased) return
    this.#bytes += bytes
    this.#budget.add(this.sender, bytes)
  }

  /** Gives everything back. Nothing is counted after that. */
  release(): void {
    this.#isReleased = true
    this.#budget.add(this.sender, -this.#bytes)
    this.#bytes = 0
    this.#budget.forget(this)
  }
}
