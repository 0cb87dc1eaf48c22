import type { Rate, Rates } from '../compare/scenarios.ts'
import { openEmbeddedCreator } from '../compare/library-adapter.ts'
import { inTemporaryFolder, secondsInFlight } from '../workload/concurrency.ts'

/**
 * `embedded-creates DIST SCALE`: creates evidences with the library in this build, single and in batches, and writes
 * the rates as JSON. `SCALE` multiplies the number of creates.
 */

const WARM_UP = 5_000
const WIDTHS = [
  { width: 1, count: 500 },
  { width: 16, count: 3_000 },
  { width: 256, count: 8_000 },
] as const
const BATCH = 1_000
const BATCHES = 8

const [dist = '', scale = '1'] = process.argv.slice(2)

/** Measures work that creates `count` evidences and takes the returned seconds. */
async function measureRate(count: number, work: () => Promise<number>): Promise<Rate> {
  const before = process.cpuUsage()
  const seconds = await work()
  const { user, system } = process.cpuUsage(before)
  return { perSecond: count / seconds, cpuMicroseconds: (user + system) / count }
}

async function measure(directory: string): Promise<Rates> {
  const creator = await openEmbeddedCreator(dist, directory)
  let created = 0
  const createOne = (): Promise<unknown> => creator.createOne(created++)
  const createBatch = (): Promise<unknown> => {
    created += BATCH
    return creator.createBatch(created - BATCH, BATCH)
  }
  await secondsInFlight(WARM_UP * Number(scale), 256, createOne)
  const rates: Record<string, Rate> = {}
  for (const { width, count } of WIDTHS) {
    const total = count * Number(scale)
    rates[`${width} in flight`] = await measureRate(total, () => secondsInFlight(total, width, createOne))
  }
  rates[`batches of ${BATCH}`] = await measureRate(BATCHES * BATCH, () => secondsInFlight(BATCHES, 1, createBatch))
  await creator.close()
  return rates
}

console.log(JSON.stringify(await inTemporaryFolder(measure)))
