import assert from 'node:assert/strict'
import { cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openLocalBlobs } from '../../../adapters/files/index.ts'
import { MemoryBlobs, MemoryRecords } from '../../../adapters/memory/index.ts'
import type { BlobStore } from '../../../core/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { nameBlobStore, storedBlobStore } from '../../../core/ops/index.ts'
import { decorateBlobs, decorateRecords } from '../../../core/store/decorate.ts'
import { keys } from '../../../core/store/keys.ts'
import { encodeRecord } from '../../../core/store/codec.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { adoptBucket, checkBlobStore, claimBlobStore } from '../../../server/startup/markers.ts'
import { openDirectory } from '../../support/configured-registry.ts'
import { temporaryFor } from '../../support/temporary.ts'

const FOLDERS = ['records', 'blobs', 'tsa', 'ledger']
const MARKED = ['', 'blobs', 'tsa', 'ledger']

async function startAndStop(directory: string): Promise<void> {
  const { registry } = await openDirectory(directory)
  await registry.close()
}

const failsToStart = (directory: string, message: RegExp, what: string): Promise<void> =>
  assert.rejects(openDirectory(directory), { name: 'RegistryError', message }, what)

describe('the folders of a data directory', () => {
  it('must be there and belong to this registry, and nothing is made in the place of a lost one', async (t) => {
    const root = await temporaryFor(t)
    const [data, other, away] = [join(root, 'data'), join(root, 'other'), join(root, 'away')]
    await startAndStop(data)
    await startAndStop(other)
    for (const name of [...FOLDERS, 'secret']) {
      const path = join(data, name)
      await rename(path, away)
      const before = await readdir(data)
      await failsToStart(data, new RegExp(`${path} `), `without ${name}`)
      assert.deepEqual(await readdir(data), before, `${name} was made`)
      if (name === 'records') {
        await mkdir(path)
        await failsToStart(data, new RegExp(`${path} is missing or`), 'with an empty folder for the records')
        await rm(path, { recursive: true })
      }
      if (name !== 'secret') {
        await cp(join(other, name), path, { recursive: true })
        await failsToStart(data, new RegExp(`${path} belongs to the registry`), `foreign ${name}`)
        await rm(path, { recursive: true })
      }
      await rename(away, path)
    }
    await startAndStop(data)
  })

  it('must have their content, which is not made again', async (t) => {
    const root = await temporaryFor(t)
    const [data, away] = [join(root, 'data'), join(root, 'away')]
    await startAndStop(data)
    for (const [folder, names] of [
      ['blobs', ['content']],
      ['tsa', ['ca.key', 'ca.pem', 'tsa.pem']],
      ['ledger', ['ledger.key', 'ledger.pub', 'blocks.jsonl']],
    ] as const) {
      await cp(join(data, folder), away, { recursive: true })
      for (const name of names) await rm(join(data, folder, name), { recursive: true })
      const before = await readdir(join(data, folder))
      await failsToStart(data, new RegExp(`${folder} is missing or is not the folder of this registry`), folder)
      assert.deepEqual(await readdir(join(data, folder)), before)
      await rm(join(data, folder), { recursive: true })
      await rename(away, join(data, folder))
    }
    await startAndStop(data)
  })

  it('get their markers if the first start was killed before it wrote them, but not if one is lost', async (t) => {
    const data = await temporaryFor(t)
    await startAndStop(data)
    const removeMarkers = async (): Promise<void> => {
      for (const name of MARKED) await rm(join(data, name, 'registry.json'))
    }
    await removeMarkers()
    await startAndStop(data)
    await removeMarkers()
    await rm(join(data, 'blobs'), { recursive: true })
    await failsToStart(data, /blobs is missing/, 'without blobs')
  })

  it('are refused with a marker that names no registry', async (t) => {
    const data = await temporaryFor(t)
    await startAndStop(data)
    await writeFile(join(data, 'tsa', 'registry.json'), '{"origin":')
    await failsToStart(
      data,
      /registry\.json of .*tsa does not name a registry: restore it .*, or use the release/,
      'torn',
    )
  })
})

const ORIGIN = 'registry/1'

/** Records that several servers share, with a registry in them. */
async function sharedRecords(): Promise<MemoryRecords> {
  const records = new MemoryRecords()
  const identity = { origin: ORIGIN, keys: [], secretId: '', createdAt: 0, textKey: '' }
  await records.commit({ writes: [putRecord(logKeys.identity(), identity)] })
  return records
}

/** Starts and opens a server on shared records. */
async function start(records: MemoryRecords, blobs: BlobStore, env: Record<string, string> = {}): Promise<void> {
  const config = loadConfig({ args: [], env })
  const claimFiles = await checkBlobStore({ config, records: decorateRecords(records, { isShared: true }), blobs })
  if (!config.readOnly) await claimFiles(ORIGIN)
}

async function startWithFiles(records: MemoryRecords, directory: string, env = {}): Promise<void> {
  const blobs = await openLocalBlobs(join(directory, 'blobs'))
  try {
    await start(records, blobs, { EVIDENCE_DATA_DIR: directory, ...env })
  } finally {
    await blobs.close()
  }
}

const BUCKET = { EVIDENCE_BLOBS: 's3', EVIDENCE_S3_BUCKET: 'files' }

const startWithBucket = (records: MemoryRecords, bucket: BlobStore): Promise<void> => start(records, bucket, BUCKET)

/** What the command does. */
const adopt = (records: MemoryRecords, blobs: BlobStore, env: Record<string, string> = BUCKET): Promise<void> =>
  adoptBucket(
    { config: loadConfig({ args: [], env }), records: decorateRecords(records, { isShared: true }), blobs },
    ORIGIN,
  )

/** A store with a marker, as a bucket. */
const bucketOf = (marker?: object): BlobStore => {
  let text = marker === undefined ? undefined : JSON.stringify(marker)
  return decorateBlobs(new MemoryBlobs(), {
    marker: { read: async () => text, write: async (content) => void (text ??= content) },
  })
}

describe('the blob store of shared records', () => {
  it('is named by the first server, and another one with files of its own is refused', async (t) => {
    const [a, b] = [await temporaryFor(t), await temporaryFor(t)]
    const records = await sharedRecords()
    await startWithFiles(records, a)
    await startWithFiles(records, a)
    const message = /not where the records have their files.*migrate-blobs/
    for (const env of [{}, { EVIDENCE_READ_ONLY: 'true' }])
      await assert.rejects(startWithFiles(records, b, env), { code: 'CORRUPT', message })
    await assert.rejects(startWithBucket(records, bucketOf()), { code: 'CORRUPT', message })

    // As migrate-blobs does after it has copied the files.
    const blobs = await openLocalBlobs(join(b, 'blobs'))
    const config = loadConfig({ args: [], env: { EVIDENCE_DATA_DIR: b } })
    const id = await claimBlobStore({ config, blobs }, ORIGIN)
    assert.ok(id !== undefined && (await nameBlobStore(records, id, await storedBlobStore(records))))
    await blobs.close()
    await startWithFiles(records, b)
    await assert.rejects(startWithFiles(records, a), { code: 'CORRUPT', message })
  })

  it('is that of one of two servers that start at the same time', async () => {
    const records = decorateRecords(await sharedRecords(), { isShared: true })
    const config = loadConfig({ args: [], env: BUCKET })
    const [first, second] = [bucketOf(), bucketOf()].map((blobs) => checkBlobStore({ config, records, blobs }))
    await Promise.all([first, second])
    await (
      await first
    )?.(ORIGIN)
    await assert.rejects(async () => (await second)?.(ORIGIN), { code: 'CORRUPT', message: /not where the records/ })
  })

  it('is not one without a marker if a file is on record, unless it is a bucket that is adopted', async (t) => {
    const records = await sharedRecords()
    const file = { id: '0190163d-8694-739b-aea5-966c26f8ad91', size: 3, company: 'acme' }
    await records.commit({ writes: [{ key: keys.file(file.id), value: encodeRecord(file) }] })
    const message = /does not hold the files of this registry/
    await assert.rejects(startWithFiles(records, await temporaryFor(t)), { code: 'CORRUPT', message })
    await assert.rejects(adopt(records, new MemoryBlobs(), {}), { code: 'CONFIG_ERROR', message: /no bucket to adopt/ })
    await assert.rejects(startWithBucket(records, bucketOf()), { code: 'CORRUPT', message })
    assert.equal(await storedBlobStore(records), undefined)
    const bucket = bucketOf()
    await adopt(records, bucket)
    assert.notEqual(await storedBlobStore(records), undefined)
    await startWithBucket(records, bucket)
  })

  it('is one bucket for servers that start at the same time, until another one is adopted', async () => {
    const records = await sharedRecords()
    const bucket = bucketOf()
    await Promise.all([startWithBucket(records, bucket), startWithBucket(records, bucket)])
    await startWithBucket(records, bucket)
    const foreign = bucketOf({ origin: 'registry/2', id: 'x', folders: [] })
    await assert.rejects(startWithBucket(records, foreign), { code: 'CORRUPT', message: /belongs to the registry/ })
    const adopted = bucketOf()
    await assert.rejects(startWithBucket(records, adopted), { code: 'CORRUPT' })
    await adopt(records, adopted)
    await startWithBucket(records, adopted)
    await assert.rejects(adopt(records, adopted), { code: 'CONFIG_ERROR', message: /nothing to adopt/ })
    await assert.rejects(adopt(records, foreign), { code: 'CORRUPT', message: /belongs to the registry/ })
    await assert.rejects(startWithBucket(records, bucket), { code: 'CORRUPT' })
  })
})
