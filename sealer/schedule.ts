export interface Schedule {
  /** From one to the next at least, ms. 0: each checkpoint, as soon as it is the newest. */
  readonly intervalMs: number
  /** How often to look where nothing tells, ms. */
  readonly pollIntervalMs: number
}

/** ms until an interval after `last` is over; never more than the interval, whatever the clocks say. */
export const msUntilDue = (last: number | undefined, intervalMs: number, now: number): number =>
  last === undefined ? 0 : Math.min(intervalMs, last + intervalMs - now)
