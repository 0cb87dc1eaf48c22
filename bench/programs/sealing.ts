import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { decorateRecords } from '../../adapters/kit/index.ts'
import { openLevelRecords } from '../../adapters/level/index.ts'
import type { RecordStore, Registry, TreeEngine } from '../../core/index.ts'
import { logKeys } from '../../core/log/keys.ts'
import type { CheckpointRecord } from '../../core/log/records.ts'
import { isInRange } from '../../core/store/keys.ts'
import { decodeRecord } from '../../core/store/codec.ts'
import { PoolEngine } from '../../sealer/index.ts'
import { median, quantile } from '../run/case.ts'
import { BATCH_SIZE, fillBacklog, openSealingRegistry } from '../workload/backlog.ts'
import { callForSeconds } from '../workload/concurrency.ts'
import { Stopwatch, timeEngine, timeRecords } from '../workload/observed-stores.ts'
import { createCategories, EvidenceCreator, openBenchRegistry } from '../workload/registry.ts'

/**
 * The steps of `sealing`, each in a process of its own so that its memory can be measured:
 * `sealing fill DIRECTORY COUNT`, `sealing seal DIRECTORY`, `sealing late SECONDS`.
 */

export type SealingMeasurement = Awaited<ReturnType<typeof sealBacklog>>
export type LatenessMeasurement = Awaited<ReturnType<typeof measureLateness>>

const MIB = 2 ** 20
const PROOFS = 1_000
const BARE_ROUNDS = 3
/** Longer than from one batch to the next. */
const PAUSE_MS = 700
/** The mean pause at a trickle. */
const TRICKLE_MS = 100
const IN_FLIGHT = 256

async function sealBacklog(directory: string) {
  const { reads, commits, timed } = timeRecords(await openLevelRecords(join(directory, 'records')))
  const hashing = new Stopwatch()
  const pool = new PoolEngine()
  // The workers start before the measurement. `scaling` shows what their start costs.
  await pool.tiles(new Uint8Array(32 * BATCH_SIZE), 'entries')
  const registry = await openSealingRegistry({ directory, records: timed, engine: timeEngine(pool, hashing) })
  globalThis.gc?.()
  const idleBytes = process.memoryUsage().rss
  reads.ms = commits.ms = 0
  const begin = performance.now()
  await registry.sealNow()
  const totalMs = performance.now() - begin
  const peakAboveIdleMiB = Math.max(0, process.resourceUsage().maxRSS * 1024 - idleBytes) / MIB
  const { sealedSize } = registry.status()
  // Sums over all calls. Stages overlap, so together they can exceed the total.
  const stages = { readMs: reads.ms, hashMs: hashing.ms, commitMs: commits.ms }
  const microsecondsPerProof = await timeProof(registry, sealedSize)
  const bareHashMs = await timeBareHashing(timed, pool, sealedSize)
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

/** The leaf tiles of the same entries, already in memory, through the same engine. */
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

/** Notes when each checkpoint is stored. */
class CheckpointTimes {
  readonly records: RecordStore
  readonly #stored: { readonly size: number; readonly at: number }[] = []

  constructor(records: RecordStore) {
    this.records = decorateRecords(records, {
      commit: async (commit) => {
        const result = await records.commit(commit)
        for (const { key, value } of commit.writes ?? [])
          if (value !== null && isInRange(key, logKeys.checkpoints()))
            this.#stored.push({ size: decodeRecord<CheckpointRecord>({ key, value }).size, at: performance.now() })
        return result
      },
    })
  }

  /** ms from the time at which this event was acknowledged until a checkpoint had it. */
  async latenessOf({ txId, at }: Acknowledged): Promise<number> {
    const [position = Infinity] = await this.records.positionsOf([Buffer.from(txId, 'hex')])
    return Math.max(0, (this.#stored.find(({ size }) => size > position)?.at ?? Infinity) - at)
  }
}

interface Acknowledged {
  readonly txId: string
  readonly at: number
}

/** From the acknowledgement of an event until a stored checkpoint has it: after pauses, at a trickle, at full load. */
async function measureLateness(seconds: number) {
  let times: CheckpointTimes | undefined
  const bench = await openBenchRegistry({ wrap: (records) => (times = new CheckpointTimes(records)).records })
  const creator = new EvidenceCreator(bench)
  await createCategories(bench)
  const latenessDuring = async (width: number, pauseMs: () => number) => {
    const created: Acknowledged[] = []
    await callForSeconds(seconds, width, async () => {
      if (pauseMs() > 0) await delay(pauseMs())
      const { txId } = await creator.createOne()
      created.push({ txId, at: performance.now() })
    })
    await bench.registry.sealNow()
    const late: number[] = []
    for (const each of created) late.push((await times?.latenessOf(each)) ?? 0)
    return { p50Ms: median(late), p99Ms: quantile(late, 0.99), perSecond: created.length / seconds }
  }
  const idle = await latenessDuring(1, () => PAUSE_MS)
  const trickle = await latenessDuring(1, () => Math.random() * 2 * TRICKLE_MS)
  const load = await latenessDuring(IN_FLIGHT, () => 0)
  await bench.close()
  return { idle, trickle, load }
}

const [step, directory = '', count] = process.argv.slice(2)
const steps: Readonly<Record<string, () => Promise<unknown>>> = {
  fill: async () => ({ filled: await fillBacklog(directory, Number(count)) }),
  seal: () => sealBacklog(directory),
  late: () => measureLateness(Number(directory)),
}
console.log(JSON.stringify(await steps[step ?? '']?.()))
