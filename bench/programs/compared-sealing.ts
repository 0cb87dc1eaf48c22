import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SealingWork } from '../compare/scenarios.ts'
import { measureOwnRate, type Rate } from '../run/cpu-time.ts'
import type * as Level from '../../adapters/level/index.ts'
import type * as Backlog from '../workload/backlog.ts'
import type * as LibraryTree from '../workload/library-tree.ts'
import type * as LogAppends from '../workload/log-appends.ts'
import { secondsInFlight } from '../workload/concurrency.ts'
import { ProofReader } from '../workload/tree-builder.ts'
import { makeEntries } from '../workload/tree-measurement.ts'

/**
 * `compared-sealing DIST DIRECTORY LEAVES`: hashes, proves and seals with the library in this build each time that its
 * parent process sends a `SealingWork`. Sends back the `Rate`. The build's own benchmark code calls its library.
 */

const [dist = '', directory = '', leaves = ''] = process.argv.slice(2)
const urlOf = (path: string): string => pathToFileURL(join(dist, path)).href
const { libraryInline }: typeof LibraryTree = await import(urlOf('bench/workload/library-tree.js'))
const { BATCH_SIZE, openSealingRegistry }: typeof Backlog = await import(urlOf('bench/workload/backlog.js'))
const { randomAppends }: typeof LogAppends = await import(urlOf('bench/workload/log-appends.js'))
const { openLevelRecords }: typeof Level = await import(urlOf('adapters/level/index.js'))

const entries = makeEntries(Number(leaves))
const builder = libraryInline()
const tree = await builder.build(entries)
await tree.prepareProofs?.()
await mkdir(directory, { recursive: true })
const records = await openLevelRecords(join(directory, 'records'))
const registry = await openSealingRegistry({ directory, records })

/** What is done before each measurement, and what is measured. */
const WORK: Readonly<Record<SealingWork, readonly [prepare: () => Promise<unknown>, run: () => Promise<unknown>]>> = {
  tree: [async () => undefined, () => builder.build(entries)],
  proofs: [async () => undefined, () => tree.makeProofs(new ProofReader())],
  sealing: [() => records.commit({ append: randomAppends(BATCH_SIZE) }), () => registry.sealNow()],
}

async function measure(work: SealingWork): Promise<Rate> {
  const [prepare, run] = WORK[work]
  await prepare()
  return measureOwnRate(async () => ({ completed: 1, seconds: await secondsInFlight(1, 1, run) }))
}

process.on('message', (work: SealingWork) => void measure(work).then((rate) => process.send?.(rate)))
process.once('disconnect', () => process.exit())
process.send?.('ready')
