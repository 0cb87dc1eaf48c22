import { randomBytes, randomUUID } from 'node:crypto'
import { openLevelRecords, type LevelRecords } from '../../adapters/level/index.ts'
import { formatCell, roundFigure, type BenchCase } from '../run/case.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { randomAppends } from '../workload/log-appends.ts'

const FAMILIES = ['ex', 'ev', 'vh', 'tx', 'el', 'ec', 'fi', 'fo'] as const
const WIDTHS = [1, 16, 256] as const
const value = new Uint8Array(randomBytes(500))

/**
 * Synced commits of the LevelDB store, each as large as that of a create: two checks, eight records of 500 bytes, a
 * counter, a log entry. Then appending and reading a million log entries.
 *
 * Compared with nothing: these are the store's own limits, which `ingest` cannot exceed. The store lies below TMPDIR,
 * which must be on a real disk, because a sync to memory costs nothing.
 */
export const store: BenchCase = {
  name: 'store',
  measures: 'synced commits of the LevelDB store, and its log',
  columns: { operation: 'operation', value: 'figure', unit: 'unit' },
  async run({ quick, progress }) {
    const seconds = quick ? 1 : 4
    const rows: { operation: string; value: number; unit: string }[] = []
    const note = (operation: string, figure: number, unit: string): void => {
      rows.push({ operation, value: roundFigure(figure), unit })
      progress(operation)
    }
    const time = async (operation: string, work: () => Promise<unknown>): Promise<void> => {
      const begin = performance.now()
      await work()
      note(operation, performance.now() - begin, 'ms')
    }
    await inTemporaryFolder(async (directory) => {
      const records = await openLevelRecords(directory)
      for (const width of WIDTHS)
        note(`${width} in flight`, await commitsPerSecond(records, width, seconds), 'commits/s')
      const pieces = quick ? 1 : 16
      await time(`append ${pieces} × 65,536 entries`, async () => {
        for (let i = 0; i < pieces; i += 1) await records.commit({ append: randomAppends(65_536) })
      })
      await time(`read ${pieces} × 62,500 entries`, () => records.readLog(0, pieces * 62_500))
      await time('close', () => records.close())
      await time('open', async () => (await openLevelRecords(directory)).close())
    })
    const sizes = { checks: 2, puts: FAMILIES.length, putBytes: value.length, adds: 1, entries: 1 }
    return { settings: { ...sizes, synced: true, seconds }, rows, findings: {} }
  },
  conclude: (result) => {
    const rate = (width: number): string =>
      formatCell(result, { where: { operation: `${width} in flight` }, get: 'value' })
    return `The LevelDB store makes ${rate(1)} synced commits per second one at a time and ${rate(256)} with 256 in flight.`
  },
}

async function commitOne(records: LevelRecords): Promise<void> {
  const id = randomUUID()
  const result = await records.commit({
    checks: ['ex', 'ev'].map((family) => ({ key: `${family}/${id}`, version: null })),
    writes: FAMILIES.map((family) => ({ key: `${family}/${id}`, value })),
    adds: [{ key: 'count', delta: 1 }],
    append: randomAppends(1),
  })
  if (!result.ok) throw new Error('a commit of new keys failed with a conflict')
}

async function commitsPerSecond(records: LevelRecords, width: number, seconds: number): Promise<number> {
  const begin = performance.now()
  const end = begin + seconds * 1000
  let count = 0
  const runLane = async (): Promise<void> => {
    while (performance.now() < end) {
      await commitOne(records)
      count += 1
    }
  }
  await Promise.all(Array.from({ length: width }, runLane))
  return count / ((performance.now() - begin) / 1000)
}
