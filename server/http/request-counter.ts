/** Counts requests, possibly for several servers together. */
export interface RequestCounter {
  /**
   * Counts one more request of a sender.
   *
   * @returns the number of its requests in its current window, and the time until that window ends
   */
  countRequest(sender: string, windowMs: number): Promise<{ readonly requests: number; readonly resetsInMs: number }>
}

interface Window {
  requests: number
  readonly endsAtMs: number
}

/**
 * Counts in memory. A sender's window starts with its first request. Keeps at most `maxSenders` windows and drops the
 * oldest, so that many addresses cannot fill the memory.
 */
export class WindowCounter implements RequestCounter {
  /** By sender, in the order in which the windows end. */
  readonly #windows = new Map<string, Window>()
  readonly #maxSenders: number
  readonly #nowMs: () => number

  constructor({ maxSenders = 100_000, nowMs = () => performance.now() } = {}) {
    this.#maxSenders = maxSenders
    this.#nowMs = nowMs
  }

  /** How many windows it holds. */
  get size(): number {
    return this.#windows.size
  }

  async countRequest(sender: string, windowMs: number): Promise<{ requests: number; resetsInMs: number }> {
    const nowMs = this.#nowMs()
    this.#dropEnded(nowMs)
    const window = this.#windows.get(sender) ?? this.#open(sender, nowMs + windowMs)
    window.requests++
    return { requests: window.requests, resetsInMs: window.endsAtMs - nowMs }
  }

  #dropEnded(nowMs: number): void {
    for (const [sender, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs) return
      this.#windows.delete(sender)
    }
  }

  #open(sender: string, endsAtMs: number): Window {
    const [oldest] = this.#windows.keys()
    if (oldest !== undefined && this.#windows.size >= this.#maxSenders) this.#windows.delete(oldest)
    const window = { requests: 0, endsAtMs }
    this.#windows.set(sender, window)
    return window
  }
}
