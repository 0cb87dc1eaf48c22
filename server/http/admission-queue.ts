import { setImmediate as nextTurn } from 'node:timers/promises'
import { OVERLOADED, type HttpError } from '../contract/errors.ts'
import type { QueueLimits } from './load-limits.ts'
import type { Sender } from './sender.ts'
import { Portions } from './portions.ts'
import { slowestOf, type AwaitedClient, type Holding } from './slow-clients.ts'

/** How often a queue looks for a place that can be taken back, while a newcomer waits. */
const LOOK_AGAIN_MS = 250

interface QueueOptions {
  readonly maxWaitMs: number
  /** The event loop does other work between two requests. */
  readonly pauses?: boolean
  /** ms since any fixed time; never goes back. Default: `performance.now`. */
  readonly nowMs?: () => number
}

/**
 * One kind of work: so many requests run, so many wait, in turns of their senders. A sender of which none runs is a
 * newcomer: if all places are taken, a request with a slow client ends for it.
 */
export class AdmissionQueue {
  readonly #admitted: Portions
  readonly #running: Portions
  /** By sender, in the order of their turns. Each is told whether it has a turn or is rejected. */
  readonly #waiting = new Map<string, ((hasTurn: boolean) => void)[]>()
  /** Running requests that wait for their clients, and those of them that were told to end. */
  readonly #holdings = new Set<Holding>()
  readonly #ending = new Set<Holding>()
  /** Senders that wait and are crowds: each of their people is a newcomer among the others. */
  readonly #crowds = new Set<string>()
  readonly #maxWaitMs: number
  readonly #pauses: boolean
  readonly #nowMs: () => number
  #lookAgain: NodeJS.Timeout | undefined
  #rejected = 0
  #ended = 0

  constructor(
    { running, waiting }: QueueLimits,
    { maxWaitMs, pauses = false, nowMs = () => performance.now() }: QueueOptions,
  ) {
    this.#admitted = new Portions(running + waiting)
    this.#running = new Portions(running)
    this.#maxWaitMs = maxWaitMs
    this.#pauses = pauses
    this.#nowMs = nowMs
  }

  /** For `/metrics`: what the requests do now, and how many were rejected and ended for others since the start. */
  get state(): Readonly<Record<'running' | 'waiting' | 'rejected' | 'ended', number>> {
    const running = this.#running.used
    return { running, waiting: this.#admitted.used - running, rejected: this.#rejected, ended: this.#ended }
  }

  /** Whether a request of this sender may run at once. If so, it runs until `leave`. */
  tryEnter({ name }: Sender): boolean {
    if (this.#pauses || !this.#admitted.hasRoom(name, 1) || !this.#running.hasRoom(name, 1)) return false
    this.#admitted.add(name, 1)
    this.#running.add(name, 1)
    return true
  }

  /**
   * Waits until a request of this sender may run. It runs until `leave`.
   *
   * @throws `OVERLOADED` at once if too many wait, and after `maxWaitMs`
   */
  async enter(sender: Sender, maxWaitMs = this.#maxWaitMs): Promise<void> {
    const { name } = sender
    if (!this.#admitted.hasRoom(name, 1) && !this.#dismissFor(name)) throw this.#reject()
    this.#admitted.add(name, 1)
    const isAlone = this.#running.used === 0
    if (this.#running.hasRoom(name, 1)) this.#running.add(name, 1)
    else if (!(await this.#wait(sender, maxWaitMs))) {
      this.#admitted.add(name, -1)
      throw this.#reject()
    }
    if (this.#pauses && !isAlone) await nextTurn()
  }

  /** Says that a running request waits for its client from now on: a newcomer can take its place until it leaves. */
  awaitClient(sender: Sender, client: AwaitedClient): Holding {
    const holding = { sender, amount: 1, client, since: { ms: this.#nowMs(), bytes: client.bytes } }
    this.#holdings.add(holding)
    return holding
  }

  /** Ends a request that runs. `holding`: if it has waited for its client. */
  leave({ name }: Sender, holding?: Holding): void {
    if (holding !== undefined && !this.#holdings.delete(holding)) this.#ending.delete(holding)
    this.#admitted.add(name, -1)
    this.#running.add(name, -1)
    for (const [sender, requests] of this.#waiting) {
      if (this.#running.isFull) return
      if (this.#running.hasRoom(sender, 1)) {
        // The other senders come before its next one.
        this.#waiting.delete(sender)
        this.#waiting.set(sender, requests)
        this.#running.add(sender, 1)
        requests[0]?.(true)
      }
    }
  }

  #reject(): HttpError {
    this.#rejected++
    return OVERLOADED
  }

  #wait({ name: sender, isCrowd = false }: Sender, maxWaitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const requests = this.#waiting.get(sender) ?? []
      if (requests.length === 0) this.#waiting.set(sender, requests)
      const settle = (hasTurn: boolean): void => {
        clearTimeout(timer)
        requests.splice(requests.indexOf(settle), 1)
        if (requests.length === 0) {
          this.#waiting.delete(sender)
          this.#crowds.delete(sender)
        }
        resolve(hasTurn)
      }
      requests.push(settle)
      const timer = setTimeout(settle, maxWaitMs, false)
      if (isCrowd) this.#crowds.add(sender)
      if (isCrowd || this.#running.of(sender) === 0) this.#makeRoom()
    })
  }

  /** Rejects the newest waiting request of the sender of which most wait, so that fewer of another one can wait. */
  #dismissFor(sender: string): boolean {
    let longest = this.#waiting.get(sender) ?? []
    const enough = longest.length + 2
    for (const requests of this.#waiting.values()) if (requests.length > longest.length) longest = requests
    if (longest.length < enough) return false
    longest.at(-1)?.(false)
    return true
  }

  /**
   * Ends one request for each newcomer that waits, and one of each crowd of which one waits. Looks again soon if that
   * is not possible yet.
   */
  #makeRoom(): void {
    clearTimeout(this.#lookAgain)
    let missing = -this.#ending.size
    for (const sender of this.#waiting.keys()) if (this.#running.of(sender) === 0) missing++
    while (missing > 0 && this.#endSlowest(this.#holdings)) missing--
    for (const crowd of this.#crowds) {
      const isOwn = ({ sender }: Holding): boolean => sender.name === crowd
      if (![...this.#ending].some(isOwn)) this.#endSlowest([...this.#holdings].filter(isOwn))
    }
    if (missing > 0 || this.#crowds.size > 0) this.#lookAgain = setTimeout(() => this.#makeRoom(), LOOK_AGAIN_MS)
  }

  /** Ends the request with the slowest client. Returns `false` if none can be ended yet. */
  #endSlowest(holdings: Iterable<Holding>): boolean {
    const slowest = slowestOf(holdings, this.#nowMs())
    if (slowest === undefined) return false
    this.#holdings.delete(slowest)
    this.#ending.add(slowest)
    this.#ended++
    slowest.client.end?.(OVERLOADED)
    return true
  }
}
