import { decorateBlobs, decorateRecords } from '../../../core/store/decorate.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openLocalBlobs } from '../../../adapters/files/index.ts'
import { MemoryBlobs, MemoryRecords } from '../../../adapters/memory/index.ts'
import type { BlobStore } from '../../../core/index.ts'
import { nameBlobStore, storedBlobStore } from '../../../core/ops/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { keys } from '../../../core/store/keys.ts'
import { encodeRecord } from '../../../core/store/codec.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { checkBlobStore, claimBlobStore } from '../../../server/startup/blob-store-marker.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { temporaryFor } from '../../support/temporary.ts'

const ORIGIN = 'registry/1'

/** Records that several servers share, with a registry in them. */
async function sharedRecords(): Promise<MemoryRecords> {
  const records = new MemoryRecords()
  const identity = { origin: ORIGIN, keys: [], secretId: '', createdAt: 0 }
  await records.commit({ writes: [putRecord(logKeys.identity(), identity)] })
  return records
}

/** Starts and opens a server on shared records. */
async function start(records: MemoryRecords, blobs: BlobStore, env: Record<string, string> = {}): Promise<void> {
  const config = loadConfig({ args: [], env })
  const nameFiles = await checkBlobStore({ config, records: decorateRecords(records, { isShared: true }), blobs })
  await nameFiles(ORIGIN)
}

async function startWithFiles(records: MemoryRecords, directory: string, env = {}): Promise<void> {
  const blobs = await openLocalBlobs(join(directory, 'blobs'))
  try {
    await start(records, blobs, { EVIDENCE_DATA_DIR: directory, ...env })
  } finally {
    await blobs.close()
  }
}

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
    for (const env of [{}, { EVIDENCE_READ_ONLY: 'true' }, { EVIDENCE_ADOPT_BUCKET: 'true' }])
      await assert.rejects(startWithFiles(records, b, env), { code: 'CORRUPT', message })
    await assert.rejects(start(records, bucketOf()), { code: 'CORRUPT', message })

    // As migrate-blobs does after it has copied the files.
    const blobs = await openLocalBlobs(join(b, 'blobs'))
    const config = loadConfig({ args: [], env: { EVIDENCE_DATA_DIR: b } })
    const id = await claimBlobStore({ config, blobs }, ORIGIN)
    assert.ok(await nameBlobStore(records, id, await storedBlobStore(records)))
    await blobs.close()
    await startWithFiles(records, b)
    await assert.rejects(startWithFiles(records, a), { code: 'CORRUPT', message })
  })

  it('must have the first file on record before it is named', async (t) => {
    const records = await sharedRecords()
    const file = { id: '0190163d-8694-739b-aea5-966c26f8ad91', size: 3, company: 'acme' }
    await records.commit({ writes: [{ key: keys.file(file.id), value: encodeRecord(file) }] })
    const message = /does not hold the files of this registry/
    await assert.rejects(startWithFiles(records, await temporaryFor(t)), { code: 'CORRUPT', message })
    assert.equal(await storedBlobStore(records), undefined)
  })

  it('may be a bucket of a version without ids, or one that is adopted', async () => {
    const records = await sharedRecords()
    const bucket = bucketOf({ origin: ORIGIN })
    await Promise.all([start(records, bucket), start(records, bucket)])
    await start(records, bucket)
    await assert.rejects(start(records, bucketOf({ origin: 'registry/2', id: 'x' })), { code: 'CORRUPT' })
    const adopted = bucketOf()
    await assert.rejects(start(records, adopted), { code: 'CORRUPT' })
    await start(records, adopted, { EVIDENCE_ADOPT_BUCKET: 'true' })
    await start(records, adopted)
    await assert.rejects(start(records, bucket), { code: 'CORRUPT' })
  })
})
