import { fsck as checkStore } from '../../core/ops/index.ts'
import { formatCell, formatNumber, roundFigure, type BenchCase } from '../run/case.ts'
import { ownMemoryMiB } from '../run/memory.ts'
import { itemAt } from '../workload/concurrency.ts'
import { createCategories, EvidenceCreator, openBenchRegistry, type BenchRegistry } from '../workload/registry.ts'

const BULK_SIZE = 1_000
/** Progress is reported for each page; the memory is read at one in so many. */
const MEMORY_EVERY = 500

/**
 * What a check of everything costs in a small and in a large registry: time, and memory of the process without the
 * files that it maps.
 *
 * Fair because all sizes are checked in one process over one store, which is idle meanwhile. So the memory includes
 * that of the open registry.
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
  async run({ quick, progress }) {
    const sizes = quick ? [1_000, 2_000] : [10_000, 100_000, 1_000_000]
    const bench = await openBenchRegistry()
    try {
      const [creator, categories] = [new EvidenceCreator(bench), await createCategories(bench)]
      const rows = []
      for (const size of sizes) {
        while (creator.count < size) {
          await creator.createMany(itemAt(categories, creator.count / BULK_SIZE), BULK_SIZE)
          if (creator.count % 10_000 === 0) progress(`${creator.count} evidences`)
        }
        await bench.registry.sealNow()
        rows.push({ evidences: size, ...(await measure(bench, progress)) })
      }
      return { settings: { store: 'LevelDB' }, rows, findings: {} }
    } finally {
      await bench.close()
    }
  },
  conclude(result) {
    const size = Math.max(...result.rows.map(({ evidences }) => Number(evidences)))
    const figure = (get: string): string => formatCell(result, { where: { evidences: size }, get })
    return `${formatNumber(size)} evidences are checked in ${figure('seconds')} s with ${figure('memoryMiB')} MiB.`
  },
}

async function measure({ records }: BenchRegistry, progress: (text: string) => void) {
  const [begin, cpu] = [performance.now(), process.cpuUsage()]
  let [memoryMiB, calls] = [0, 0]
  const { differences, done } = await checkStore(
    { records },
    {
      onProgress({ stage, done: count }) {
        if (calls++ % MEMORY_EVERY !== 0) return
        memoryMiB = Math.max(memoryMiB, ownMemoryMiB())
        progress(`check of ${stage}: ${count}`)
      },
    },
  )
  if (differences > 0) throw new Error(`${differences} differences`)
  const { user, system } = process.cpuUsage(cpu)
  return {
    seconds: roundFigure((performance.now() - begin) / 1_000),
    cpuMicroseconds: roundFigure((user + system) / done.evidences),
    memoryMiB: roundFigure(memoryMiB),
  }
}
