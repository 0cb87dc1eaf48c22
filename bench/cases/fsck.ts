import { formatCell, formatNumber, roundFigures, type BenchCase } from '../run/case.ts'
import type { CheckMeasurement } from '../programs/growth.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { step } from './growth.ts'

/**
 * What a check of everything costs in a small and in a large registry: time, and memory of the process without the
 * files that it maps.
 *
 * Fair because all sizes are one store, and each is checked by a new process with the registry open and idle.
 */
export const fsck: BenchCase = {
  name: 'fsck',
  measures: 'the time and the memory of a check of everything as the registry grows',
  columns: {
    evidences: 'evidences',
    seconds: 'time, s',
    cpuMicroseconds: 'CPU time for each, µs',
    memoryMiB: 'memory, MiB',
  },
  run: ({ quick, progress }) =>
    inTemporaryFolder(async (directory) => {
      const rows = []
      for (const size of quick ? [1_000, 2_000] : [10_000, 100_000, 1_000_000]) {
        await step('fill', directory, size)
        progress(`${size} evidences`)
        rows.push({ evidences: size, ...roundFigures(await step<CheckMeasurement>('check', directory, size)) })
      }
      return { settings: { store: 'LevelDB' }, rows, findings: {} }
    }),
  conclude(result) {
    const size = Math.max(...result.rows.map(({ evidences }) => Number(evidences)))
    const figure = (get: string): string => formatCell(result, { where: { evidences: size }, get })
    return `${formatNumber(size)} evidences are checked in ${figure('seconds')} s with ${figure('memoryMiB')} MiB.`
  },
}
