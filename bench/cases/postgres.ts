import { randomBytes, randomUUID } from 'node:crypto'
import { openPostgresRecords } from '../../adapters/postgres/index.ts'
import { LogReader } from '../../core/log/reader.ts'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { shown, type Bench } from '../run/case.ts'
import { inFlight, openBenchRegistry, type BenchRegistry } from '../workload/registry.ts'

const WIDTHS = [1, 16, 256] as const
const DAY_MS = 86_400_000

/** The same registry on LevelDB and on PostgreSQL, one after the other; both synced, below TMPDIR. */
export const postgres: Bench = {
  name: 'postgres',
  about: 'creates, reads, the log and sealing on LevelDB and on PostgreSQL, both synced',
  async run({ quick, progress }) {
    const server = await PostgresServer.start({ synced: true })
    const perWidth = quick ? 200 : 4_000
    const logEntries = quick ? 65_536 : 1_000_000
    const results = new Map<string, { level?: number; postgres?: number; unit: string }>()
    try {
      for (const store of ['level', 'postgres'] as const) {
        const records = store === 'level' ? undefined : await openPostgresRecords({ url: server.url() })
        // No batch closes by itself, and nobody looks for full ones: sealing is measured alone.
        const bench = await openBenchRegistry({
          maxWaitMs: DAY_MS,
          pollIntervalMs: DAY_MS,
          maxLeaves: 65_536,
          ...(records && { records }),
        })
        try {
          for await (const { what, value, unit } of measure(bench, perWidth, logEntries)) {
            progress(`${store}: ${what}: ${shown(value)} ${unit}`)
            results.set(what, { ...results.get(what), unit, [store]: shown(value) })
          }
        } finally {
          await bench.close()
        }
      }
    } finally {
      await server.stop()
    }
    const rows = Array.from(results, ([what, { level = 0, postgres: other = 0, unit }]) => ({
      what,
      level,
      postgres: other,
      unit,
    }))
    const ratio = (what: string): number => {
      const { level = 0, postgres: other = 0 } = results.get(what) ?? {}
      return shown(other / level)
    }
    return {
      settings: { createsPerWidth: perWidth, logEntries, synced: true, maxLeaves: 65_536 },
      rows,
      findings: {
        createsAt256PostgresToLevel: ratio('creates, 256 in flight'),
        sealPostgresToLevel: ratio(`seal ${logEntries} entries`),
        readLogPostgresToLevel: ratio(`read ${logEntries} entries`),
      },
    }
  },
}

async function* measure(
  { registry, records, scope }: BenchRegistry,
  perWidth: number,
  logEntries: number,
): AsyncGenerator<{ readonly what: string; readonly value: number; readonly unit: string }> {
  const ids: string[] = []
  const create = async (): Promise<void> => {
    const externalId = randomUUID()
    await registry.evidences.create(scope, {
      externalId,
      name: 'A car',
      categoryName: 'Vehicles',
      subcategoryName: 'Cars',
      owner: 'Ada',
      meta: { colour: 'red', doors: 4 },
    })
    ids.push(externalId)
  }
  await create()
  for (const width of WIDTHS) {
    const count = width === 1 ? Math.ceil(perWidth / 4) : perWidth
    yield { what: `creates, ${width} in flight`, value: count / (await inFlight(count, width, create)), unit: '1/s' }
  }
  for (const width of WIDTHS) {
    const count = Math.min(perWidth, ids.length)
    const read = (i: number): Promise<unknown> => registry.evidences.get(scope, ids[(i * 7919) % ids.length] as string)
    yield {
      what: `reads of an evidence, ${width} in flight`,
      value: count / (await inFlight(count, width, read)),
      unit: '1/s',
    }
  }
  await registry.sealNow()
  const timed = async (what: string, work: () => Promise<unknown>) => {
    const begun = performance.now()
    await work()
    return { what, value: performance.now() - begun, unit: 'ms' }
  }
  const size = await records.logSize()
  const PIECE = 62_500
  yield await timed(`append ${logEntries} entries`, async () => {
    for (let at = 0; at < logEntries; at += PIECE)
      await records.commit({ append: new Uint8Array(randomBytes(Math.min(PIECE, logEntries - at) * 32)) })
  })
  yield await timed(`read ${logEntries} entries`, () => records.readLog(size, logEntries))
  const sealed = await new LogReader(records).treeHead()
  if (sealed.size > size) throw new Error(`${sealed.size - size} entries were sealed while they were appended`)
  yield await timed(`seal ${logEntries} entries`, () => registry.sealNow())
}
