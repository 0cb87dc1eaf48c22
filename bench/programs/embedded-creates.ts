import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { measureOwnRate, type Rate } from '../run/cpu-time.ts'
import type * as Workload from '../workload/registry.ts'
import { writingWith, type Writing } from '../workload/writing.ts'

/**
 * `embedded-creates DIST`: creates evidences with the library in this build each time that its parent process sends a
 * `Writing`. Sends back the `Rate`. The own benchmark code of the build calls its library. Files are in TMPDIR.
 * An earlier build makes bulk creates in a worker, as its server does.
 */

const [dist = ''] = process.argv.slice(2)
const urlOf = (path: string): string => pathToFileURL(join(dist, path)).href
const { createCategories, EvidenceCreator, openBenchRegistry }: typeof Workload = await import(
  urlOf('bench/workload/registry.js')
)
const { EventPool }: { readonly EventPool?: new () => object } = await import(urlOf('sealer/index.js'))
const options: object = EventPool === undefined ? {} : { eventEngine: new EventPool() }
const bench = await openBenchRegistry(options)
const [category = ['', '']] = await createCategories(bench)
const creator = new EvidenceCreator(bench)

const write = writingWith((size) => (size === 1 ? creator.createOne() : creator.createMany(category, size)))

const measure = (writing: Writing): Promise<Rate> => measureOwnRate(() => write(writing))

process.on('message', (request: Writing) => void measure(request).then((rate) => process.send?.(rate)))
process.once('disconnect', () => process.exit())
process.send?.('ready')
