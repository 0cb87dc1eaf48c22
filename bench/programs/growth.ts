import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { cpu, measureOwnRate } from '../run/cpu-time.ts'
import { ownMemoryMiB } from '../run/memory.ts'
import { itemAt, secondsInFlight } from '../workload/concurrency.ts'
import { createCategories, EvidenceCreator, openBenchRegistry, type CategoryIds } from '../workload/registry.ts'

/**
 * The steps of `growth`, each in a process of its own so that start and memory can be measured:
 * `growth fill DIRECTORY SIZE` creates evidences in bulk, `growth measure DIRECTORY SIZE` measures each operation.
 */

export type FillMeasurement = Awaited<ReturnType<typeof fill>>
/** For each call, `Cpu` is its CPU time in µs, with that of LevelDB's thread. */
export type GrowthMeasurement = Awaited<ReturnType<typeof measure>>

const BULK_SIZE = 1_000
const IN_FLIGHT = 256
/** Creates for each size. */
const CREATES = 5_000
const READS = 5_000
const PAGES = 200

async function fill(directory: string, size: number) {
  const bench = await openBenchRegistry({ directory })
  const { count } = await bench.registry.evidences.list(bench.scope, { limit: 1 })
  const creator = new EvidenceCreator(bench, count)
  const categories = count === 0 ? await createCategories(bench) : await existingCategories(bench)
  const [begin, before] = [performance.now(), process.cpuUsage()]
  while (creator.count < size) {
    const category = itemAt(categories, Math.floor(creator.count / BULK_SIZE))
    await creator.createMany(category, Math.min(BULK_SIZE, size - creator.count))
    if (creator.count % 100_000 === 0) console.error(`growth: ${creator.count} evidences`)
  }
  await bench.registry.sealNow()
  const { user, system } = process.cpuUsage(before)
  const created = creator.count - count
  await bench.close()
  return { bulkCpu: (user + system) / created, bulkPerSecond: (created * 1_000) / (performance.now() - begin) }
}

async function existingCategories({ registry, scope }: Bench): Promise<readonly CategoryIds[]> {
  const categories = await registry.categories.list(scope)
  return categories.flatMap(({ id, subcategories: [sub] }) => (sub === undefined ? [] : [[id, sub.id] as const]))
}

type Bench = Awaited<ReturnType<typeof openBenchRegistry>>

async function measure(directory: string, size: number) {
  const begin = performance.now()
  const bench = await openBenchRegistry({ directory })
  const startMs = performance.now() - begin
  const startMiB = ownMemoryMiB()
  const { registry, scope } = bench
  const { evidences, proofs } = registry
  const random = (from = 0): number => from + Math.floor(Math.random() * (size - from))
  const gets = (count: number) => secondsInFlight(count, 16, () => evidences.get(scope, `item ${random()}`))
  do await gets(Math.max(READS, size / 20))
  while (await hasMerged())
  const bytes = await bytesIn(directory)
  const get = await costOf(READS, 16, () => evidences.get(scope, `item ${random()}`))
  const list = await costOf(PAGES, 1, () => evidences.list(scope, { limit: 100 }))
  // A number without its last digit is the beginning of eleven numbers.
  const word = (): string => String(random(size / 10)).slice(0, -1)
  const search = await costOf(PAGES, 1, () => evidences.list(scope, { words: word(), limit: 100 }))
  const proof = await costOf(READS, 16, () => proofs.evidence({ evidenceId: `item ${random()}` }))
  const { count } = await evidences.list(scope, { limit: 1 })
  const creator = new EvidenceCreator(bench, count)
  const create = await costOf(CREATES, IN_FLIGHT, () => creator.createOne())
  const loadedMiB = ownMemoryMiB()
  await bench.close()
  return {
    microsecondsPerCreate: 1e6 / create.perSecond,
    createCpu: cpu(create),
    microsecondsPerGet: 1e6 / get.perSecond,
    getCpu: cpu(get),
    microsecondsPerListPage: 1e6 / list.perSecond,
    listCpu: cpu(list),
    searchCpu: cpu(search),
    proofCpu: cpu(proof),
    bytesPerEvidence: bytes / count,
    startMs,
    startMiB,
    loadedMiB,
  }
}

/**
 * Waits until LevelDB's thread rests, and returns whether it had work: its time would count for the operations. It
 * merges what was filled, and each table in which some hundred look-ups found nothing.
 */
async function hasMerged(): Promise<boolean> {
  for (let waits = 0; ; waits++) {
    const before = process.cpuUsage()
    await setTimeout(2_000)
    const { user, system } = process.cpuUsage(before)
    if (user + system < 100_000) return waits > 0
  }
}

const costOf = (count: number, width: number, work: () => Promise<unknown>) =>
  measureOwnRate(async () => ({ completed: count, seconds: await secondsInFlight(count, width, work) }))

async function bytesIn(directory: string): Promise<number> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => stat(join(file.parentPath, file.name)).catch(() => undefined)),
  )
  return sizes.reduce((sum, found) => sum + (found?.size ?? 0), 0)
}

const STEPS: Readonly<Record<string, (directory: string, size: number) => Promise<object>>> = { fill, measure }
const [step = '', directory = '', size] = process.argv.slice(2)
console.log(JSON.stringify(await STEPS[step]?.(directory, Number(size))))
