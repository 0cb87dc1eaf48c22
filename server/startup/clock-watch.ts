import type { Logger } from '../../core/index.ts'

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

/**
 * Notices a wrong clock, because events commit to its time. While the server runs, the clock is compared with the
 * monotonic one, and with the time in each token of a timestamp authority that is not ours. How old the newest record
 * is says nothing.
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

  /** Compares with the monotonic clock from now on. It does not keep the process alive. */
  start(signal: AbortSignal): void {
    const timer = setInterval(() => this.tick(), TICK_MS).unref()
    signal.addEventListener('abort', () => clearInterval(timer))
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

  /** Compares with the time of another clock, ms since 1970, that was read just now. `name`: of that clock. */
  note(name: string, time: number): void {
    const aheadMs = this.#now() - time
    if (Math.abs(aheadMs) > MAX_APART_MS) {
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
      this.#jumpedMs = 0
    }
  }
}

const secondsOf = (ms: number): number => Math.round(ms / 1_000)
