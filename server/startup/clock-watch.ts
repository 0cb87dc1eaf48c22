import type { Logger } from '../../core/index.ts'

/** What another clock says. */
interface OutsideTime {
  /** ms since 1970. */
  readonly time: number
  /** It may be later by now: a chain can stand still. */
  readonly isLeast?: boolean
}

/** A part that knows a time that is not this machine's. */
interface TimedPart {
  readTime(): Promise<OutsideTime>
}

const isTimed = (part: object | undefined): part is TimedPart => part !== undefined && 'readTime' in part

export interface ClockWatchOptions {
  readonly logger: Logger
  /** ms since 1970. Default: the machine's. */
  readonly now?: () => number
  /** ms since any time; never set. Default: the machine's. */
  readonly monotonicMs?: () => number
}

const MAX_JUMP_MS = 60_000
const MAX_APART_MS = 300_000
const TICK_MS = 10_000
const OUTSIDE_INTERVAL_MS = 3_600_000

/**
 * Notices a wrong clock, because events commit to its time. While the server runs, the clock is compared with the
 * monotonic one, and with clocks that are not ours if there are any. How old the newest record is says nothing.
 */
export class ClockWatch {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #monotonicMs: () => number
  /** The clock without the time that has passed. */
  #offset: number
  /** By how much the clock was set since the start, if that was much. */
  #jumpedMs = 0
  readonly #apart = new Map<string, string>()

  constructor({ logger, now = Date.now, monotonicMs = () => performance.now() }: ClockWatchOptions) {
    this.#logger = logger
    this.#now = now
    this.#monotonicMs = monotonicMs
    this.#offset = now() - monotonicMs()
  }

  /** What is wrong, `undefined` if nothing is known to be. */
  get problem(): string | undefined {
    const [apart] = this.#apart.values()
    if (apart !== undefined || Math.abs(this.#jumpedMs) <= MAX_JUMP_MS) return apart
    return `The clock was set by ${secondsOf(this.#jumpedMs)} s while the server ran`
  }

  /** Compares the clocks from now on. It does not keep the process alive. */
  start(parts: readonly (object | undefined)[], signal: AbortSignal): void {
    const timed = parts.filter((part) => isTimed(part))
    const compare = (): unknown => Promise.all(timed.map((part) => this.#read(part)))
    const timers = [setInterval(() => this.tick(), TICK_MS), setInterval(compare, OUTSIDE_INTERVAL_MS)]
    for (const timer of timers) {
      timer.unref()
      signal.addEventListener('abort', () => clearInterval(timer))
    }
    compare()
  }

  /** Compares with the monotonic clock. */
  tick(): void {
    const offset = this.#now() - this.#monotonicMs()
    const jumpMs = offset - this.#offset
    this.#offset = offset
    if (Math.abs(jumpMs) <= MAX_JUMP_MS) return
    this.#jumpedMs += jumpMs
    this.#logger.warn({ seconds: secondsOf(jumpMs) }, 'the clock was set while the server runs: check it')
  }

  /** Compares with a time that was read elsewhere just now. `name`: of that clock. */
  note(name: string, { time, isLeast = false }: OutsideTime): void {
    const aheadMs = this.#now() - time
    if (aheadMs < -MAX_APART_MS || (aheadMs > MAX_APART_MS && !isLeast)) {
      const where = aheadMs > 0 ? 'ahead of' : 'behind'
      const how = `The clock is ${Math.abs(secondsOf(aheadMs))} s ${where} that of ${name}`
      if (!this.#apart.has(name))
        this.#logger.warn(
          { seconds: secondsOf(aheadMs), other: name },
          'the clock differs from another one: check both',
        )
      this.#apart.set(name, how)
    } else {
      this.#apart.delete(name)
      if (!isLeast) this.#jumpedMs = 0
    }
  }

  /** What cannot be reached says nothing, and is noticed elsewhere. */
  async #read(part: TimedPart): Promise<void> {
    const read = await part.readTime().catch(() => undefined)
    if (read !== undefined) this.note(read.isLeast === true ? 'the chain' : 'the object store', read)
  }
}

const secondsOf = (ms: number): number => Math.round(ms / 1_000)
