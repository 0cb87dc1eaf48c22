import { formatFinding, roundFigure, roundFigures, type BenchCase } from '../run/case.ts'
import { runChild } from '../run/child.ts'
import { barsOf } from '../run/picture.ts'
import type { FillMeasurement, GrowthMeasurement } from '../programs/growth.ts'
import type { Row } from '../run/row.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'

const SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000] as const
/** Ten million evidences take 8 GB of disk, twice as much while they are written, and more than half an hour. */
const LARGEST = 1_000_000
const LARGEST_QUICK = 10_000
const FILL_TIMEOUT_MS = 6 * 3_600_000

/**
 * What each operation costs in a small and in a large registry, and its disk, start and memory.
 *
 * Fair because all sizes are one store, in which everything has been sealed. Each is opened by a new process, which
 * reads evidences at random from the whole registry. The ratios are of CPU times, which other programs disturb less.
 */
export const growth: BenchCase = {
  name: 'growth',
  measures: 'the cost of each operation, disk, start and memory as the registry grows (--evidences 10000000)',
  columns: {
    evidences: 'evidences',
    microsecondsPerCreate: 'create, µs',
    createCpu: 'create, CPU µs',
    bulkCpu: 'bulk create, CPU µs',
    bulkPerSecond: 'bulk creates/s',
    microsecondsPerGet: 'get, µs',
    getCpu: 'get, CPU µs',
    microsecondsPerListPage: 'list page of 100, µs',
    listCpu: 'list, CPU µs',
    searchCpu: 'word of 11, CPU µs',
    proofCpu: 'proof, CPU µs',
    bytesPerEvidence: 'disk, bytes each',
    startMs: 'start, ms',
    startMiB: 'memory at start, MiB',
    loadedMiB: 'memory after the load, MiB',
  },
  picture: {
    title: 'Cost as the registry grows, by evidences in it',
    unit: 'µs',
    bars: barsOf(({ evidences }) => Number(evidences).toLocaleString('en'), {
      microsecondsPerCreate: 'create',
      microsecondsPerGet: 'get',
    }),
  },
  async run({ quick, evidences, progress }) {
    const largest = quick ? LARGEST_QUICK : (evidences ?? LARGEST)
    const sizes = SIZES.filter((size) => size <= largest)
    const rows = await inTemporaryFolder(async (directory) => {
      const measured: Row[] = []
      for (const size of sizes) {
        const [filled, costs] = [
          await growthStep<FillMeasurement>('fill', directory, size),
          await growthStep<GrowthMeasurement>('measure', directory, size),
        ]
        measured.push({ evidences: size, ...roundFigures({ ...costs, ...filled }) })
        progress(`${size} evidences: ${JSON.stringify(measured.at(-1))}`)
      }
      return measured
    })
    const ratioOf = (name: string): number => roundFigure(Number(rows.at(-1)?.[name]) / Number(rows[0]?.[name]))
    return {
      settings: { store: 'LevelDB, synced' },
      rows,
      findings: { createCostRatio: ratioOf('createCpu'), readCostRatio: ratioOf('getCpu') },
    }
  },
  conclude: (result) =>
    `In the largest registry a create costs ${formatFinding(result, 'createCostRatio')} times and a read ` +
    `${formatFinding(result, 'readCostRatio')} times what it costs with 1,000 evidences.`,
}

/** Runs a step of `programs/growth.ts` over the registry in a folder. */
export const growthStep = <T>(name: 'fill' | 'measure', directory: string, size: number): Promise<T> =>
  runChild<T>('./programs/growth.ts', [name, directory, String(size)], FILL_TIMEOUT_MS)
