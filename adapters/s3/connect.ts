import { randomUUID } from 'node:crypto'
import { RegistryError } from '../../core/errors.ts'
import { S3Blobs } from './blobs.ts'
import { BlobBucket } from './bucket.ts'
import { toStartError, isRefusedCondition, isUnknownToService, statusOf } from './errors.ts'
import { assertSettings, DEFAULTS, type S3Settings } from './settings.ts'

/** No upload lasts so long: its client would have gone. */
const DEAD_AFTER_MS = 24 * 3_600_000

/**
 * Opens a blob store in a bucket, which must exist. Tries what the registry needs (write, conditional write, read, delete,
 * list uploads), so that what cannot work is found at the start, and aborts uploads below the prefix that are older than a day.
 *
 * Throws `CONFIG_ERROR` where the bucket cannot be used as it is set up, `UNAVAILABLE` where it cannot be reached.
 */
export async function openS3Blobs(settings: S3Settings): Promise<S3Blobs> {
  assertSettings(settings)
  const bucket = new BlobBucket(settings)
  try {
    const { isConditional, now } = await tryOut(bucket, settings.bucket)
    await sweep(bucket, new Date(now.getTime() - DEAD_AFTER_MS))
    return new S3Blobs(bucket, { isConditional, partBytes: settings.partBytes ?? DEFAULTS.partBytes })
  } catch (error) {
    bucket.destroy()
    throw toStartError(error, `The S3 bucket ${settings.bucket} cannot be used`)
  }
}

/** Answers what the service can, and its own time, which need not be this machine's. */
async function tryOut(bucket: BlobBucket, name: string): Promise<{ isConditional: boolean; now: Date }> {
  // No blob's key has a dot.
  const key = `probe.${randomUUID()}`
  const mark = { put: key }
  const isConditional = await knowsConditions(bucket, name, key)
  try {
    if (!isConditional) await putUnversioned(() => bucket.put(key, new Uint8Array(), mark, false), bucket, name, key)
    const now = (await bucket.head(key))?.lastModified
    if (now === undefined)
      throw new RegistryError('CONFIG_ERROR', `The S3 bucket ${name} does not give back what was just written to it`)
    return { isConditional, now }
  } finally {
    await bucket.delete(key)
    // Without the right to list, a missing key is forbidden (403), and would look like a fault later.
    ;(await bucket.open(key, undefined))?.body.destroy()
  }
}

/** Whether a second put to a key is refused. Some services ignore the condition, some refuse to hear of it. */
async function knowsConditions(bucket: BlobBucket, name: string, key: string): Promise<boolean> {
  const put = () => bucket.put(key, new Uint8Array(), { put: key }, true)
  try {
    // The first may be refused as well: where its answer was lost, and it was sent again.
    await putUnversioned(put, bucket, name, key).catch(ignoreCondition)
    await put()
    return false
  } catch (error) {
    if (isRefusedCondition(error)) return true
    if (isUnknownToService(error)) return false
    throw error
  }
}

function ignoreCondition(error: unknown): void {
  if (statusOf(error) !== 412) throw error
}

/** Deleting from a bucket with versions keeps the bytes, and the registry promises that they are gone. */
async function putUnversioned(
  put: () => Promise<string | undefined>,
  bucket: BlobBucket,
  name: string,
  key: string,
): Promise<void> {
  const version = await put()
  if (version === undefined || version === 'null') return
  await bucket.delete(key, version)
  throw new RegistryError(
    'CONFIG_ERROR',
    `The S3 bucket ${name} keeps versions, so that deleted files would stay readable: use one without versioning`,
  )
}

/** Only saves storage, so a service that cannot list uploads is no reason to stop. */
async function sweep(bucket: BlobBucket, before: Date): Promise<void> {
  try {
    for await (const upload of bucket.unfinishedUploads(before)) {
      // Another server may sweep at the same time.
      await bucket.abortUpload(upload).catch((error: unknown) => {
        if (statusOf(error) !== 404) throw error
      })
    }
  } catch (error) {
    if (!isUnknownToService(error)) throw error
  }
}
