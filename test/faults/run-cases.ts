import { availableParallelism } from 'node:os'
import { textOf, type FaultFailure, type FaultRun } from './part.ts'

/** Cases wait for disks, for blocks of the ledger and for stores that are opened again. */
const WAITING_CASES = 2

/**
 * Runs the cases of a part, some more at the same time than the machine has cores. A case that throws is a failure with
 * its seed.
 */
export async function runCases<T>(
  { count, seed, progress }: FaultRun,
  runCase: (seed: number) => Promise<T>,
): Promise<{ readonly results: readonly T[]; readonly failures: readonly FaultFailure[] }> {
  const results: T[] = []
  const failures: FaultFailure[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const own = seed + next++
      try {
        results.push(await runCase(own))
      } catch (error) {
        failures.push({ seed: own, message: textOf(error) })
      }
      progress(results.length + failures.length)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() + WAITING_CASES }, lane))
  return { results, failures: failures.toSorted((a, b) => a.seed - b.seed) }
}
