import { STORES } from '../peers/stores.ts'
import { formatCell, formatFinding, type BenchCase } from '../run/case.ts'
import type { Row } from '../run/row.ts'
import { barsOf } from '../run/picture.ts'
import { measureStores } from '../workload/writing.ts'

const WAYS = {
  '256': { size: 1, width: 256 },
  '16': { size: 1, width: 16 },
  '1': { size: 1, width: 1 },
  'bulk creates of 1000, one at a time': { size: 1_000, width: 1 },
  'bulk creates of 1000, two at a time': { size: 1_000, width: 2 },
}
const ROUNDS = 5
const SECONDS = 1

/**
 * Creating evidences with the embedded library: one, 16 and 256 in flight, and in bulk creates of 1,000.
 *
 * Compared with a bare loop over LevelDB that does the same reads, hashes, writes and syncs, recorded from real
 * creates. Fair because the loop uses the same optimizations, runs in turns with the creates, and writes one synced
 * group for as many creates as are in flight.
 */
export const ingest: BenchCase = {
  name: 'ingest',
  measures: 'creating evidences, single and in bulk, against a bare loop of the same reads, hashes and writes',
  columns: {
    inFlight: 'in flight',
    createsPerSecond: 'creates/s',
    bareLoopPerSecond: 'bare loop of the same work/s',
  },
  picture: {
    title: 'Creating evidences, embedded, each group synced, by how many are in flight',
    unit: 'per second',
    bars: barsOf(({ inFlight }) => String(inFlight), {
      createsPerSecond: 'creates',
      bareLoopPerSecond: 'bare loop of the same work',
    }),
  },
  async run({ quick, progress }) {
    const settings = { rounds: quick ? 1 : ROUNDS, seconds: quick ? 0.1 : SECONDS }
    const figures = await measureStores({ creates: STORES.Registry, bare: STORES.LevelDb }, WAYS, {
      ...settings,
      progress,
    })
    const rows = [...figures].map(([inFlight, of]): Row => ({
      inFlight,
      createsPerSecond: of.get('creates')?.perSecond ?? Number.NaN,
      bareLoopPerSecond: of.get('bare')?.perSecond ?? Number.NaN,
    }))
    const findings = Object.fromEntries([...figures].map(([way, of]) => [way, of.get('bare')?.ratio ?? Number.NaN]))
    return { settings: { store: 'LevelDB, each group one synced write', ...settings }, rows, findings }
  },
  conclude: (result) =>
    `With 256 in flight, ${formatCell(result, { where: { inFlight: '256' }, get: 'createsPerSecond' })} evidences ` +
    `per second are created, synced to disk: ${formatFinding(result, '256')} of the rate of a bare loop ` +
    'of the same work.',
}
