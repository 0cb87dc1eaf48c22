import { formatNumber, median, roundFigure, type BenchCase, type BenchResult } from '../run/case.ts'
import { runChild } from '../run/child.ts'
import { barsOf } from '../run/picture.ts'
import type { ThroughputMeasurement } from '../programs/throughput.ts'
import { BATCH_SIZE } from '../workload/backlog.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'

const EVENTS = 4 * BATCH_SIZE
const QUICK_EVENTS = 2 ** 14
const MAX_ROUNDS = 5
/** No round begins later, so that the run takes about a minute. */
const BUDGET_MS = 30_000

/**
 * Batch sealing throughput: logged events are read from LevelDB, hashed into the Merkle tree, committed with one synced
 * write for each batch of 65,536, and the checkpoint is signed.
 *
 * Compared with building only the Merkle tree over the same entries, already in memory, without storing anything: with
 * one createHash call of node:crypto for each hash, and with merkletreejs. This favours the others. All run in one
 * process for each round, warmed up first, and must compute the root that was sealed.
 */
export const throughput: BenchCase = {
  name: 'throughput',
  measures: 'batch sealing from disk to a signed checkpoint, against hashing alone with node:crypto and merkletreejs',
  columns: {
    work: 'work',
    events: 'events',
    ms: 'time, ms',
    eventsPerSecond: 'events/s',
    relative: 'times createHash',
  },
  picture: {
    title: `Batch sealing throughput, ${EVENTS.toLocaleString('en')} events`,
    unit: 'events per second',
    bars: barsOf(({ work }) => String(work), { eventsPerSecond: 'events' }),
  },
  async run({ quick, progress }) {
    const events = quick ? QUICK_EVENTS : EVENTS
    const maxRounds = quick ? 1 : MAX_ROUNDS
    const begin = performance.now()
    const runs: ThroughputMeasurement[] = []
    while (runs.length < maxRounds && performance.now() - begin < BUDGET_MS) {
      progress(`round ${runs.length + 1} of ${maxRounds}: ${events.toLocaleString('en')} events`)
      runs.push(await measureRound(events))
    }
    const medianOf = (key: keyof ThroughputMeasurement): number => median(runs.map((run) => run[key]))
    const createHashMs = medianOf('createHashMs')
    const sealMs = medianOf('sealMs')
    const rows = MEASURED.map(([key, work]) => {
      const ms = medianOf(key)
      const eventsPerSecond = roundFigure((events / ms) * 1000)
      return { work, events, ms: roundFigure(ms), eventsPerSecond, relative: roundFigure(createHashMs / ms) }
    })
    return {
      settings: { events, rounds: runs.length, batchSize: BATCH_SIZE, store: 'LevelDB, each batch one synced write' },
      rows,
      findings: {
        eventsPerSecond: roundFigure((events / sealMs) * 1000),
        overCreateHash: roundFigure(createHashMs / sealMs),
        overMerkletreejs: roundFigure(medianOf('merkletreejsMs') / sealMs),
      },
    }
  },
  conclude: ({ findings: { eventsPerSecond = NaN, overCreateHash = NaN, overMerkletreejs = NaN } }: BenchResult) =>
    `Sealing, from disk to a signed checkpoint, handles ${formatNumber(eventsPerSecond)} events per second: ` +
    `${formatNumber(overCreateHash)} times as fast as only hashing the same Merkle tree in memory with node:crypto's ` +
    `createHash, and ${formatNumber(overMerkletreejs)} times as fast as merkletreejs.`,
}

/** The rows of the table. */
const MEASURED: readonly (readonly [key: keyof ThroughputMeasurement, work: string])[] = [
  ['sealMs', 'this library: sealing, LevelDB to signed checkpoint'],
  ['engineMs', 'this library: Merkle tree in memory'],
  ['createHashMs', 'node:crypto createHash: Merkle tree in memory'],
  ['merkletreejsMs', 'merkletreejs: Merkle tree in memory'],
]

const measureRound = (events: number): Promise<ThroughputMeasurement> =>
  inTemporaryFolder(async (directory) => {
    await runChild('./programs/sealing.ts', ['fill', directory, String(events)])
    return runChild<ThroughputMeasurement>('./programs/throughput.ts', [directory])
  })
