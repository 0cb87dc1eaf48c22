import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openS3Blobs } from '../../adapters/s3/index.ts'
import type { BlobStore } from '../../core/ports.ts'
import { openBucketBlobs, openFileBlobs } from '../../server/startup/blobs.ts'
import { loadConfig, type Config } from '../../server/settings/config.ts'
import { Ceph, cephIsMissing, CREDENTIALS } from '../../test/support/ceph.ts'
import { shown, type Bench, type Row } from '../run/case.ts'

/**
 * Files in a bucket against files on this machine, in one run: many small ones, and one large at a time. The bucket is the
 * one that EVIDENCE_S3_BUCKET and the other settings name, as the server reads them; without one, it is in a Ceph of the bench's own,
 * which keeps its objects in memory. Local files lie below TMPDIR, which must be a real disk. Everything written is deleted again.
 */
const BUCKET = 'evidence-bench'
const SMALL_BYTES = 100_000
const MIB = 1024 * 1024
const LARGE_BYTES = 100 * MIB
const CHUNK = randomBytes(65_536)

async function* bodyOf(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, Math.min(left, CHUNK.length))
}

async function read(store: BlobStore, key: string): Promise<void> {
  let bytes = 0
  const found = await store.get(key)
  for await (const chunk of found?.body ?? []) bytes += chunk.length
  if (found?.size !== bytes) throw new Error(`${key} came back with ${bytes} bytes`)
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1_000
}

/** Does `work` for each key, so many at a time. */
async function each(keys: readonly string[], inFlight: number, work: (key: string) => Promise<unknown>): Promise<void> {
  const left = [...keys]
  const worker = async (): Promise<void> => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) await work(key)
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}

async function measure(
  name: string,
  store: BlobStore,
  files: number,
  progress: (text: string) => void,
): Promise<{ readonly rows: Row[]; readonly of: Readonly<Record<string, number>> }> {
  const rows: Row[] = []
  const of: Record<string, number> = {}
  const note = (what: string, value: number, unit: string): void => {
    rows.push({ store: name, what, value: shown(value), unit })
    of[what] = value
    progress(`${name}: ${what}`)
  }
  const small = { maxBytes: SMALL_BYTES }
  for (const inFlight of [1, 16]) {
    const keys = Array.from({ length: files }, () => randomUUID())
    const timed = async (what: string, work: (key: string) => Promise<unknown>): Promise<void> =>
      note(`${what} 100 kB, ${inFlight} at once`, files / (await seconds(() => each(keys, inFlight, work))), 'files/s')
    await timed('put', (key) => store.put(key, bodyOf(SMALL_BYTES), small))
    await timed('get', (key) => read(store, key))
    await timed('delete', (key) => store.delete(key))
  }
  const key = randomUUID()
  const mib = LARGE_BYTES / MIB
  const put = (): Promise<unknown> => store.put(key, bodyOf(LARGE_BYTES), { maxBytes: LARGE_BYTES })
  note('put 100 MiB', mib / (await seconds(put)), 'MiB/s')
  note('get 100 MiB', mib / (await seconds(() => read(store, key))), 'MiB/s')
  await store.delete(key)
  return { rows, of }
}

interface Bucket {
  readonly store: BlobStore
  readonly service: string
  stop(): Promise<void>
}

/** That of the settings, else one in a Ceph of its own. `undefined`, said in a line, where there is none. */
async function openBucket(progress: (text: string) => void): Promise<Bucket | undefined> {
  // The configuration is always one to run where no flags are given.
  const { run: config } = loadConfig({ args: [], env: process.env }) as { readonly run: Config }
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

export const blobs: Bench = {
  name: 'blobs',
  about: 'files in a bucket against files on this machine',
  async run({ quick, progress }) {
    const files = quick ? 50 : 500
    const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
    const bucket = await openBucket(progress)
    const opened: BlobStore[] = []
    try {
      opened.push(await openFileBlobs(directory))
      if (bucket !== undefined) opened.push(bucket.store)
      const measured = []
      for (const [n, store] of opened.entries())
        measured.push(await measure(n === 0 ? 'local files' : 'S3', store, files, progress))
      const [local, other] = measured
      const findings = Object.entries(other?.of ?? {}).map(([what, value]) => [
        `${what}: S3 of local`,
        shown(value / (local?.of[what] ?? Number.NaN)),
      ])
      return {
        settings: { files, smallBytes: SMALL_BYTES, largeBytes: LARGE_BYTES, s3: bucket?.service ?? 'none' },
        rows: measured.flatMap(({ rows }) => rows),
        findings: Object.fromEntries(findings) as Record<string, number>,
      }
    } finally {
      await Promise.all(opened.map((store) => store.close()))
      await bucket?.stop()
      await rm(directory, { recursive: true })
    }
  },
}
