import { median, shown, type Bench, type BenchContext } from '../run/case.ts'
import {
  evidenceOf,
  inFlight,
  makePlaces,
  openBenchRegistry,
  placeOf,
  type BenchRegistry,
} from '../workload/registry.ts'

const IN_FLIGHT = 256
const BATCH = 1_000
/** Creates that are timed at each size, in so many parts: the median part is quoted. */
const TIMED = 5_000
const PARTS = 5

/** What creating, reading and listing cost in a small registry and in a large one, in one run. */
export const growth: Bench = {
  name: 'growth',
  about: 'cost of a create, a read and a page of the list as the registry grows',
  async run(context) {
    const sizes = context.quick ? [1_000, 10_000] : [1_000, 100_000, 1_000_000]
    const bench = await openBenchRegistry()
    try {
      const places = await makePlaces(bench)
      const rows = []
      for (const size of sizes) rows.push({ evidences: size, ...(await measureAt(bench, places, size, context)) })
      const [small, large] = [rows[0], rows.at(-1)]
      const findings =
        small && large
          ? {
              createCostRatio: shown(large.createMicros / small.createMicros),
              readCostRatio: shown(large.getMicros / small.getMicros),
            }
          : {}
      return {
        settings: { store: 'LevelDB, synced', inFlight: IN_FLIGHT, timedCreates: TIMED, parts: PARTS },
        rows,
        findings,
      }
    } finally {
      await bench.close()
    }
  },
}

let created = 0

async function measureAt(
  bench: BenchRegistry,
  places: readonly [string, string][],
  size: number,
  { progress }: BenchContext,
) {
  const { registry, scope } = bench
  while (created < size) {
    const place = places[Math.floor(created / BATCH) % places.length] as [string, string]
    const count = Math.min(BATCH, size - created)
    await registry.evidences.createIn(
      scope,
      ...place,
      Array.from({ length: count }, (_, i) => evidenceOf(created + i)),
    )
    created += count
    if (created % 10_000 === 0) progress(`${created} evidences`)
  }
  // Sealed first, so that both sizes are measured beside the same background.
  await registry.sealNow()
  const seconds: number[] = []
  for (let part = 0; part < PARTS; part++) {
    seconds.push(await inFlight(TIMED / PARTS, IN_FLIGHT, () => createNext(bench)))
    progress(`${size} evidences, creates ${part + 1}/${PARTS}`)
  }
  const reads = 2_000
  const read = await inFlight(reads, 16, () =>
    registry.evidences.get(scope, `item ${Math.floor(Math.random() * size)}`),
  )
  const pages = 100
  const listed = await inFlight(pages, 1, () => registry.evidences.list(scope, { len: 100 }))
  return {
    createMicros: shown((median(seconds) / (TIMED / PARTS)) * 1e6),
    createsPerSecond: shown(TIMED / PARTS / median(seconds)),
    getMicros: shown((read / reads) * 1e6),
    listPageMicros: shown((listed / pages) * 1e6),
  }
}

async function createNext({ registry, scope }: BenchRegistry): Promise<void> {
  const index = created++
  await registry.evidences.create(scope, { ...placeOf(index), ...evidenceOf(index) })
}
