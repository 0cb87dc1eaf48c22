import type { TestContext } from 'node:test'

/** Counts the turns of the event loop until the test ends. Returns a function that says how many there were. */
export function countTurns(t: TestContext): () => number {
  let turns = 0
  const count = (): void => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  t.after(() => clearImmediate(next))
  return () => turns
}
