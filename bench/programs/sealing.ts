import { randomBytes } from 'node:crypto'
import { FileSignedHead, openLocalBlobs } from '../../adapters/files/index.ts'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { OPERATOR, openRegistry, type RecordStore, type Registry, type TreeEngine } from '../../core/index.ts'
import { createSealer, PoolEngine } from '../../sealer/index.ts'
import { median } from '../run/case.ts'
import { RecordingStore } from '../peers/bare-creates.ts'
import { join } from 'node:path'

/** The steps of `sealing`, each in a process of its own so that its memory can be told: `fill`, `seal`, `one`. */

export const BATCH = 65_536

export interface Sealed {
  readonly totalMs: number
  /** Sums; stages overlap, so together they may be more than the total. */
  readonly readMs: number
  readonly hashMs: number
  readonly commitMs: number
  readonly batches: number
  readonly peakAboveIdleMiB: number
  readonly proofMicros: number
  /** The same entries through the same engine, already in memory: the leaf tiles of each batch. */
  readonly bareHashMs: number
}

const MIB = 2 ** 20

/** Adds up how long the promises of one kind took. */
class Stage {
  ms = 0

  async time<T>(work: Promise<T>): Promise<T> {
    const begun = performance.now()
    try {
      return await work
    } finally {
      this.ms += performance.now() - begun
    }
  }
}

class TimedStore extends RecordingStore {
  readonly reads = new Stage()
  readonly commits = new Stage()

  override commit(...args: Parameters<RecordStore['commit']>) {
    return this.commits.time(super.commit(...args))
  }

  override readLog(from: number, count: number) {
    return this.reads.time(super.readLog(from, count))
  }
}

function timed(engine: TreeEngine, stage: Stage): TreeEngine {
  return {
    tiles: (...args) => stage.time(engine.tiles(...args)),
    close: () => engine.close(),
  }
}

async function open(directory: string, records: RecordStore, engine: TreeEngine, maxWaitMs: number): Promise<Registry> {
  return openRegistry({
    records,
    blobs: await openLocalBlobs(join(directory, 'blobs')),
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    secret: new Uint8Array(32).fill(1),
    sealer: createSealer({ engine, maxWaitMs, maxLeaves: BATCH }),
  })
}

const HOUR_MS = 3_600_000

/** Logs so many entries, in the store of a registry, and seals none. */
async function fill(directory: string, count: number): Promise<void> {
  const records = await openLevelRecords(join(directory, 'records'))
  const registry = await open(directory, records, new PoolEngine(), HOUR_MS)
  for (let left = count; left > 0; left -= BATCH)
    await records.commit({ append: new Uint8Array(randomBytes(32 * Math.min(left, BATCH))) })
  await registry.close()
}

async function seal(directory: string): Promise<Sealed> {
  const store = new TimedStore(await openLevelRecords(join(directory, 'records')))
  const hashing = new Stage()
  const pool = new PoolEngine()
  // Workers start before the clock does; `scaling` shows what a start costs.
  await pool.tiles(new Uint8Array(32 * BATCH), 'entries')
  const registry = await open(directory, store, timed(pool, hashing), HOUR_MS)
  globalThis.gc?.()
  const idle = process.memoryUsage().rss
  store.reads.ms = store.commits.ms = 0
  const begun = performance.now()
  await registry.sealNow()
  const totalMs = performance.now() - begun
  const peakAboveIdleMiB = Math.max(0, process.resourceUsage().maxRSS * 1024 - idle) / MIB
  const { sealedSize } = registry.status()
  const [readMs, hashMs, commitMs] = [store.reads.ms, hashing.ms, store.commits.ms]
  const proofMicros = await warmProof(registry, sealedSize)
  const bareHashMs = await bareHash(store, pool, sealedSize)
  await registry.close()
  return {
    totalMs,
    readMs,
    hashMs,
    commitMs,
    batches: Math.ceil(sealedSize / BATCH),
    peakAboveIdleMiB,
    proofMicros,
    bareHashMs,
  }
}

const PROOFS = 1_000

/** One inclusion proof at a time, of places all over the log, the second time they are asked for. */
async function warmProof({ log }: Registry, size: number): Promise<number> {
  const places = Array.from({ length: PROOFS }, (_, i) => (i * 7919 * 13) % Math.min(size, 256 * 400))
  for (const place of places) await log.inclusionProof(place, size)
  const micros: number[] = []
  for (const place of places) {
    const begun = performance.now()
    await log.inclusionProof(place, size)
    micros.push((performance.now() - begun) * 1_000)
  }
  return median(micros)
}

async function bareHash(records: RecordStore, engine: TreeEngine, size: number): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < 3; round++) {
    let ms = 0
    for (let from = 0; from < size; from += BATCH) {
      const row = await records.readLog(from, BATCH)
      const begun = performance.now()
      await engine.tiles(row, 'entries')
      ms += performance.now() - begun
    }
    rounds.push(ms)
  }
  return median(rounds)
}

const ONE_WAIT_MS = 100

/** How many ms after it was due a batch of one event is sealed, its checkpoint signed: the median of some. */
async function sealOne(directory: string): Promise<{ readonly lateMs: number; readonly worstMs: number }> {
  const registry = await open(directory, await openLevelRecords(join(directory, 'one')), new PoolEngine(), ONE_WAIT_MS)
  const scope = { companyId: 'bench', principal: OPERATOR }
  await registry.sourceSystems.create(scope, { name: 'bench' })
  const late: number[] = []
  for (let i = 0; i < 20; i++) {
    await registry.evidences.create(scope, {
      externalId: `one ${i}`,
      name: 'One',
      categoryName: 'Category',
      subcategoryName: 'All',
    })
    const due = performance.now() + ONE_WAIT_MS
    while (registry.status().sealedSize < i + 2) await new Promise((resolve) => setTimeout(resolve, 1))
    late.push(performance.now() - due)
  }
  await registry.close()
  return { lateMs: median(late), worstMs: Math.max(...late) }
}

const [step, directory = '', count] = process.argv.slice(2)
if (step === 'fill') {
  await fill(directory, Number(count))
  console.log('{}')
} else if (step === 'seal') console.log(JSON.stringify(await seal(directory)))
else if (step === 'one') console.log(JSON.stringify(await sealOne(directory)))
