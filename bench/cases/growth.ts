import { formatFinding, median, roundFigure, type BenchCase } from '../run/case.ts'
import { barsOf } from '../run/picture.ts'
import { itemAt, secondsInFlight } from '../workload/concurrency.ts'
import {
  createCategories,
  EvidenceCreator,
  openBenchRegistry,
  type BenchRegistry,
  type CategoryIds,
} from '../workload/registry.ts'

const IN_FLIGHT = 256
const BULK_SIZE = 1_000
/** Creates timed at each size, in this many parts. The median part counts. */
const TIMED_CREATES = 5_000
const PARTS = 5
const READS = 2_000
const PAGES = 100

/**
 * What a create, a read and a page of the list cost in a small and in a large registry, in one run.
 *
 * Fair because all sizes are measured in one process and one store, each after everything has been sealed. Reads are
 * random over the whole registry.
 */
export const growth: BenchCase = {
  name: 'growth',
  measures: 'the cost of a create, a read and a page of the list as the registry grows',
  columns: {
    evidences: 'evidences',
    microsecondsPerCreate: 'create, µs',
    createsPerSecond: 'creates/s',
    microsecondsPerGet: 'get, µs',
    microsecondsPerListPage: 'list page of 100, µs',
  },
  picture: {
    title: 'Cost as the registry grows, by evidences in it',
    unit: 'µs',
    bars: barsOf(({ evidences }) => Number(evidences).toLocaleString('en'), {
      microsecondsPerCreate: 'create',
      microsecondsPerGet: 'get',
    }),
  },
  async run({ quick, progress }) {
    const sizes = quick ? [1_000, 10_000] : [1_000, 100_000, 1_000_000]
    const bench = await openBenchRegistry()
    try {
      const growing = {
        bench,
        creator: new EvidenceCreator(bench),
        categories: await createCategories(bench),
        progress,
      }
      const rows = []
      for (const size of sizes) rows.push({ evidences: size, ...(await measureAt(growing, size)) })
      const [small, large] = [rows[0], rows.at(-1)]
      const findings =
        small && large
          ? {
              createCostRatio: roundFigure(large.microsecondsPerCreate / small.microsecondsPerCreate),
              readCostRatio: roundFigure(large.microsecondsPerGet / small.microsecondsPerGet),
            }
          : {}
      const settings = { store: 'LevelDB, synced', inFlight: IN_FLIGHT, timedCreates: TIMED_CREATES, parts: PARTS }
      return { settings, rows, findings }
    } finally {
      await bench.close()
    }
  },
  conclude: (result) =>
    `In the largest registry a create costs ${formatFinding(result, 'createCostRatio')} times and a read ` +
    `${formatFinding(result, 'readCostRatio')} times what it costs with 1,000 evidences.`,
}

interface GrowingRegistry {
  readonly bench: BenchRegistry
  readonly creator: EvidenceCreator
  readonly categories: readonly CategoryIds[]
  readonly progress: (text: string) => void
}

async function fillTo(size: number, { creator, categories, progress }: GrowingRegistry): Promise<void> {
  while (creator.count < size) {
    const category = itemAt(categories, Math.floor(creator.count / BULK_SIZE))
    await creator.createMany(category, Math.min(BULK_SIZE, size - creator.count))
    if (creator.count % 10_000 === 0) progress(`${creator.count} evidences`)
  }
}

async function measureAt(growing: GrowingRegistry, size: number) {
  const { registry, scope } = growing.bench
  await fillTo(size, growing)
  // Sealed first, so that no size is measured while the backlog of its fill is sealed.
  await registry.sealNow()
  const seconds: number[] = []
  for (let part = 0; part < PARTS; part++) {
    seconds.push(await secondsInFlight(TIMED_CREATES / PARTS, IN_FLIGHT, () => growing.creator.createOne()))
    growing.progress(`${size} evidences, creates ${part + 1} of ${PARTS}`)
  }
  const getRandom = () => registry.evidences.get(scope, `item ${Math.floor(Math.random() * size)}`)
  const getSeconds = await secondsInFlight(READS, 16, getRandom)
  const listSeconds = await secondsInFlight(PAGES, 1, () => registry.evidences.list(scope, { limit: 100 }))
  return {
    microsecondsPerCreate: roundFigure((median(seconds) / (TIMED_CREATES / PARTS)) * 1e6),
    createsPerSecond: roundFigure(TIMED_CREATES / PARTS / median(seconds)),
    microsecondsPerGet: roundFigure((getSeconds / READS) * 1e6),
    microsecondsPerListPage: roundFigure((listSeconds / PAGES) * 1e6),
  }
}
