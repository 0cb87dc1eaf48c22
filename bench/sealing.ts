import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileSignedHead } from '../adapters/files/index.ts'
import { openLevelRecords } from '../adapters/level/index.ts'
import { systemClock } from '../core/clock.ts'
import { openLogIdentity } from '../core/log/identity.ts'
import { LogReader } from '../core/log/reader.ts'
import type { Logger, RecordStore, TreeEngine } from '../core/ports.ts'
import { createSealer, PoolEngine } from '../sealer/index.ts'
import { median, shown, type Bench, type BenchContext, type Row } from './bench.ts'

const LEAVES = 65_536
const ROUNDS = 5
const MEBIBYTE = 2 ** 20
const HASH_BYTES = 32
const PROOFS = 2_000
const SINGLES = 20
const WAIT_MS = 50
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Sealing end to end from LevelDB, synced, beside the bare hashing of the same entries by the same pool. */
export const sealing: Bench = {
  name: 'sealing',
  about: 'a backlog sealed from LevelDB, stage by stage; a batch of one; one proof',
  async run(context) {
    const sizes = context.quick ? [10_000] : [10_000, 100_000, 1_000_000]
    const rows: Row[] = []
    for (const size of sizes) rows.push(await measure(size, context))
    const last = rows.at(-1) as Row
    const { singleMs, proofMicros } = await measureSmall(context)
    return {
      settings: {
        store: 'LevelDB, synced',
        maxLeaves: LEAVES,
        rounds: ROUNDS,
        singles: SINGLES,
        singleWaitMs: WAIT_MS,
        proofs: PROOFS,
      },
      rows,
      findings: {
        sealedOverBareHashing: last['sealedOverBare'] as number,
        peakAboveIdleMiB: last['peakAboveIdleMiB'] as number,
        singleEventMsAfterDue: shown(singleMs),
        oneProofWarmMicros: shown(proofMicros),
      },
    }
  },
}

async function measure(size: number, { progress }: BenchContext): Promise<Row> {
  const entries = new Uint8Array(randomBytes(size * HASH_BYTES))
  const rounds: Readonly<Record<string, number>>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await sealOnce(entries))
    progress(`${size} entries, round ${round + 1}/${ROUNDS}`)
  }
  const names = Object.keys(rounds[0] ?? {})
  return {
    entries: size,
    ...Object.fromEntries(names.map((name) => [name, shown(median(rounds.map((round) => round[name] ?? 0)))])),
  }
}

async function sealOnce(entries: Uint8Array): Promise<Readonly<Record<string, number>>> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
  try {
    const spent: Record<string, number> = { read: 0, hash: 0, commit: 0 }
    const records = timedRecords(await openLevelRecords(join(directory, 'records')), spent)
    const identity = await openLogIdentity({ records, secret: new Uint8Array(32), clock: systemClock })
    for (const piece of piecesOf(entries)) await records.commit({ append: piece })
    const engine = new PoolEngine()
    // Bare hashing twice: the first starts the workers.
    await bareHashing(engine, entries)
    const bareMs = await bareHashing(engine, entries)
    const sealer = createSealer({ engine: timedEngine(engine, spent), maxWaitMs: 3_600_000, maxLeaves: LEAVES })
    for (const stage of Object.keys(spent)) spent[stage] = 0
    globalThis.gc?.()
    const idle = process.memoryUsage.rss()
    let peak = idle
    const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5)
    const signedHead = new FileSignedHead(join(directory, 'signed-head.json'))
    const begun = performance.now()
    await sealer.start({ records, signedHead, identity, clock: systemClock, logger: silent })
    await sealer.sealNow()
    const sealedMs = performance.now() - begun
    clearInterval(sampler)
    await sealer.close()
    await records.close()
    return {
      bareMs,
      sealedMs,
      readMs: spent['read'] ?? 0,
      hashMs: spent['hash'] ?? 0,
      commitMs: spent['commit'] ?? 0,
      sealedOverBare: sealedMs / bareMs,
      peakAboveIdleMiB: (peak - idle) / MEBIBYTE,
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

function* piecesOf(entries: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < entries.length; at += LEAVES * HASH_BYTES) yield entries.subarray(at, at + LEAVES * HASH_BYTES)
}

async function bareHashing(engine: TreeEngine, entries: Uint8Array): Promise<number> {
  const begun = performance.now()
  for (const piece of piecesOf(entries)) await engine.tiles(piece, 'entries')
  return performance.now() - begun
}

/** Stages overlap where the next batch is hashed while one is committed, so they can sum to more than the whole. */
async function timed<T>(spent: Record<string, number>, stage: string, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  try {
    return await work()
  } finally {
    spent[stage] = (spent[stage] ?? 0) + performance.now() - begun
  }
}

const timedRecords = (records: RecordStore, spent: Record<string, number>): RecordStore => ({
  get: (keys) => records.get(keys),
  list: (range) => records.list(range),
  commit: (commit) => timed(spent, 'commit', () => records.commit(commit)),
  readLog: (from, count) => timed(spent, 'read', () => records.readLog(from, count)),
  logSize: () => records.logSize(),
  positionsOf: (entries) => records.positionsOf(entries),
  close: () => records.close(),
})

const timedEngine = (engine: TreeEngine, spent: Record<string, number>): TreeEngine => ({
  tiles: (row, kind, signal) => timed(spent, 'hash', () => engine.tiles(row, kind, signal)),
  proofs: (blocks, format, signal) => engine.proofs(blocks, format, signal),
  close: () => engine.close(),
})

/** A batch of one event, from when it is due to when its checkpoint is signed; and one proof in a tree of 65,536, tiles warm. */
async function measureSmall({
  progress,
}: BenchContext): Promise<{ readonly singleMs: number; readonly proofMicros: number }> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
  try {
    const records = await openLevelRecords(join(directory, 'records'))
    const identity = await openLogIdentity({ records, secret: new Uint8Array(32), clock: systemClock })
    await records.commit({ append: new Uint8Array(randomBytes(LEAVES * HASH_BYTES)) })
    const sealer = createSealer({ maxWaitMs: WAIT_MS })
    const signedHead = new FileSignedHead(join(directory, 'signed-head.json'))
    await sealer.start({ records, signedHead, identity, clock: systemClock, logger: silent })
    await sealer.sealNow()
    const singles: number[] = []
    for (let i = 0; i < SINGLES; i++) {
      await records.commit({ append: new Uint8Array(randomBytes(HASH_BYTES)) })
      const due = performance.now() + WAIT_MS
      sealer.notify()
      const size = await records.logSize()
      while (sealer.status().sealedSize < size) await new Promise((resolve) => setTimeout(resolve, 1))
      singles.push(performance.now() - due)
    }
    progress('single events')
    const reader = new LogReader(records)
    const { size } = await reader.treeHead()
    const proofs: number[] = []
    for (let i = 0; i < PROOFS; i++) {
      const begun = performance.now()
      await reader.inclusionProof((i * 7_919) % size, size)
      proofs.push((performance.now() - begun) * 1_000)
    }
    await sealer.close()
    await records.close()
    return { singleMs: median(singles), proofMicros: median(proofs.slice(PROOFS / 2)) }
  } finally {
    await rm(directory, { recursive: true })
  }
}
