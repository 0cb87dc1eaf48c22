import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OPERATOR } from '../../core/index.ts'
import { EventPool } from '../../sealer/index.ts'
import { loadConfig } from '../../server/settings/load.ts'
import { stderrLogger } from '../../server/startup/logger.ts'
import { openConfiguredRegistry } from '../../server/startup/registry.ts'
import { formatCell, formatFinding, median, roundFigure, type BenchCase, type Row } from '../run/case.ts'
import { startChild } from '../run/child.ts'
import { cpuMsOf } from '../run/cpu-time.ts'
import { inTemporaryFolder, itemAt, secondsInFlight } from '../workload/concurrency.ts'
import { categoryFieldsOf, evidenceOf } from '../workload/evidence.ts'
import {
  createCategories,
  EvidenceCreator,
  openBenchRegistry,
  type BenchRegistryOptions,
} from '../workload/registry.ts'

const COMPANY = 'bench'
const BULK_SIZE = 1_000
/** As many bulk creates as an import has in flight. */
const WIDTH = 3
const ROUNDS = 3

const [IMPORT, AGAIN, EMBEDDED, IN_WORKER] = [
  'import',
  'the same import again',
  'embedded, bulk creates of 1,000',
  'embedded, bulk creates of 1,000 made in a worker',
]

/** The time of one run, for one evidence. */
interface Cost {
  readonly perSecond: number
  readonly cpuMicroseconds: number
}

/**
 * `evidence-registry import` of a file with ten categories, as a program of its own, and the same import again, which
 * looks all evidences up and creates none.
 *
 * Compared with the bulk creates of an embedding program that parses no lines, made in the main thread and in a worker,
 * which the import has on machines with two cores or more. Fair because all write to LevelDB, each bulk create synced,
 * with three in flight and the sealer running. The import's time also includes the start and the end of the program,
 * and LevelDB has a larger write buffer there. The CPU time is that of all threads; other programs disturb it less than
 * the rate.
 */
export const importFile: BenchCase = {
  name: 'import',
  measures: 'the import command, against the same bulk creates embedded',
  columns: { work: 'work', perSecond: 'evidences/s', cpuMicroseconds: 'CPU time for each, µs' },
  async run({ quick, progress }) {
    const count = quick ? 3_000 : 100_000
    const rounds = quick ? 1 : ROUNDS
    const costs: Record<string, Cost[]> = { [IMPORT]: [], [AGAIN]: [], [EMBEDDED]: [], [IN_WORKER]: [] }
    for (let round = 1; round <= rounds; round++)
      await inTemporaryFolder(async (directory) => {
        const note = async (work: string, measure: () => Promise<Cost>): Promise<void> => {
          progress(`round ${round}, ${work}`)
          costs[work]?.push(await measure())
        }
        const [data, file] = [join(directory, 'data'), join(directory, 'evidences.ndjson')]
        await createCompany(data)
        await writeFile(file, linesOf(count))
        await note(IMPORT, () => importCost(data, file, count))
        await note(AGAIN, () => importCost(data, file, count))
        await note(EMBEDDED, () => embeddedCost(count))
        await note(IN_WORKER, () => embeddedCost(count, { eventEngine: new EventPool() }))
      })
    const rows = Object.entries(costs).map(([work, each]) => rowOf(work, each))
    const rate = (work: string): number => Number(rows.find((row) => row['work'] === work)?.['perSecond'])
    const settings = {
      evidences: count,
      rounds,
      bulkSize: BULK_SIZE,
      inFlight: WIDTH,
      store: 'LevelDB, each bulk create synced',
    }
    return { settings, rows, findings: { ofEmbedded: roundFigure(rate(IMPORT) / rate(EMBEDDED)) } }
  },
  conclude: (result) =>
    `An import creates ${formatCell(result, { where: { work: IMPORT }, get: 'perSecond' })} evidences per second, ` +
    `${formatFinding(result, 'ofEmbedded')} of the rate of embedded bulk creates.`,
}

const rowOf = (work: string, costs: readonly Cost[]): Row => ({
  work,
  perSecond: roundFigure(median(costs.map(({ perSecond }) => perSecond))),
  cpuMicroseconds: roundFigure(median(costs.map(({ cpuMicroseconds }) => cpuMicroseconds))),
})

const linesOf = (count: number): string =>
  Array.from({ length: count }, (_, i) => `${JSON.stringify({ ...categoryFieldsOf(i), ...evidenceOf(i) })}\n`).join('')

/** Creates a data directory as the server's, with the company. */
async function createCompany(directory: string): Promise<void> {
  const config = loadConfig({ args: ['--data-dir', directory], env: {} })
  const { registry } = await openConfiguredRegistry(config, stderrLogger)
  await registry.sourceSystems.create({ companyId: COMPANY, principal: OPERATOR }, { name: 'bench' })
  await registry.close()
}

function importCost(data: string, file: string, count: number): Promise<Cost> {
  return costOf(count, async () => {
    const child = startChild('../server/cli.ts', ['import', '--company', COMPANY, '--data-dir', data, file])
    child.stdout?.resume()
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`the import ended with ${code}`)
  })
}

async function embeddedCost(count: number, options: BenchRegistryOptions = {}): Promise<Cost> {
  const bench = await openBenchRegistry(options)
  try {
    const creator = new EvidenceCreator(bench)
    const categories = await createCategories(bench)
    return await costOf(count, () =>
      secondsInFlight(count / BULK_SIZE, WIDTH, (i) => creator.createMany(itemAt(categories, i), BULK_SIZE)),
    )
  } finally {
    await bench.close()
  }
}

async function costOf(count: number, work: () => Promise<unknown>): Promise<Cost> {
  // The CPU time of this process and of the children that have ended.
  const cpuBegin = await cpuMsOf([process.pid])
  const begin = performance.now()
  await work()
  const seconds = (performance.now() - begin) / 1_000
  const cpuMs = ((await cpuMsOf([process.pid])) ?? 0) - (cpuBegin ?? 0)
  return { perSecond: count / seconds, cpuMicroseconds: (cpuMs * 1_000) / count }
}
