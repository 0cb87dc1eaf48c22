import { openEmbeddedCreator } from '../compare/library-adapter.ts'
import type { CreatesRequest, Rate } from '../compare/scenarios.ts'
import { callForSeconds } from '../workload/concurrency.ts'

/**
 * `embedded-creates DIST DIRECTORY`: opens a registry in an empty folder with the library in this build, and creates
 * evidences each time that its parent process sends a `CreatesRequest`. Sends back the `Rate`.
 */

const [dist = '', directory = ''] = process.argv.slice(2)
const creator = await openEmbeddedCreator(dist, directory)
let created = 0

function create(size: number): Promise<unknown> {
  const from = created
  created += size
  return size === 1 ? creator.createOne(from) : creator.createMany(from, size)
}

async function measure({ size, width, seconds }: CreatesRequest): Promise<Rate> {
  const [createdBefore, cpuBefore, begin] = [created, process.cpuUsage(), performance.now()]
  await callForSeconds(seconds, width, () => create(size))
  const elapsedMs = performance.now() - begin
  const { user, system } = process.cpuUsage(cpuBefore)
  const count = created - createdBefore
  return { perSecond: (count * 1_000) / elapsedMs, cpuMicroseconds: (user + system) / count }
}

process.on('message', (request: CreatesRequest) => void measure(request).then((rate) => process.send?.(rate)))
process.once('disconnect', () => process.exit())
process.send?.('ready')
