import { randomUUID } from 'node:crypto'
import { openPostgresRecords } from '../../adapters/postgres/index.ts'
import { LogReader } from '../../core/log/reader.ts'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { formatFinding, roundFigure, type BenchCase, type BenchContext, type BenchResult } from '../run/case.ts'
import { BATCH_SIZE } from '../workload/backlog.ts'
import { itemAt, secondsInFlight } from '../workload/concurrency.ts'
import { openBenchRegistry, type BenchRegistry } from '../workload/registry.ts'
import { randomAppends } from '../workload/log-appends.ts'

const WIDTHS = [1, 16, 256] as const
const STORES = ['level', 'postgres'] as const
const DAY_MS = 86_400_000
/** Log entries that one commit appends. */
const APPEND_SIZE = 62_500

interface Operation {
  readonly operation: string
  readonly value: number
  readonly unit: string
}

interface ComparedOperation {
  readonly unit: string
  level: number
  postgres: number
}

interface Sizes {
  readonly createsPerWidth: number
  readonly logEntries: number
}

/**
 * The same registry on LevelDB and on PostgreSQL: creates, reads, the log and sealing.
 *
 * Fair because both stores sync every commit to the same disk (below TMPDIR) and run the same operations, one store
 * after the other. PostgreSQL runs on this machine, so there is no network between them.
 */
export const postgres: BenchCase = {
  name: 'postgres',
  measures: 'creates, reads, the log and sealing on LevelDB and on PostgreSQL, both synced',
  columns: { operation: 'operation', level: 'LevelDB', postgres: 'PostgreSQL', unit: 'unit' },
  async run(context) {
    const sizes = context.quick
      ? { createsPerWidth: 200, logEntries: BATCH_SIZE }
      : { createsPerWidth: 4_000, logEntries: 1_000_000 }
    const results = new Map<string, ComparedOperation>()
    const server = await PostgresServer.start({ synced: true })
    try {
      for (const store of STORES) await measureStore(store, { url: server.url(), sizes, results, context })
    } finally {
      await server.stop()
    }
    return resultOf(results, sizes)
  },
  conclude: (result) =>
    `On PostgreSQL, 256 creates in flight reach ${formatFinding(result, 'createsAt256PostgresToLevel')} of LevelDB's ` +
    `rate, and sealing takes ${formatFinding(result, 'sealPostgresToLevel')} times as long.`,
}

interface StoreRun {
  /** Of the PostgreSQL server. */
  readonly url: string
  readonly sizes: Sizes
  readonly results: Map<string, ComparedOperation>
  readonly context: BenchContext
}

async function measureStore(store: (typeof STORES)[number], { url, sizes, results, context }: StoreRun): Promise<void> {
  const records = store === 'level' ? undefined : await openPostgresRecords({ url })
  // No batch closes by itself and full batches are not polled for, so that sealing is measured alone.
  const sealing = { maxWaitMs: DAY_MS, pollIntervalMs: DAY_MS, maxLeaves: BATCH_SIZE }
  const bench = await openBenchRegistry({ ...sealing, ...(records && { records }) })
  try {
    for await (const { operation, value, unit } of measureOperations(bench, sizes)) {
      context.progress(`${store}: ${operation}: ${roundFigure(value)} ${unit}`)
      const compared = results.get(operation) ?? { unit, level: 0, postgres: 0 }
      compared[store] = roundFigure(value)
      results.set(operation, compared)
    }
  } finally {
    await bench.close()
  }
}

function resultOf(results: ReadonlyMap<string, ComparedOperation>, sizes: Sizes): BenchResult {
  const ratio = (operation: string): number => {
    const { level = 0, postgres: other = 0 } = results.get(operation) ?? {}
    return roundFigure(other / level)
  }
  return {
    settings: { ...sizes, synced: true, maxLeaves: BATCH_SIZE },
    rows: Array.from(results, ([operation, { level, postgres: other, unit }]) => ({
      operation,
      level,
      postgres: other,
      unit,
    })),
    findings: {
      createsAt256PostgresToLevel: ratio('creates, 256 in flight'),
      sealPostgresToLevel: ratio(`seal ${sizes.logEntries} entries`),
      readLogPostgresToLevel: ratio(`read ${sizes.logEntries} entries`),
    },
  }
}

async function* measureOperations(bench: BenchRegistry, sizes: Sizes): AsyncGenerator<Operation> {
  const ids: string[] = []
  yield* measureCreates(bench, sizes, ids)
  yield* measureReads(bench, sizes, ids)
  await bench.registry.sealNow()
  yield* measureLog(bench, sizes)
}

async function* measureCreates(
  { registry, scope }: BenchRegistry,
  sizes: Sizes,
  ids: string[],
): AsyncGenerator<Operation> {
  const create = async (): Promise<void> => {
    const externalId = randomUUID()
    await registry.evidences.create(scope, {
      externalId,
      name: 'A car',
      category: { name: 'Vehicles' },
      subcategory: { name: 'Cars' },
      owner: 'Ada',
      meta: { colour: 'red', doors: 4 },
    })
    ids.push(externalId)
  }
  await create()
  for (const width of WIDTHS) {
    const count = width === 1 ? Math.ceil(sizes.createsPerWidth / 4) : sizes.createsPerWidth
    const value = count / (await secondsInFlight(count, width, create))
    yield { operation: `creates, ${width} in flight`, value, unit: '1/s' }
  }
}

async function* measureReads(
  { registry, scope }: BenchRegistry,
  sizes: Sizes,
  ids: readonly string[],
): AsyncGenerator<Operation> {
  const read = (i: number): Promise<unknown> => registry.evidences.get(scope, itemAt(ids, i * 7919))
  for (const width of WIDTHS) {
    const count = Math.min(sizes.createsPerWidth, ids.length)
    const value = count / (await secondsInFlight(count, width, read))
    yield { operation: `reads of an evidence, ${width} in flight`, value, unit: '1/s' }
  }
}

async function* measureLog({ registry, records }: BenchRegistry, { logEntries }: Sizes): AsyncGenerator<Operation> {
  const time = async (operation: string, work: () => Promise<unknown>): Promise<Operation> => {
    const begin = performance.now()
    await work()
    return { operation, value: performance.now() - begin, unit: 'ms' }
  }
  const size = await records.logSize()
  yield await time(`append ${logEntries} entries`, async () => {
    for (let at = 0; at < logEntries; at += APPEND_SIZE)
      await records.commit({ append: randomAppends(Math.min(APPEND_SIZE, logEntries - at)) })
  })
  yield await time(`read ${logEntries} entries`, () => records.readLog(size, logEntries))
  const sealed = await new LogReader(records).treeHead()
  if (sealed.size > size) throw new Error(`${sealed.size - size} entries were sealed during the appends`)
  yield await time(`seal ${logEntries} entries`, () => registry.sealNow())
}
