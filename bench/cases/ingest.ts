import { join } from 'node:path'
import { OPENING_BYTES, SALT_BYTES, TAG_BYTES } from '../../core/commitment/event-format.ts'
import { BareCreates, type RecordedCreate } from '../peers/bare-creates.ts'
import { formatCell, formatFinding, median, roundFigure, type BenchCase } from '../run/case.ts'
import type { Row } from '../run/row.ts'
import { barsOf } from '../run/picture.ts'
import { secondsInFlight } from '../workload/concurrency.ts'
import { categoryOf, evidenceOf } from '../workload/evidence.ts'
import { Recorder, type Recording } from '../workload/observed-stores.ts'
import {
  createCategories,
  EvidenceCreator,
  openBenchRegistry,
  type BenchRegistry,
  type CategoryIds,
} from '../workload/registry.ts'

/** Creates in flight, and how many are timed in each round. */
const WIDTHS = [
  { width: 1, count: 500 },
  { width: 16, count: 3_000 },
  { width: 256, count: 8_000 },
] as const
const WIDEST = WIDTHS[2]
const BULK_SIZE = 1_000
const BULK_CREATES = 8
const ROUNDS = 5
const RECORDED_CREATES = 64
/** Before the measurement, so that all code is compiled and the first compactions of the store are over. */
const WARM_UP = 5_000

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
    const recorder = new Recorder()
    const bench = await openBenchRegistry({ wrap: recorder.record })
    try {
      const [category] = await createCategories(bench)
      if (category === undefined) throw new Error('the registry was not set up')
      const creator = new EvidenceCreator(bench)
      const recorded = await recordCreates(bench, creator, recorder)
      const bare = await BareCreates.open(join(bench.directory, 'bare'), recorded, await readShared(bench, recorded))
      const scale = quick ? 0.1 : 1
      try {
        return await measure({ creator, category, bare, rounds: quick ? 1 : ROUNDS, scale, progress })
      } finally {
        await bare.close()
      }
    } finally {
      await bench.close()
    }
  },
  conclude: (result) =>
    `With 256 in flight, ${formatCell(result, { where: { inFlight: 256 }, get: 'createsPerSecond' })} evidences per ` +
    `second are created, synced to disk: ${formatFinding(result, 'ofBareLoopAt256')} of the rate of a bare ` +
    'loop of the ' +
    'same work.',
}

interface Measurement {
  readonly creator: EvidenceCreator
  readonly category: CategoryIds
  readonly bare: BareCreates
  readonly rounds: number
  /** Of the number of creates in a round. */
  readonly scale: number
  readonly progress: (text: string) => void
}

async function measure(measurement: Measurement) {
  const { creator, bare, rounds, scale } = measurement
  await secondsInFlight(WARM_UP * scale, 256, () => creator.createOne())
  await bare.run(WARM_UP * scale, 256)
  const rows: Row[] = []
  const findings: Record<string, number> = {}
  for (const { width, count } of WIDTHS) {
    const measured = await measureWidth(measurement, width, count * scale)
    rows.push(measured.row)
    Object.assign(findings, measured.findings)
  }
  const bulk = await measureBulk(measurement)
  const settings = { store: 'LevelDB, each group one synced write', rounds, sealing: 'as by default, every 5 s' }
  return { settings, rows: [...rows, ...bulk.rows], findings: { ...findings, ...bulk.findings } }
}

/** Seconds for each create, of single creates and of the bare loop, in turns. */
async function measureWidth({ creator, bare, rounds, progress }: Measurement, width: number, count: number) {
  const creates: number[] = []
  const loops: number[] = []
  for (let round = 0; round < rounds; round++) {
    creates.push((await secondsInFlight(count, width, () => creator.createOne())) / count)
    loops.push((await bare.run(count, width)) / count)
    progress(`${width} in flight, round ${round + 1} of ${rounds}`)
  }
  const row: Row = {
    inFlight: width,
    createsPerSecond: roundFigure(1 / median(creates)),
    bareLoopPerSecond: roundFigure(1 / median(loops)),
  }
  return { row, findings: { [`ofBareLoopAt${width}`]: roundFigure(median(loops) / median(creates)) } }
}

async function measureBulk({ creator, category, rounds, scale, progress }: Measurement) {
  const single: number[] = []
  const one: number[] = []
  const two: number[] = []
  const count = WIDEST.count * scale
  const createInBulk = async (width: number): Promise<number> =>
    (await secondsInFlight(BULK_CREATES, width, () => creator.createMany(category, BULK_SIZE))) /
    (BULK_CREATES * BULK_SIZE)
  for (let round = 0; round < rounds; round++) {
    single.push((await secondsInFlight(count, WIDEST.width, () => creator.createOne())) / count)
    one.push(await createInBulk(1))
    two.push(await createInBulk(2))
    progress(`bulk creates of ${BULK_SIZE}, round ${round + 1} of ${rounds}`)
  }
  const rows: Row[] = [
    { inFlight: `bulk creates of ${BULK_SIZE}, one at a time`, createsPerSecond: roundFigure(1 / median(one)) },
    { inFlight: `bulk creates of ${BULK_SIZE}, two at a time`, createsPerSecond: roundFigure(1 / median(two)) },
  ]
  const findings = {
    pairsOfBulkOverSingles: roundFigure(median(single) / median(two)),
    bulkOverSingles: roundFigure(median(single) / median(one)),
  }
  return { rows, findings }
}

/** Records the store calls and the hashes of some creates, made one at a time. */
async function recordCreates(bench: BenchRegistry, creator: EvidenceCreator, recorder: Recorder) {
  const recorded: RecordedCreate[] = []
  const known = new Set<string>()
  for (let i = 0; i < RECORDED_CREATES; i++) {
    const { externalId } = evidenceOf(creator.count)
    const { name: category } = categoryOf(creator.count).category
    const recording: Recording = { gets: [], commits: [] }
    recorder.recording = recording
    const { id, txId } = await creator.createOne()
    recorder.recording = undefined
    // Only the first create in a category looks it up, and the loop does not.
    if (!known.has(category)) recording.gets.length = 0
    known.add(category)
    const commit = recording.commits.find(({ append }) => append !== undefined)
    if (commit === undefined) throw new Error('a create did not commit')
    recorded.push({
      gets: recording.gets,
      commit,
      uniqueParts: [encodeURIComponent(externalId), id, txId],
      hashed: await readHashedTexts(bench, externalId),
    })
  }
  return recorded
}

/** Returns every text that the hashes of the create event cover, with its tag and salt, from the event's disclosure. */
async function readHashedTexts(
  { registry, scope }: BenchRegistry,
  externalId: string,
): Promise<RecordedCreate['hashed']> {
  const page = await registry.evidences.get(scope, externalId, { disclose: true })
  const disclosure = page.events[0]?.disclosure
  if (disclosure === undefined) throw new Error('an event was not disclosed')
  const salted = [...Object.values(disclosure.fields).map(({ text }) => text), disclosure.filesText]
  const prefix = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)
  return [
    ...salted.map((text) => ({ before: prefix(TAG_BYTES + SALT_BYTES), text })),
    { before: prefix(TAG_BYTES), text: disclosure.header },
    // The slot (tag, slotKey, version) and the opening.
    { before: prefix(TAG_BYTES + 32 + 8), text: '' },
    { before: prefix(OPENING_BYTES), text: '' },
  ]
}

/** Reads the records that the recorded creates read and did not write. */
async function readShared({ records }: BenchRegistry, recorded: readonly RecordedCreate[]) {
  const keys = new Set(recorded.flatMap(({ gets }) => gets.flat()))
  const entries = await records.get([...keys])
  return new Map(entries.filter((entry) => entry !== undefined).map(({ key, value }) => [key, value]))
}
