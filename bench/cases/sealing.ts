import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, shown, type Bench } from '../run/case.ts'
import { runChild } from '../run/child.ts'
import { BATCH, type Sealed } from '../programs/sealing.ts'

const SIZES = [10_000, 100_000, 1_000_000]
const ROUNDS = 3

/** Sealing what is logged, from LevelDB, stage by stage, beside hashing the same entries and nothing else. */
export const sealing: Bench = {
  name: 'sealing',
  about: 'sealing a backlog from LevelDB, stage by stage; one proof; a batch of one event',
  async run({ quick, progress }) {
    const rows = []
    const findings: Record<string, number> = {}
    const rounds = quick ? 1 : ROUNDS
    for (const size of quick ? SIZES.slice(0, 1) : SIZES) {
      const runs: Sealed[] = []
      for (let round = 0; round < rounds; round++) {
        runs.push(await sealOnce(size))
        progress(`${size} events, round ${round + 1} of ${rounds}`)
      }
      const of = (name: keyof Sealed): number => shown(median(runs.map((run) => run[name])))
      const overBare = shown(median(runs.map(({ totalMs, bareHashMs }) => totalMs / bareHashMs)))
      rows.push({
        events: size,
        batches: of('batches'),
        totalMs: of('totalMs'),
        readMs: of('readMs'),
        hashMs: of('hashMs'),
        commitMs: of('commitMs'),
        bareHashMs: of('bareHashMs'),
        totalOverBareHash: overBare,
        peakAboveIdleMiB: of('peakAboveIdleMiB'),
        proofMicros: of('proofMicros'),
      })
      findings[`totalOverBareHashAt${size}`] = overBare
      findings[`peakAboveIdleMiBAt${size}`] = of('peakAboveIdleMiB')
      findings[`proofMicrosAt${size}`] = of('proofMicros')
    }
    const one = await inDirectory((directory) =>
      runChild<{ lateMs: number; worstMs: number }>('./programs/sealing.ts', ['one', directory]),
    )
    findings['batchOfOneMsAfterDue'] = shown(one.lateMs)
    findings['batchOfOneWorstMsAfterDue'] = shown(one.worstMs)
    const settings = {
      store: 'LevelDB, each batch one synced write',
      maxLeaves: BATCH,
      engine: 'pool, as by default',
      rounds,
    }
    return { settings, rows, findings }
  },
}

const sealOnce = (size: number): Promise<Sealed> =>
  inDirectory(async (directory) => {
    await runChild('./programs/sealing.ts', ['fill', directory, String(size)])
    return runChild<Sealed>('./programs/sealing.ts', ['seal', directory])
  })

async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}
