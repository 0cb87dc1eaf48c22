import { InlineEngine, PoolEngine } from '../../sealer/index.ts'
import type { TreeEngine } from '../../core/index.ts'
import { median, shown, type Bench, type Row } from '../run/case.ts'
import { hashTree } from '../workload/our-tree.ts'

const WORKERS = [1, 2, 4]
const ROUNDS = 7

/** A whole tree on 1, 2 and 4 workers, beside one thread without a pool; cold (with the workers' start) and warm. */
export const scaling: Bench = {
  name: 'scaling',
  about: 'a tree of 2^20 leaves on 1, 2 and 4 workers, cold and warm',
  async run({ quick, progress }) {
    const leaves = quick ? 2 ** 16 : 2 ** 20
    const entries = new Uint8Array(leaves * 32).fill(3)
    const ways = [
      { workers: 0, open: (): TreeEngine => new InlineEngine() },
      ...WORKERS.map((workers) => ({ workers, open: (): TreeEngine => new PoolEngine({ maxThreads: workers }) })),
    ]
    const cold = new Map<number, number[]>()
    const warm = new Map<number, number[]>()
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++)
      for (const { workers, open } of ways) {
        const engine = open()
        const [first, second] = [await time(engine, entries), await time(engine, entries)]
        await engine.close()
        cold.set(workers, [...(cold.get(workers) ?? []), first])
        warm.set(workers, [...(warm.get(workers) ?? []), second])
        progress(`${workers} workers, round ${round + 1}`)
      }
    const of = (times: ReadonlyMap<number, readonly number[]>, workers: number): number =>
      median(times.get(workers) ?? [])
    const rows: Row[] = ways.map(({ workers }) => ({
      workers: workers === 0 ? 'none: this thread' : workers,
      coldMs: shown(of(cold, workers)),
      warmMs: shown(of(warm, workers)),
      millionLeavesPerSecond: shown(leaves / of(warm, workers) / 1_000),
      overOneThread: shown(of(warm, 0) / of(warm, workers)),
    }))
    return {
      settings: { leaves, rounds: quick ? 1 : ROUNDS },
      rows,
      findings: {
        fourOverOneThread: shown(of(warm, 0) / of(warm, 4)),
        fourOverOneWorker: shown(of(warm, 1) / of(warm, 4)),
      },
    }
  },
}

async function time(engine: TreeEngine, entries: Uint8Array): Promise<number> {
  const begun = performance.now()
  await hashTree(engine, entries)
  return performance.now() - begun
}
