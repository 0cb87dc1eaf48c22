import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { FaultPart, FaultResult, FaultRun } from '../part.ts'
import type { Shard, ShardReport } from './worker.ts'

const SHORT = 100
const LONG = 2_000
/** How many pairs of faults. The long run has all of them. */
const SHORT_FIXED = { pairs: 15 }
const LONG_FIXED = { pairs: 150 }
const MAX_WORKERS = 8

/**
 * Runs the registry and its sealer in a simulated world: clock, stores, chain and authorities are fakes in memory that
 * can fail at every call. Everything random comes from the seed, so a seed repeats its whole trace.
 */
export const part: FaultPart = {
  name: 'simulation',
  passesWhen: 'no promise is broken, and a seed repeats its trace',
  count: { short: SHORT, long: LONG },
  run: runSimulation,
}

async function runSimulation({ count, seed, long, progress }: FaultRun): Promise<FaultResult> {
  // A failure is repeated alone, without the fixed scenarios.
  const fixed = count >= SHORT ? (long ? LONG_FIXED : SHORT_FIXED) : undefined
  const workers = Math.min(availableParallelism(), count, MAX_WORKERS)
  const latest = new Map<number, ShardReport>()
  const reports = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      runShard({ worker, workers, seed, count, fixed }, (report) => {
        latest.set(worker, report)
        progress(sumOf([...latest.values()], ({ random, single, pairs }) => random + single + pairs))
      }),
    ),
  )
  const sum = (of: (report: ShardReport) => number): number => sumOf(reports, of)
  const [random, single, pairs] = [sum((each) => each.random), sum((each) => each.single), sum((each) => each.pairs)]
  const text = (value: number): string => value.toLocaleString('en')
  return {
    cases: random + single + pairs,
    failures: reports.flatMap(({ failures }) => failures),
    figures:
      `${text(random)} random scenarios, ${text(single)} with one fault, ${text(pairs)} with two; ` +
      `${text(sum((each) => each.faults))} faults, ${text(sum((each) => each.acknowledgements))} acknowledged writes, ` +
      `${text(sum((each) => each.repeated))} traces repeated`,
  }
}

const sumOf = (reports: readonly ShardReport[], of: (report: ShardReport) => number): number =>
  reports.reduce((sum, report) => sum + of(report), 0)

/** Runs a worker to its end. It has a thread of its own, because it replaces the randomness of its whole thread. */
function runShard(shard: Shard, onReport: (report: ShardReport) => void): Promise<ShardReport> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: shard })
    worker.on('message', (report: ShardReport) => {
      onReport(report)
      if (report.isEnd) resolve(report)
    })
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`A worker of the simulation ended with exit code ${code}`)))
  })
}
