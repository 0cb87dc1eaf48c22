import { join } from 'node:path'
import { OPENING_BYTES, SALT_BYTES, TAG_BYTES } from '../../core/commitment/event-format.ts'
import type { Key } from '../../core/ports.ts'
import { BareCreates, RecordingStore, type BareInput, type RecordedCreate } from '../peers/bare-creates.ts'
import { median, shown, type Bench, type BenchContext, type Row } from '../run/case.ts'
import {
  evidenceOf,
  inFlight,
  makePlaces,
  openBenchRegistry,
  placeOf,
  type BenchRegistry,
} from '../workload/registry.ts'

/** Creates in flight, and how many are timed in each round. */
const WIDTHS = [
  { width: 1, count: 500 },
  { width: 16, count: 3_000 },
  { width: 256, count: 8_000 },
] as const
const BATCH = 1_000
const BATCHES = 8
const ROUNDS = 5
const RECORDED = 64
/** So that each width is measured in code that is compiled, in a store whose first compactions are over. */
const WARM_UP = 5_000

/** `createEvidence` embedded, synced, beside a bare loop of the same reads, hashes, puts and syncs. */
export const ingest: Bench = {
  name: 'ingest',
  about: 'creating evidences: one, 16 and 256 in flight, and in batches, beside a bare loop of the same work',
  async run(context) {
    let store: RecordingStore | undefined
    const bench = await openBenchRegistry({ wrap: (records) => (store = new RecordingStore(records)) })
    try {
      const places = await makePlaces(bench)
      const recorded = await recordCreates(bench, store as RecordingStore)
      const bare = await BareCreates.open(join(bench.directory, 'bare'), recorded, await sharedRecords(bench, recorded))
      try {
        return await measure(bench, bare, places[0] as [string, string], context)
      } finally {
        await bare.close()
      }
    } finally {
      await bench.close()
    }
  },
}

/** The bare loops, and what their rates are called. */
const COLUMNS: Readonly<Record<BareInput, string>> = {
  lookups: 'bareWithLookupsPerSecond',
  records: 'bareLoopPerSecond',
  bytes: 'bareBytesPerSecond',
}
const BARE_INPUTS = Object.keys(COLUMNS) as BareInput[]
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

let created = 0

const createNext = ({ registry, scope }: BenchRegistry) => {
  const index = created++
  return registry.evidences.create(scope, { ...placeOf(index), ...evidenceOf(index) })
}

const createBatch = ({ registry, scope }: BenchRegistry, place: readonly [string, string]) => {
  const inputs = Array.from({ length: BATCH }, () => evidenceOf(created++))
  return registry.evidences.createIn(scope, ...place, inputs)
}

async function measure(
  bench: BenchRegistry,
  bare: BareCreates,
  place: readonly [string, string],
  { quick, progress }: BenchContext,
) {
  const rounds = quick ? 1 : ROUNDS
  const scale = quick ? 0.1 : 1
  await inFlight(WARM_UP * scale, 256, () => createNext(bench))
  for (const input of BARE_INPUTS) await bare.run(WARM_UP * scale, 256, input)
  const rows: Row[] = []
  const findings: Record<string, number> = {}
  for (const { width, count } of WIDTHS) {
    const ours: number[] = []
    const bareLoops = BARE_INPUTS.map((input) => ({ input, seconds: [] as number[] }))
    for (let round = 0; round < rounds; round++) {
      ours.push((await inFlight(count * scale, width, () => createNext(bench))) / (count * scale))
      for (const { input, seconds } of bareLoops)
        seconds.push((await bare.run(count * scale, width, input)) / (count * scale))
      progress(`${width} in flight, round ${round + 1} of ${rounds}`)
    }
    const row: Record<string, number> = { inFlight: width, createsPerSecond: shown(1 / median(ours)) }
    for (const { input, seconds } of bareLoops) {
      row[COLUMNS[input]] = shown(1 / median(seconds))
      findings[`of${capital(COLUMNS[input].replace('PerSecond', ''))}At${width}`] = shown(
        median(seconds) / median(ours),
      )
    }
    rows.push(row)
  }
  const batches: number[] = []
  const pairs: number[] = []
  const singles: number[] = []
  for (let round = 0; round < rounds; round++) {
    singles.push((await inFlight(WIDTHS[2].count * scale, 256, () => createNext(bench))) / (WIDTHS[2].count * scale))
    batches.push((await inFlight(BATCHES, 1, () => createBatch(bench, place))) / (BATCHES * BATCH))
    pairs.push((await inFlight(BATCHES, 2, () => createBatch(bench, place))) / (BATCHES * BATCH))
    progress(`batches of ${BATCH}, round ${round + 1} of ${rounds}`)
  }
  rows.push({ inFlight: `batches of ${BATCH}, one at a time`, createsPerSecond: shown(1 / median(batches)) })
  rows.push({ inFlight: `batches of ${BATCH}, two at a time`, createsPerSecond: shown(1 / median(pairs)) })
  findings['pairsOfBatchesOverSingles'] = shown(median(singles) / median(pairs))
  findings['batchesOverSingles'] = shown(median(singles) / median(batches))
  return {
    settings: { store: 'LevelDB, each group one synced write', rounds, sealing: 'as by default, every 5 s' },
    rows,
    findings,
  }
}

/** What so many creates did, one at a time. */
async function recordCreates(bench: BenchRegistry, store: RecordingStore): Promise<readonly RecordedCreate[]> {
  const recorded: RecordedCreate[] = []
  const lookups = new Map<string, readonly (readonly Key[])[]>()
  for (let i = 0; i < RECORDED; i++) {
    const { externalId } = evidenceOf(created)
    const { categoryName } = placeOf(created)
    const recording = { gets: [] as (readonly Key[])[], commits: [] as RecordedCreate['commit'][] }
    store.recording = recording
    const { id, events } = await createNext(bench)
    store.recording = undefined
    // Only the first at a place looks it up.
    if (!lookups.has(categoryName)) lookups.set(categoryName, recording.gets.splice(0))
    const [commit] = recording.commits.filter(({ append }) => append !== undefined)
    if (commit === undefined) throw new Error('a create made no commit')
    const own = [encodeURIComponent(externalId), id, events[0]?.txId ?? '']
    recorded.push({
      gets: recording.gets,
      lookups: lookups.get(categoryName) ?? [],
      commit,
      own,
      hashed: await hashedBy(bench, externalId),
    })
  }
  return recorded
}

/** Every text that the create event's hashes are of, with its tag and salt: what `disclose` shows. */
async function hashedBy({ registry, scope }: BenchRegistry, externalId: string): Promise<RecordedCreate['hashed']> {
  const page = await registry.evidences.get(scope, externalId, { disclose: true })
  const disclosure = page.events[0]?.disclosure
  if (disclosure === undefined) throw new Error('an event was not disclosed')
  const salted = [...Object.values(disclosure.fields).map(({ text }) => text), disclosure.filesText]
  const before = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)
  return [
    ...salted.map((text) => ({ before: before(TAG_BYTES + SALT_BYTES), text })),
    { before: before(TAG_BYTES), text: disclosure.header },
    // The slot (tag, slotKey, version) and the opening.
    { before: before(TAG_BYTES + 32 + 8), text: '' },
    { before: before(OPENING_BYTES), text: '' },
  ]
}

/** The records that the recorded creates read and that are not their own. */
async function sharedRecords({ records }: BenchRegistry, recorded: readonly RecordedCreate[]) {
  const keys = new Set(recorded.flatMap(({ gets, lookups }) => [...gets, ...lookups].flat()))
  const entries = await records.get([...keys])
  return new Map(entries.filter((entry) => entry !== undefined).map(({ key, value }) => [key, value]))
}
