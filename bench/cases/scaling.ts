import type { TreeEngine } from '../../core/index.ts'
import { InlineEngine, PoolEngine } from '../../sealer/index.ts'
import { formatFinding, median, roundFigure, type BenchCase, type Row } from '../run/case.ts'
import { barsOf } from '../run/picture.ts'
import { buildTiles } from '../workload/library-tree.ts'

const WORKERS = [1, 2, 4] as const
const ROUNDS = 7

/** An engine to measure, with its times in ms. */
interface Candidate {
  readonly workers: number
  readonly open: () => TreeEngine
  /** The first tree, with the start of the workers. */
  readonly coldMs: number[]
  readonly warmMs: number[]
}

/**
 * A whole tree with 1, 2 and 4 workers and on one thread without a pool, cold (with the start of the workers) and warm.
 *
 * Fair because all build the same tree in turns, each in a new engine. The speed-up cannot exceed the number of cores.
 */
export const scaling: BenchCase = {
  name: 'scaling',
  measures: 'a tree of 2^20 leaves on one thread and with 1, 2 and 4 workers, cold and warm',
  columns: {
    workers: 'workers',
    coldMs: 'cold, ms',
    warmMs: 'warm, ms',
    millionLeavesPerSecond: 'million leaves/s, warm',
    speedup: 'times as fast as one thread',
  },
  picture: {
    title: 'A tree of 2^20 leaves, by number of workers',
    unit: 'ms',
    bars: barsOf(({ workers }) => String(workers), { coldMs: 'cold', warmMs: 'warm' }),
  },
  async run({ quick, progress }) {
    const leaves = quick ? 2 ** 16 : 2 ** 20
    const rounds = quick ? 1 : ROUNDS
    const entries = new Uint8Array(leaves * 32).fill(3)
    const [inline, ...pools] = [
      candidateOf(0, () => new InlineEngine()),
      ...WORKERS.map((workers) => candidateOf(workers, () => new PoolEngine({ maxThreads: workers }))),
    ] as const
    for (let round = 0; round < rounds; round++)
      for (const candidate of [inline, ...pools]) {
        await measureRound(candidate, entries)
        progress(`${candidate.workers} workers, round ${round + 1} of ${rounds}`)
      }
    const speedup = ({ warmMs }: Candidate): number => roundFigure(median(inline.warmMs) / median(warmMs))
    const rows: Row[] = [inline, ...pools].map((candidate) => ({
      workers: candidate.workers === 0 ? 'none (calling thread)' : candidate.workers,
      coldMs: roundFigure(median(candidate.coldMs)),
      warmMs: roundFigure(median(candidate.warmMs)),
      millionLeavesPerSecond: roundFigure(leaves / median(candidate.warmMs) / 1_000),
      speedup: speedup(candidate),
    }))
    const [one, four] = [pools[0], pools.at(-1)]
    const findings =
      one && four
        ? { fourOverOneThread: speedup(four), fourOverOneWorker: roundFigure(median(one.warmMs) / median(four.warmMs)) }
        : {}
    return { settings: { leaves, rounds }, rows, findings }
  },
  conclude: (result) =>
    `Four workers build a tree of ${formatSize(result.settings['leaves'])} leaves ` +
    `${formatFinding(result, 'fourOverOneThread')} times as fast as one thread.`,
}

const formatSize = (leaves: unknown): string => `2^${Math.log2(Number(leaves))}`

const candidateOf = (workers: number, open: () => TreeEngine): Candidate => ({ workers, open, coldMs: [], warmMs: [] })

async function measureRound({ open, coldMs, warmMs }: Candidate, entries: Uint8Array): Promise<void> {
  const engine = open()
  coldMs.push(await time(engine, entries))
  warmMs.push(await time(engine, entries))
  await engine.close()
}

async function time(engine: TreeEngine, entries: Uint8Array): Promise<number> {
  const begin = performance.now()
  await buildTiles(engine, entries)
  return performance.now() - begin
}
