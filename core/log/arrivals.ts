import type { Clock, RecordStore } from '../ports/index.ts'
import { companyOfPayload } from './payload.ts'

/** Where the log is looked at, and how. */
interface ArrivalOptions {
  readonly records: RecordStore
  readonly clock: Clock
  /** Called after this process has appended to the log. Has one of these only while a caller waits. */
  readonly listeners: Set<() => void>
}

/** Who waits for an event of a company from position `from` on. */
interface Waiting {
  readonly from: number
  readonly resolve: (position: number) => void
  readonly reject: (error: unknown) => void
}

/** Entries that are read at once. */
const PAGE_ENTRIES = 1_024
/**
 * The least time between two reads that find entries. Without it, a caller that waits costs 20 % more CPU time for each
 * event that other companies write.
 */
const GAP_MS = 100
/** How often the log is looked at while a caller waits. Other processes at shared records call no listener. */
const SHARED_POLL_MS = 500
const OWN_POLL_MS = 60_000

/**
 * Waits for new events of companies. It reads each new entry of the log once for all callers, so that waiting costs
 * little while other companies write. Reads nothing while no caller waits.
 */
export class Arrivals {
  readonly #options: ArrivalOptions
  readonly #waiting = new Map<string, Set<Waiting>>()
  /** The entries before it were looked at for all who wait. */
  #end = 0
  #following: Promise<void> | undefined
  #sleeping: AbortController | undefined
  #hasNews = false
  /** It sleeps at the end of the log until there is news. */
  #isIdle = false
  #isStopped = false

  constructor(options: ArrivalOptions) {
    this.#options = options
  }

  readonly #listener = (): void => {
    this.#hasNews = true
    if (this.#isIdle) this.#sleeping?.abort()
  }

  /**
   * Waits for the first event of a company from position `from` on.
   *
   * @param signal - ends the wait
   * @returns the position of the event, or of the first entry that was not looked at
   */
  async next(company: string, from: number, signal: AbortSignal): Promise<number> {
    let at = from
    // What was looked at for others only.
    while (this.#following !== undefined && at < this.#end) {
      const payloads = await this.#options.records.readPayloads(at, Math.min(PAGE_ENTRIES, this.#end - at))
      // The log was set back.
      if (payloads.length === 0) break
      for (const payload of payloads) {
        if (companyOfPayload(payload) === company) return at
        at += 1
      }
    }
    if (signal.aborted || this.#isStopped) return at
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        signal.removeEventListener('abort', stop)
        this.#forget(company, waiting)
      }
      const waiting: Waiting = {
        from: at,
        resolve: (position) => (settle(), resolve(position)),
        reject: (error) => (settle(), reject(error)),
      }
      const stop = (): void => waiting.resolve(Math.max(at, this.#end))
      signal.addEventListener('abort', stop)
      this.#waiting.set(company, (this.#waiting.get(company) ?? new Set()).add(waiting))
      if (this.#following !== undefined) return
      this.#end = at
      this.#following = this.#follow()
    })
  }

  /** Ends every wait. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { from, resolve } of this.#all()) resolve(Math.max(from, this.#end))
    await this.#following
  }

  #all(): readonly Waiting[] {
    return [...this.#waiting.values()].flatMap((each) => [...each])
  }

  #forget(company: string, waiting: Waiting): void {
    const others = this.#waiting.get(company)
    others?.delete(waiting)
    if (others?.size === 0) this.#waiting.delete(company)
    if (this.#waiting.size === 0) this.#sleeping?.abort()
  }

  /** Reads the log to its end, again and again, until no caller waits. */
  async #follow(): Promise<void> {
    const { records, listeners } = this.#options
    listeners.add(this.#listener)
    try {
      while (this.#waiting.size > 0) {
        this.#hasNews = false
        const payloads = await records.readPayloads(this.#end, PAGE_ENTRIES)
        for (const payload of payloads) {
          for (const { from, resolve } of this.#waiting.get(companyOfPayload(payload) ?? '') ?? [])
            if (from <= this.#end) resolve(this.#end)
          this.#end += 1
        }
        this.#isIdle = payloads.length === 0
        if (!this.#isIdle) await this.#sleep(payloads.length < PAGE_ENTRIES ? GAP_MS : 0)
        else if (!this.#hasNews) await this.#sleep(records.isShared ? SHARED_POLL_MS : OWN_POLL_MS)
      }
    } catch (error) {
      for (const { reject } of this.#all()) reject(error)
    } finally {
      listeners.delete(this.#listener)
      this.#following = undefined
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#waiting.size === 0) return
    this.#sleeping = new AbortController()
    await this.#options.clock.sleep(ms, this.#sleeping.signal).catch(() => undefined)
  }
}
