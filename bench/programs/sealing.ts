import { join } from 'node:path'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { OPERATOR, type RecordStore, type Registry, type TreeEngine } from '../../core/index.ts'
import { PoolEngine } from '../../sealer/index.ts'
import { median } from '../run/case.ts'
import { BATCH_SIZE, fillBacklog, openSealingRegistry } from '../workload/backlog.ts'
import { Stopwatch, TimedStore, timeEngine } from '../workload/observed-stores.ts'

/**
 * The steps of `sealing`, each in a process of its own so that its memory can be measured:
 * `sealing fill DIRECTORY COUNT`, `sealing seal DIRECTORY`, `sealing one DIRECTORY`.
 */

export interface SealingMeasurement {
  readonly totalMs: number
  /** Sums over all calls. Stages overlap, so together they can exceed the total. */
  readonly readMs: number
  readonly hashMs: number
  readonly commitMs: number
  readonly batches: number
  readonly peakAboveIdleMiB: number
  readonly microsecondsPerProof: number
  /** The leaf tiles of the same entries, already in memory, through the same engine. */
  readonly bareHashMs: number
}

export interface LatenessMeasurement {
  readonly medianLateMs: number
  readonly worstLateMs: number
}

const MIB = 2 ** 20
const PROOFS = 1_000
const BARE_ROUNDS = 3
const SHORT_WAIT_MS = 100
const SINGLE_EVENTS = 20

async function sealBacklog(directory: string): Promise<SealingMeasurement> {
  const store = new TimedStore(await openLevelRecords(join(directory, 'records')))
  const hashing = new Stopwatch()
  const pool = new PoolEngine()
  // The workers start before the measurement. `scaling` shows what their start costs.
  await pool.tiles(new Uint8Array(32 * BATCH_SIZE), 'entries')
  const registry = await openSealingRegistry({ directory, records: store, engine: timeEngine(pool, hashing) })
  globalThis.gc?.()
  const idleBytes = process.memoryUsage().rss
  store.reads.ms = store.commits.ms = 0
  const begin = performance.now()
  await registry.sealNow()
  const totalMs = performance.now() - begin
  const peakAboveIdleMiB = Math.max(0, process.resourceUsage().maxRSS * 1024 - idleBytes) / MIB
  const { sealedSize } = registry.status()
  const stages = { readMs: store.reads.ms, hashMs: hashing.ms, commitMs: store.commits.ms }
  const microsecondsPerProof = await timeProof(registry, sealedSize)
  const bareHashMs = await timeBareHashing(store, pool, sealedSize)
  await registry.close()
  return {
    totalMs,
    ...stages,
    batches: Math.ceil(sealedSize / BATCH_SIZE),
    peakAboveIdleMiB,
    microsecondsPerProof,
    bareHashMs,
  }
}

/** The median of one inclusion proof at a time, of positions all over the log, each read for the second time. */
async function timeProof({ log }: Registry, size: number): Promise<number> {
  const positions = Array.from({ length: PROOFS }, (_, i) => (i * 7919 * 13) % Math.min(size, 256 * 400))
  for (const position of positions) await log.inclusionProof({ leafIndex: position, treeSize: size })
  const microseconds: number[] = []
  for (const position of positions) {
    const begin = performance.now()
    await log.inclusionProof({ leafIndex: position, treeSize: size })
    microseconds.push((performance.now() - begin) * 1_000)
  }
  return median(microseconds)
}

async function timeBareHashing(records: RecordStore, engine: TreeEngine, size: number): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < BARE_ROUNDS; round++) {
    let ms = 0
    for (let from = 0; from < size; from += BATCH_SIZE) {
      const entries = await records.readLog(from, BATCH_SIZE)
      const begin = performance.now()
      await engine.tiles(entries, 'entries')
      ms += performance.now() - begin
    }
    rounds.push(ms)
  }
  return median(rounds)
}

/** How late a batch of one event is sealed and its checkpoint signed, after the event has reached its maximum age. */
async function sealSingleEvents(directory: string): Promise<LatenessMeasurement> {
  const records = await openLevelRecords(join(directory, 'one'))
  const registry = await openSealingRegistry({ directory, records, maxWaitMs: SHORT_WAIT_MS })
  const scope = { companyId: 'bench', principal: OPERATOR }
  await registry.sourceSystems.create(scope, { name: 'bench' })
  const late: number[] = []
  for (let i = 0; i < SINGLE_EVENTS; i++) {
    const category = { category: { name: 'Category' }, subcategory: { name: 'All' } }
    await registry.evidences.create(scope, { externalId: `one ${i}`, name: 'One', ...category })
    const due = performance.now() + SHORT_WAIT_MS
    while (registry.status().sealedSize < i + 2) await new Promise((resolve) => setTimeout(resolve, 1))
    late.push(performance.now() - due)
  }
  await registry.close()
  return { medianLateMs: median(late), worstLateMs: Math.max(...late) }
}

const [step, directory = '', count] = process.argv.slice(2)
const steps: Readonly<Record<string, () => Promise<unknown>>> = {
  fill: async () => ({ filled: await fillBacklog(directory, Number(count)) }),
  seal: () => sealBacklog(directory),
  one: () => sealSingleEvents(directory),
}
console.log(JSON.stringify(await steps[step ?? '']?.()))
