import type { TestContext } from 'node:test'

/**
 * Stops the clock of all that measures durations, so that on a slow machine nothing is due early.
 *
 * @returns lets time pass, in ms
 */
export function stopClock(t: TestContext): (ms: number) => void {
  // Whole milliseconds: the difference of two fractions can be less than what was added.
  let nowMs = Math.ceil(performance.now())
  t.mock.method(performance, 'now', () => nowMs)
  return (ms) => {
    nowMs += ms
  }
}
