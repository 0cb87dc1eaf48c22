import { randomBytes } from 'node:crypto'
import { InlineEngine, PoolEngine } from '../sealer/index.ts'
import type { TreeEngine } from '../core/ports.ts'
import { median, shown, type Bench, type Row } from './bench.ts'

const ROUNDS = 7
const HASH_BYTES = 32

/** The tiles of 2^20 entries by one thread and by 1, 2 and 4 workers: cold with their start, warm the median of the next. */
export const scaling: Bench = {
  name: 'scaling',
  about: 'hashing all tiles of a row inline and with 1, 2 and 4 workers, cold and warm',
  async run({ quick, progress }) {
    const leaves = quick ? 2 ** 16 : 2 ** 20
    const row = new Uint8Array(randomBytes(leaves * HASH_BYTES))
    const rows: Row[] = []
    for (const [name, make] of CONTESTANTS) {
      const engine = make()
      const cold = await timed(engine, row)
      const warm: number[] = []
      for (let round = 0; round < ROUNDS; round++) warm.push(await timed(engine, row))
      await engine.close()
      rows.push({
        engine: name,
        leaves,
        coldMs: shown(cold),
        warmMs: shown(median(warm)),
        millionLeavesPerSecond: shown(leaves / median(warm) / 1_000),
      })
      progress(name)
    }
    const warmOf = (name: string): number => rows.find(({ engine }) => engine === name)?.['warmMs'] as number
    return {
      settings: { rounds: ROUNDS },
      rows,
      findings: {
        fourWorkersOverInline: shown(warmOf('inline') / warmOf('4 workers')),
        twoWorkersOverInline: shown(warmOf('inline') / warmOf('2 workers')),
      },
    }
  },
}

const CONTESTANTS: readonly (readonly [string, () => TreeEngine])[] = [
  ['inline', () => new InlineEngine()],
  ...([1, 2, 4] as const).map(
    (maxThreads) =>
      [`${maxThreads} worker${maxThreads === 1 ? '' : 's'}`, () => new PoolEngine({ maxThreads })] as const,
  ),
]

async function timed(engine: TreeEngine, row: Uint8Array): Promise<number> {
  const begun = performance.now()
  await engine.tiles(row, 'entries')
  return performance.now() - begun
}
