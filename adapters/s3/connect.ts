import { randomUUID } from 'node:crypto'
import { RegistryError } from '../kit/index.ts'
import { S3Blobs } from './blobs.ts'
import { BlobBucket } from './bucket.ts'
import { toStartError, isNotImplemented, statusOf } from './errors.ts'
import { DEFAULTS, type S3Settings } from './settings.ts'

/** No upload takes this long: its client would have disconnected. */
const ABANDONED_AFTER_MS = 24 * 3_600_000

/**
 * Tries the bucket, aborts abandoned uploads, and opens the store; see `openS3Blobs`. Requires settings that passed
 * `assertSettings`.
 */
export async function connectBlobs(settings: S3Settings): Promise<S3Blobs> {
  const bucket = new BlobBucket(settings)
  try {
    const now = await tryBucket(bucket, settings.bucket)
    await abortUploads(bucket, new Date(now.getTime() - ABANDONED_AFTER_MS))
    return new S3Blobs(bucket, settings.partBytes ?? DEFAULTS.partBytes)
  } catch (error) {
    bucket.destroy()
    throw toStartError(error, `The S3 bucket ${settings.bucket} cannot be used`)
  }
}

/**
 * Writes, reads and deletes an object of its own. Returns the time of the service. Rejects a bucket with versioning: a
 * deletion there keeps the bytes, but the registry promises that they are gone.
 */
async function tryBucket(bucket: BlobBucket, name: string): Promise<Date> {
  // The keys of blobs contain no dot.
  const key = `probe.${randomUUID()}`
  const version = await bucket.put(key, new Uint8Array(), key)
  if (version !== undefined && version !== 'null') {
    await bucket.delete(key, version)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The S3 bucket ${name} keeps versions, so deleted files would stay readable: use a bucket without versioning`,
    )
  }
  try {
    const opened = await bucket.open(key)
    opened?.body.destroy()
    if (opened?.lastModified === undefined)
      throw new RegistryError('CONFIG_ERROR', `The S3 bucket ${name} does not return what was just written to it`)
    return opened.lastModified
  } finally {
    await bucket.delete(key)
    // Without the permission to list, reading a missing key fails with 403. Detected here, because later it would look
    // like an outage.
    ;(await bucket.open(key))?.body.destroy()
  }
}

/** Aborts unfinished uploads. It only saves storage, so a service that cannot list uploads is accepted. */
async function abortUploads(bucket: BlobBucket, before: Date): Promise<void> {
  try {
    for await (const upload of bucket.unfinishedUploads(before)) {
      // 404: another server aborted it at the same time.
      await bucket.abortUpload(upload).catch((error: unknown) => {
        if (statusOf(error) !== 404) throw error
      })
    }
  } catch (error) {
    if (!isNotImplemented(error)) throw error
  }
}
