import { HttpError } from './errors.ts'
import { Tally } from './tally.ts'
import { TurnQueue } from './turn-queue.ts'

/**
 * The kinds of work that have limits of their own, so that one of them cannot stop the others. `public` and
 * `validations` are requests without a key. Those of `validations` have a body, which a client can send slowly.
 */
export const WORK_CLASSES = ['public', 'validations', 'reads', 'lists', 'writes', 'uploads', 'downloads'] as const
export type WorkClass = (typeof WORK_CLASSES)[number]

/** How many requests of a class run at the same time, and how many more may wait. */
export interface WorkLimit {
  readonly running: number
  readonly waiting: number
}
export type WorkLimits = Readonly<Record<WorkClass, WorkLimit>>

export const WORK_LIMITS: WorkLimits = {
  public: { running: 96, waiting: 928 },
  validations: { running: 96, waiting: 416 },
  reads: { running: 96, waiting: 928 },
  lists: { running: 16, waiting: 200 },
  writes: { running: 512, waiting: 512 },
  uploads: { running: 48, waiting: 200 },
  downloads: { running: 128, waiting: 200 },
}

/** Longest time in which a request waits for its turn. Longer waits mean that the store stands still. */
const MAX_WAIT_MS = 10_000
/** Defaults of `AdmissionOptions` and of the settings. */
export const MAX_BUSY_MS = 100
export const MAX_BODY_MEMORY_BYTES = 64 * 1024 * 1024
/** The part of the places of a class, running and waiting, that one key or address can have. */
const SENDER_SHARE = 2 / 3

/** What the requests of a class do now, for `/metrics`. */
export interface WorkState {
  readonly running: number
  /** Admitted requests that wait for a turn or for their body. */
  readonly waiting: number
  /** Requests that were rejected since the start. */
  readonly rejected: number
}

/** The first requests after a pause of the event loop, which are admitted however long they take. */
const LEAST_REQUESTS = 100

export interface AdmissionOptions {
  /**
   * While the event loop is busy without a pause, requests are admitted for this long, then rejected for as long, and
   * so on: reads that need no I/O never wait in a queue of ours, but in the buffers of the system. Requests without a
   * key are admitted only in the first half of the admitting time. Default 100.
   */
  readonly maxBusyMs?: number
  /** Default: `WORK_LIMITS`. */
  readonly limits?: WorkLimits
  /** ms since any fixed time; never goes back. Default: `performance.now`. */
  readonly now?: () => number
  /** Limit for the bytes of all request bodies that are in memory. Streamed files do not count. Default 64 MiB. */
  readonly maxBodyBytes?: number
}

/**
 * Admits requests up to the limits of their class, and rejects the rest at once. So a response takes a bounded time
 * under any load, and the memory for requests is bounded.
 */
export class Admission {
  readonly #queues: Readonly<Record<WorkClass, WorkQueue>>
  readonly #bodies: BodyMemory
  readonly #loop: BusyLoop
  readonly #maxBusyMs: number

  constructor({
    limits = WORK_LIMITS,
    maxBodyBytes = MAX_BODY_MEMORY_BYTES,
    maxBusyMs = MAX_BUSY_MS,
    now = () => performance.now(),
  }: AdmissionOptions) {
    this.#maxBusyMs = maxBusyMs
    this.#loop = new BusyLoop(now)
    this.#bodies = new BodyMemory(maxBodyBytes)
    const queueOf = (name: WorkClass) => [name, new WorkQueue(limits[name])] as const
    this.#queues = Object.fromEntries(WORK_CLASSES.map(queueOf)) as Record<WorkClass, WorkQueue>
  }

  /** Bytes of request bodies in memory. */
  get bodyBytes(): number {
    return this.#bodies.used
  }

  stateOf(workClass: WorkClass): WorkState {
    return this.#queues[workClass].state()
  }

  /**
   * Admits a request. `undefined`: its class is full, or the process is too busy, so reject it at once. Call `leave`
   * when it is done.
   */
  enter(workClass: WorkClass): Turn | undefined {
    const queue = this.#queues[workClass]
    const hasKey = workClass !== 'public' && workClass !== 'validations'
    const hasTime = this.#loop.admits(this.#maxBusyMs, hasKey ? 1 : 1 / 2)
    return queue.enter(hasTime) ? new Turn(workClass, queue, this.#bodies) : undefined
  }
}

/**
 * Measures how long the event loop has been busy with requests without a pause. Under a flood it may not pause for
 * seconds: libuv reads up to 49,152 events in a row. So that time is divided into slices: requests are admitted in the
 * first slice, rejected in the second, admitted in the third, and so on.
 */
class BusyLoop {
  readonly #now: () => number
  #since: number | undefined
  #requests = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether to admit another request. `share`: the part of an admitting slice in which this class is admitted. */
  admits(sliceMs: number, share: number): boolean {
    if (this.#since === undefined) {
      this.#since = this.#now()
      this.#requests = 0
      // Runs when the loop has read everything that the system had received.
      setImmediate(() => (this.#since = undefined))
    }
    this.#requests++
    if (this.#requests <= LEAST_REQUESTS) return true
    return (this.#now() - this.#since) % (2 * sliceMs) <= sliceMs * share
  }
}

/** One admitted request. */
export class Turn {
  readonly workClass: WorkClass
  readonly #queue: WorkQueue
  readonly #bodies: BodyMemory
  #isRunning = false
  #sender: string | undefined
  #bodyBytes = 0

  constructor(workClass: WorkClass, queue: WorkQueue, bodies: BodyMemory) {
    this.workClass = workClass
    this.#queue = queue
    this.#bodies = bodies
  }

  /**
   * Waits until it may run; returns at once if it runs already.
   *
   * @throws `OVERLOADED` if that takes too long
   */
  async start(): Promise<void> {
    if (this.#isRunning) return
    await this.#queue.begin(this.#sender)
    this.#isRunning = true
  }

  /**
   * Counts the request for its key or address. Comes before `start`. Throws `OVERLOADED` if this sender has too many in
   * this class.
   */
  assignTo(sender: string): void {
    this.#queue.assign(sender)
    this.#sender = sender
  }

  /** Counts bytes of the body that stay in memory. Throws `OVERLOADED` if all requests together hold too many. */
  holdBytes(count: number): void {
    if (!this.#bodies.add(count)) throw this.#queue.reject()
    this.#bodyBytes += count
  }

  /** Ends the request, once. */
  leave(): void {
    if (this.#isRunning) this.#queue.end(this.#sender)
    this.#isRunning = false
    this.#bodies.remove(this.#bodyBytes)
    this.#bodyBytes = 0
    this.#queue.leave(this.#sender)
  }
}

/** The requests of one class. */
class WorkQueue {
  readonly #capacity: number
  readonly #maxBySender: number
  readonly #turns: TurnQueue
  readonly #admittedBySender = new Tally()
  #admitted = 0
  #rejected = 0

  constructor({ running, waiting }: WorkLimit) {
    this.#capacity = running + waiting
    this.#maxBySender = senderShare(this.#capacity)
    this.#turns = new TurnQueue({ running, perSender: senderShare(running) })
  }

  state(): WorkState {
    const { running } = this.#turns
    return { running, waiting: this.#admitted - running, rejected: this.#rejected }
  }

  /** Admits a request if there is room, and time for it. */
  enter(hasTime: boolean): boolean {
    const hasRoom = hasTime && this.#admitted < this.#capacity
    if (hasRoom) this.#admitted++
    else this.#rejected++
    return hasRoom
  }

  /** Waits for a turn, which lasts until `end`. Throws `OVERLOADED` if that takes too long. */
  async begin(sender: string | undefined): Promise<void> {
    if (!(await this.#turns.begin(MAX_WAIT_MS, sender))) throw this.reject()
  }

  end(sender: string | undefined): void {
    this.#turns.end(sender)
  }

  assign(sender: string): void {
    if (this.#admittedBySender.of(sender) >= this.#maxBySender) throw this.reject()
    this.#admittedBySender.add(sender, 1)
  }

  leave(sender: string | undefined): void {
    this.#admitted--
    if (sender !== undefined) this.#admittedBySender.add(sender, -1)
  }

  /** Counts a rejection and returns its error. */
  reject(): HttpError {
    this.#rejected++
    return new HttpError('OVERLOADED', 'Too many requests are in progress')
  }
}

const senderShare = (places: number): number => Math.ceil(places * SENDER_SHARE)

/** Counts the bytes of request bodies that are in memory. */
class BodyMemory {
  readonly #maxBytes: number
  #used = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get used(): number {
    return this.#used
  }

  /** Returns false, and counts nothing, if that is too much. */
  add(count: number): boolean {
    const hasRoom = this.#used + count <= this.#maxBytes
    if (hasRoom) this.#used += count
    return hasRoom
  }

  remove(count: number): void {
    this.#used -= count
  }
}
