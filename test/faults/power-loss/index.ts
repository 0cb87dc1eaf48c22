import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pick, randomFrom, type Random } from '../../support/bundle-mutations.ts'
import { programArgs } from '../../support/repository.ts'
import { withTemporary } from '../../support/temporary.ts'
import { Interposer } from '../interposer/index.ts'
import { controlFailures, named, type FaultPart, type FaultResult, type FaultRun } from '../part.ts'
import { runCases } from '../run-cases.ts'
import { blobNames, checkDirectory, problemsOf } from '../workload/check.ts'
import { DAMAGES, SimulatedDisk, type Damage } from './disk.ts'
import { tracesOf } from './marks.ts'
import { parseTrace, type TraceRecord } from './trace.ts'

/** So many consecutive seeds use images of the same trace. */
const IMAGES_PER_TRACE = 25
/** Writes in each of the two sessions of a trace. */
const WRITES = 30
/** Images of the control, of which at least one must show a loss. The deletion of a file makes LevelDB write tables. */
const CONTROL_IMAGES = 8

export const part: FaultPart = {
  name: 'power-loss',
  passesWhen: 'After a power loss at any point, no acknowledged write is lost, and the registry opens',
  count: { short: 25, long: 100 },
  run,
}

async function run(options: FaultRun): Promise<FaultResult> {
  const result = await Interposer.with((interposer) => runWith(interposer, options))
  return typeof result === 'string' ? { cases: 0, failures: [], figures: 'none', skipped: result } : result
}

async function runWith(interposer: Interposer, options: FaultRun): Promise<FaultResult> {
  const traces = new TraceCache(interposer)
  const { results, failures } = await runCases(options, async (seed) =>
    runCase(await traces.of(Math.floor(seed / IMAGES_PER_TRACE)), seed),
  )
  const { seed } = options
  const lost = await countControlLosses(interposer, seed)
  const trace = await traces.of(Math.floor(seed / IMAGES_PER_TRACE))
  const controls = [
    ...controlFailures(seed, lost > 0, 'LevelDB without sync'),
    ...controlFailures(seed, await isUnusedBlobNoticed(trace, seed), 'a file in the blob store that nothing names'),
  ]
  const sum = (count: keyof ImageResult): string =>
    results.reduce((total, each) => total + each[count], 0).toLocaleString('en')
  return {
    cases: results.length + failures.length,
    failures: [...failures, ...controls],
    figures:
      `${results.length} images with ${sum('acknowledged')} acknowledged writes, 0 lost; ` +
      `${sum('removedBlobs')} files of interrupted uploads and deletions, all found; ` +
      `without sync ${lost} of ${CONTROL_IMAGES} images lost some`,
  }
}

/**
 * `default`: the process as it is. `small-buffer`: LevelDB switches its log and writes tables all the time. `no-sync`:
 * the control, LevelDB acknowledges before its log is durable.
 */
type Variant = 'default' | 'small-buffer' | 'no-sync'

/** What a process did to a folder. */
interface Trace {
  readonly variant: Variant
  readonly root: string
  readonly records: readonly TraceRecord[]
}

/** The newest traces. Cases of one trace follow each other. */
class TraceCache {
  readonly #interposer: Interposer
  readonly #traces = new Map<number, Promise<Trace>>()

  constructor(interposer: Interposer) {
    this.#interposer = interposer
  }

  of(seed: number): Promise<Trace> {
    const known = this.#traces.get(seed)
    if (known !== undefined) return known
    this.#traces.delete(seed - 2)
    const trace = record(this.#interposer, seed, seed % 2 === 0 ? 'default' : 'small-buffer')
    this.#traces.set(seed, trace)
    return trace
  }
}

const record = (interposer: Interposer, seed: number, variant: Variant): Promise<Trace> =>
  withTemporary(async (folder) => {
    const [root, tracePath] = [join(folder, 'root'), join(folder, 'trace')]
    await mkdir(root)
    const args = [...programArgs('test/faults/power-loss/writer.ts'), root, String(seed), String(WRITES), variant]
    const env = { PATH: '', ...interposer.environment({ root, tracePath }) }
    await promisify(execFile)(process.execPath, args, { env })
    return { variant, root, records: parseTrace(await readFile(tracePath)) }
  })

interface ImageResult {
  /** Writes that were acknowledged before the power loss. */
  readonly acknowledged: number
  /** Files that an upload or a deletion in progress had left, whole or torn. */
  readonly removedBlobs: number
}

/** Cuts a trace at a random point, and checks the image. */
async function runCase(trace: Trace, seed: number): Promise<ImageResult> {
  const random = randomFrom(seed)
  const cut = chooseCut(trace.records, random)
  return checkImage(trace, { cut, damage: DAMAGES[seed % DAMAGES.length] as Damage, random })
}

interface PowerLoss {
  /** The power fails after so many records of the trace. */
  readonly cut: number
  readonly damage: Damage
  readonly random: Random
}

/** The disk after so many records of a trace, and the writes that it must hold. */
function diskAt(trace: Trace, cut: number): { disk: SimulatedDisk; traces: ReturnType<typeof tracesOf> } {
  const disk = new SimulatedDisk(trace.root, trace.variant === 'small-buffer' ? () => true : isTableOrLog)
  const records = trace.records.slice(0, cut)
  for (const each of records) disk.apply(each)
  return { disk, traces: tracesOf(marksIn(trace, records)) }
}

/**
 * LevelDB may name a new table in its manifest, or sync writes in a new log, before it has synced the folder: see
 * README.md.
 */
const isTableOrLog = (path: string): boolean => /\.(?:ldb|log)$/.test(path)

function checkImage(trace: Trace, { cut, damage, random }: PowerLoss): Promise<ImageResult> {
  const { disk, traces } = diskAt(trace, cut)
  const acknowledged = traces.reduce((sum, each) => sum + each.acknowledged.length, 0)
  const point = `after record ${cut} of ${trace.records.length} (${describeRecord(trace, cut)}), ${damage}`
  return named(`${point}, ${acknowledged} acknowledged`, () =>
    withTemporary(async (folder) => {
      await disk.writeImage(folder, damage, random)
      const data = join(folder, 'data')
      const blobsBefore = await blobNames(data)
      await checkDirectory(data, traces)
      return { acknowledged, removedBlobs: blobsBefore.length - (await blobNames(data)).length }
    }),
  )
}

/** Most cuts are immediately before or after a sync, when the most is at stake. */
function chooseCut(records: readonly TraceRecord[], random: Random): number {
  const syncs = records.flatMap(({ operation }, i) => (operation.startsWith('sync') ? [i] : []))
  const side = random()
  if (side < 0.2) return Math.floor(random() * records.length)
  return pick(random, syncs) + (side < 0.6 ? 0 : 1)
}

function describeRecord({ root, records }: Trace, cut: number): string {
  const { operation, path } = records[cut] ?? { operation: 'end', path: '' }
  return `next: ${operation} ${path.slice(root.length)}`
}

/** The lines that the traced process wrote about its work. */
function marksIn({ root }: Trace, records: readonly TraceRecord[]): readonly string[] {
  const marks = records.find(({ operation, path }) => operation === 'create' && path === join(root, 'marks'))
  const writes = records.filter(({ operation, file }) => operation === 'write' && file === marks?.file)
  return writes.flatMap(({ bytes }) => bytes.toString().split('\n').filter(Boolean))
}

/** How many images of a registry whose LevelDB does not sync show a loss. */
async function countControlLosses(interposer: Interposer, seed: number): Promise<number> {
  const trace = await record(interposer, seed, 'no-sync')
  let lost = 0
  for (let i = 1; i <= CONTROL_IMAGES; i += 1) {
    const cut = Math.floor((i * trace.records.length) / CONTROL_IMAGES)
    const isWhole = await checkImage(trace, { cut, damage: 'none of it', random: randomFrom(seed + i) }).then(
      () => true,
      () => false,
    )
    if (!isWhole) lost += 1
  }
  return lost
}

/** Whether a file that no record and no upload intent names is reported. */
const isUnusedBlobNoticed = (trace: Trace, seed: number): Promise<boolean> =>
  withTemporary(async (folder) => {
    const { disk, traces } = diskAt(trace, trace.records.length)
    const [data, name] = [join(folder, 'data'), 'planted']
    await disk.writeImage(folder, 'all of it', randomFrom(seed))
    await mkdir(join(data, 'blobs/content/00'), { recursive: true })
    await writeFile(join(data, 'blobs/content/00', name), '')
    return (await problemsOf(data, traces)).some((problem) => problem.includes(name))
  })
