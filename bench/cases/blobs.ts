import { randomBytes, randomUUID } from 'node:crypto'
import { openS3Blobs } from '../../adapters/s3/index.ts'
import type { BlobStore } from '../../core/ports/index.ts'
import { openBucketBlobs, openFileBlobs } from '../../server/startup/blobs.ts'
import { loadConfig } from '../../server/settings/load.ts'
import { Ceph, cephIsMissing, CREDENTIALS } from '../../test/support/ceph.ts'
import { formatFinding, roundFigure, type BenchCase, type Row } from '../run/case.ts'
import { inTemporaryFolder, secondsInFlight } from '../workload/concurrency.ts'

const BUCKET = 'evidence-bench'
const SMALL_BYTES = 100_000
const MIB = 1024 * 1024
const LARGE_BYTES = 100 * MIB
const WIDTHS = [1, 16] as const
const LOCAL = 'local files'
const CHUNK = randomBytes(65_536)

async function* bodyOf(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, Math.min(left, CHUNK.length))
}

async function readBlob(store: BlobStore, key: string): Promise<void> {
  let bytes = 0
  const blob = await store.get(key)
  for await (const chunk of blob?.body ?? []) bytes += chunk.length
  if (blob?.size !== bytes) throw new Error(`${key} was read with ${bytes} bytes`)
}

interface Measurement {
  readonly operation: string
  readonly value: number
  readonly unit: string
}

async function* measureStore(store: BlobStore, files: number): AsyncGenerator<Measurement> {
  for (const width of WIDTHS) yield* measureSmall(store, files, width)
  const key = randomUUID()
  const put = () => store.put(key, bodyOf(LARGE_BYTES), { maxBytes: LARGE_BYTES })
  const mib = LARGE_BYTES / MIB
  yield { operation: 'put 100 MiB', value: mib / (await secondsInFlight(1, 1, put)), unit: 'MiB/s' }
  const get = () => readBlob(store, key)
  yield { operation: 'get 100 MiB', value: mib / (await secondsInFlight(1, 1, get)), unit: 'MiB/s' }
  await store.delete(key)
}

async function* measureSmall(store: BlobStore, files: number, width: number): AsyncGenerator<Measurement> {
  const keys = Array.from({ length: files }, () => randomUUID())
  const time = async (name: string, work: (key: string) => Promise<unknown>): Promise<Measurement> => ({
    operation: `${name} 100 kB, ${width} at once`,
    value: files / (await secondsInFlight(files, width, (i) => work(keys[i] ?? ''))),
    unit: 'files/s',
  })
  yield await time('put', (key) => store.put(key, bodyOf(SMALL_BYTES), { maxBytes: SMALL_BYTES }))
  yield await time('get', (key) => readBlob(store, key))
  yield await time('delete', (key) => store.delete(key))
}

interface Bucket {
  readonly store: BlobStore
  readonly service: string
  stop(): Promise<void>
}

/** The bucket of the settings, or one in a new Ceph. `undefined`, with a progress line, if neither is available. */
async function openBucket(progress: (text: string) => void): Promise<Bucket | undefined> {
  const config = loadConfig({ args: [], env: process.env })
  if (config.s3Bucket !== undefined) {
    const store = await openBucketBlobs(config)
    return { store, service: config.s3Endpoint ?? 'Amazon S3', stop: async () => undefined }
  }
  const missing = cephIsMissing()
  if (missing !== undefined) {
    progress(`only local files are measured: EVIDENCE_S3_BUCKET is not set, and there is ${missing}`)
    return undefined
  }
  const ceph = await Ceph.start()
  await ceph.makeBucket(BUCKET)
  const store = await openS3Blobs({
    endpoint: ceph.endpoint,
    region: 'us-east-1',
    bucket: BUCKET,
    credentials: CREDENTIALS,
  })
  return { store, service: "Ceph's gateway on this machine, its objects in memory", stop: () => ceph.stop() }
}

/**
 * Many small files and one large file in an S3 bucket and on this machine.
 *
 * The bucket is the one that EVIDENCE_S3_BUCKET and the other settings name, as the server reads them. Without one, it
 * is in a new Ceph that keeps its objects in memory, so that bucket has neither a network nor a disk behind it. Local
 * files lie below TMPDIR, which must be on a real disk. Everything written is deleted again.
 */
export const blobs: BenchCase = {
  name: 'blobs',
  measures: 'files in an S3 bucket against files on this machine',
  columns: { store: 'store', operation: 'operation', value: 'figure', unit: 'unit' },
  async run({ quick, progress }) {
    const files = quick ? 50 : 500
    const bucket = await openBucket(progress)
    const opened: { readonly name: string; readonly store: BlobStore }[] = []
    const rows: Row[] = []
    const rates = new Map<string, number>()
    await inTemporaryFolder(async (directory) => {
      try {
        opened.push({ name: LOCAL, store: await openFileBlobs(directory) })
        if (bucket !== undefined) opened.push({ name: 'S3', store: bucket.store })
        for (const { name, store } of opened)
          for await (const { operation, value, unit } of measureStore(store, files)) {
            rows.push({ store: name, operation, value: roundFigure(value), unit })
            rates.set(`${name} ${operation}`, value)
            progress(`${name}: ${operation}`)
          }
      } finally {
        await Promise.all(opened.map(({ store }) => store.close()))
        await bucket?.stop()
      }
    })
    const sizes = { files, smallBytes: SMALL_BYTES, largeBytes: LARGE_BYTES }
    return { settings: { ...sizes, s3: bucket?.service ?? 'none' }, rows, findings: ratiosOf(rates) }
  },
  conclude: (result) =>
    `In S3, writing small files 16 at once reaches ${formatFinding(result, 'put 100 kB, 16 at once: S3 of local')} and ` +
    `reading them ${formatFinding(result, 'get 100 kB, 16 at once: S3 of local')} of the rate of local files.`,
}

/** The rate in the bucket divided by that of local files, for each operation. */
function ratiosOf(rates: ReadonlyMap<string, number>): Record<string, number> {
  const operations = [...rates.keys()].filter((key) => key.startsWith('S3 ')).map((key) => key.slice('S3 '.length))
  const ratio = (operation: string): number =>
    roundFigure((rates.get(`S3 ${operation}`) ?? Number.NaN) / (rates.get(`${LOCAL} ${operation}`) ?? Number.NaN))
  return Object.fromEntries(operations.map((operation) => [`${operation}: S3 of local`, ratio(operation)]))
}
