import { formatFinding, median, roundFigures, type BenchCase, type BenchResult } from '../run/case.ts'
import type { Row } from '../run/row.ts'
import { runChild } from '../run/child.ts'
import { barsOf } from '../run/picture.ts'
import type { LatenessMeasurement, SealingMeasurement } from '../programs/sealing.ts'
import { BATCH_SIZE } from '../workload/backlog.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { measureTrees, TREE_COLUMNS } from './trees.ts'

const SIZES = [10_000, 100_000, 1_000_000] as const
const ROUNDS = 3

/**
 * Sealing a backlog of logged events from LevelDB, stage by stage, and how long after its acknowledgement an event is
 * in a signed checkpoint. Then the trees and proofs of others.
 *
 * Compared with hashing the leaf tiles of the same entries in memory with the same engine, in the same process: the
 * ratio shows what reading, storing (each batch one synced write) and signing add. Each round fills a new store.
 */
export const sealing: BenchCase = {
  name: 'sealing',
  measures: 'sealing a backlog from LevelDB, stage by stage; from acknowledged to signed; trees and proofs of others',
  columns: {
    events: 'events',
    batches: 'batches',
    totalMs: 'total, ms',
    readMs: 'reading, ms',
    hashMs: 'hashing, ms',
    commitMs: 'commits, ms',
    bareHashMs: 'hashing alone, ms',
    ratioToBareHash: 'total to hashing alone',
    peakAboveIdleMiB: 'memory above idle, MiB',
    microsecondsPerProof: 'one proof, µs',
    ...TREE_COLUMNS,
  },
  picture: {
    title: 'Sealing a backlog from LevelDB, by events',
    unit: 'ms (logarithmic); stages overlap',
    isLogarithmic: true,
    bars: (rows) =>
      barsOf(({ events }) => Number(events).toLocaleString('en'), {
        totalMs: 'total',
        readMs: 'reading',
        hashMs: 'hashing',
        commitMs: 'committing',
        bareHashMs: 'hashing alone',
      })(rows.filter(({ events }) => events !== undefined)),
  },
  async run(context) {
    const { quick, progress } = context
    const rounds = quick ? 1 : ROUNDS
    const rows = []
    for (const size of quick ? SIZES.slice(0, 1) : SIZES) {
      const runs: SealingMeasurement[] = []
      for (let round = 0; round < rounds; round++) {
        runs.push(await measureRound(size))
        progress(`${size} events, round ${round + 1} of ${rounds}`)
      }
      rows.push(rowOf(size, runs))
    }
    const late = await runChild<LatenessMeasurement>('./programs/sealing.ts', ['late', quick ? '1' : '20'])
    const settings = {
      store: 'LevelDB, each batch one synced write',
      maxLeaves: BATCH_SIZE,
      engine: 'worker pool with its defaults',
      rounds,
    }
    const lateness = Object.fromEntries(
      Object.entries(late).flatMap(([load, { p50Ms, p99Ms, perSecond }]) => [
        [`${load}P50Ms`, p50Ms],
        [`${load}P99Ms`, p99Ms],
        [`${load}EventsPerSecond`, perSecond],
      ]),
    )
    const trees = await measureTrees(context)
    const findings = { ...findingsOf(rows), ...roundFigures(lateness), ...trees.findings }
    return { settings, rows: [...rows, ...trees.rows], findings }
  },
  conclude: (result) =>
    `Sealing ${Number(largestOf(result)['events']).toLocaleString('en')} events takes ` +
    `${largestOf(result)['totalMs']} ms, ${largestOf(result)['ratioToBareHash']} times as long as hashing ` +
    `alone; an event is in a signed checkpoint ${formatFinding(result, 'idleP50Ms')} ms after its acknowledgement, ` +
    `at full load after at most ${formatFinding(result, 'loadP99Ms')} ms in 99 of 100 cases.`,
}

/** The row of the largest backlog. */
const largestOf = ({ rows }: BenchResult): Row => rows.findLast(({ events }) => events !== undefined) ?? {}

const measureRound = (size: number): Promise<SealingMeasurement> =>
  inTemporaryFolder(async (directory) => {
    await runChild('./programs/sealing.ts', ['fill', directory, String(size)])
    return runChild<SealingMeasurement>('./programs/sealing.ts', ['seal', directory])
  })

/** The medians of all measured values. */
function rowOf(events: number, measured: readonly SealingMeasurement[]): Readonly<Record<string, number>> {
  const runs: readonly Readonly<Record<string, number>>[] = measured.map((run) => ({
    ...run,
    ratioToBareHash: run.totalMs / run.bareHashMs,
  }))
  const medianOf = (name: string): number => median(runs.map((run) => run[name] ?? Number.NaN))
  const medians = Object.fromEntries(Object.keys(runs[0] ?? {}).map((name) => [name, medianOf(name)]))
  return { events, ...roundFigures(medians) }
}

const FINDINGS = ['ratioToBareHash', 'peakAboveIdleMiB', 'microsecondsPerProof']

const findingsOf = (rows: readonly ReturnType<typeof rowOf>[]): Readonly<Record<string, number>> =>
  Object.fromEntries(rows.flatMap((row) => FINDINGS.map((name) => [`${name}At${row['events']}`, row[name] ?? 0])))
