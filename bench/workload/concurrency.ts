import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Calls `work` with 0 to `count` - 1, with `width` calls in flight, and returns the seconds it took.
 *
 * @example await secondsInFlight(1_000, 16, (i) => registry.evidences.get(scope, `item ${i}`))
 */
export async function secondsInFlight(
  count: number,
  width: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const begin = performance.now()
  let next = 0
  const runLane = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: width }, runLane))
  return (performance.now() - begin) / 1_000
}

/** Calls `work` with `width` calls in flight, as long as `seconds` have not passed, and waits for the last calls. */
export async function callForSeconds(seconds: number, width: number, work: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + seconds * 1_000
  const runLane = async (): Promise<void> => {
    while (performance.now() < end) await work()
  }
  await Promise.all(Array.from({ length: width }, runLane))
}

/** Calls `work` in a new folder below TMPDIR, which must be on a real disk. Removes the folder afterwards. */
export async function inTemporaryFolder<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

/**
 * Returns the item at `index`, counting on from the beginning after the last one. Throws `RangeError` if there are
 * none.
 */
export function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length]
  if (item === undefined) throw new RangeError('there are no items to choose from')
  return item
}
