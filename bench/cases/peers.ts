import { STORES, RECORD_BYTES } from '../peers/stores.ts'
import { formatFinding, type BenchCase } from '../run/case.ts'
import { barsOf } from '../run/picture.ts'
import type { Row } from '../run/row.ts'
import { measureStores } from '../workload/writing.ts'

const ROUNDS = 6
const SECONDS = 3

/**
 * Creates, and what people would pick instead: 256 writers with a record each, and one writer with 1,000 at once.
 *
 * Fair because all write to the same disk in turns, with as many writers, and sync each write if they can. The peers
 * write what a create wrote when the comparison began, eight keys with 1.96 kB, however much less it writes now. Each
 * row says what its store does not do.
 */
export const peers: BenchCase = {
  name: 'peers',
  measures: 'creates beside RocksDB, LevelDB, a PostgreSQL table with a hash chain, and hypercore',
  columns: {
    store: 'store',
    single: '256 in flight/s',
    singleRatio: 'creates to that',
    singleCpu: 'CPU µs each',
    bulk: 'in thousands/s',
    bulkRatio: 'bulk creates to that',
    bulkCpu: 'CPU µs each, in thousands',
    lacks: 'does not have',
  },
  picture: {
    title: 'Records written to one disk, in turns',
    unit: 'records per second (logarithmic)',
    isLogarithmic: true,
    bars: barsOf(({ store }) => String(store), { single: '256 in flight', bulk: 'in thousands' }),
  },
  async run({ quick, progress }) {
    const settings = { rounds: quick ? 1 : ROUNDS, seconds: quick ? 0.2 : SECONDS }
    const ways = { single: { size: 1, width: quick ? 16 : 256 }, bulk: { size: 1_000, width: 1 } }
    const figures = await measureStores(STORES, ways, { ...settings, progress })
    const rows: Row[] = []
    const findings: Record<string, number> = {}
    for (const [name, { title, lacks }] of Object.entries(STORES)) {
      const row: Record<string, string | number> = { store: title }
      for (const [way, ofStores] of figures) {
        const own = ofStores.get(name)
        if (own === undefined) continue
        Object.assign(row, { [way]: own.perSecond, [`${way}Cpu`]: own.cpuMicroseconds, [`${way}Ratio`]: own.ratio })
        findings[`${way}To${name}`] = own.ratio
      }
      rows.push({ ...row, lacks })
    }
    return { settings: { ...settings, recordBytes: RECORD_BYTES }, rows, findings }
  },
  conclude: (result) =>
    `With 256 in flight, creates are ${formatFinding(result, 'singleToRocksDb')} times as fast as batches of eight ` +
    `keys in RocksDB's db_bench, and ${formatFinding(result, 'singleToPostgres')} times as fast as rows of a ` +
    'PostgreSQL table with a hash chain; beyond what those do, a create validates, hashes 12 fields with salts, ' +
    'writes indexes and a log entry, and can be repeated without effect.',
}
