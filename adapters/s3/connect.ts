import { randomUUID } from 'node:crypto'
import { RegistryError } from '../kit/index.ts'
import { S3Blobs } from './blobs.ts'
import { BlobBucket } from './bucket.ts'
import { toStartError, isFailedCondition, isNotImplemented, statusOf } from './errors.ts'
import { DEFAULTS, type S3Settings } from './settings.ts'

/** No upload takes this long: its client would have disconnected. */
const ABANDONED_AFTER_MS = 24 * 3_600_000

/**
 * Probes the bucket, aborts abandoned uploads, and opens the store; see `openS3Blobs`. Requires settings that passed
 * `assertSettings`.
 */
export async function connectBlobs(settings: S3Settings): Promise<S3Blobs> {
  const bucket = new BlobBucket(settings)
  try {
    const { isConditional, now } = await probe(bucket, settings.bucket)
    await abortUploads(bucket, new Date(now.getTime() - ABANDONED_AFTER_MS))
    return new S3Blobs(bucket, { isConditional, partBytes: settings.partBytes ?? DEFAULTS.partBytes })
  } catch (error) {
    bucket.destroy()
    throw toStartError(error, `The S3 bucket ${settings.bucket} cannot be used`)
  }
}

/** Tries the operations on an object of its own. Returns whether conditional puts work, and the time of the service. */
async function probe(bucket: BlobBucket, name: string): Promise<{ isConditional: boolean; now: Date }> {
  // The keys of blobs contain no dot.
  const key = `probe.${randomUUID()}`
  const put = (mustBeNew: boolean) => bucket.put(key, { bytes: new Uint8Array(), tag: { put: key }, mustBeNew })
  /**
   * Rejects a bucket with versioning: a deletion there keeps the bytes, but the registry promises that they are gone.
   */
  const putUnversioned = async (mustBeNew: boolean): Promise<void> => {
    const version = await put(mustBeNew)
    if (version === undefined || version === 'null') return
    await bucket.delete(key, version)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The S3 bucket ${name} keeps versions, so deleted files would stay readable: use a bucket without versioning`,
    )
  }
  const isConditional = await supportsConditionalPut(
    () => putUnversioned(true),
    () => put(true),
  )
  try {
    if (!isConditional) await putUnversioned(false)
    const now = (await bucket.head(key))?.lastModified
    const opened = await bucket.open(key, undefined)
    opened?.body.destroy()
    if (now === undefined || opened === undefined)
      throw new RegistryError('CONFIG_ERROR', `The S3 bucket ${name} does not return what was just written to it`)
    return { isConditional, now }
  } finally {
    await bucket.delete(key)
    // Without the permission to list, reading a missing key fails with 403. Detected here, because later it would look
    // like an outage.
    ;(await bucket.open(key, undefined))?.body.destroy()
  }
}

/**
 * Whether a second put to a key is rejected. Some services ignore the condition, others reject every request that has
 * one.
 */
async function supportsConditionalPut(
  putFirst: () => Promise<unknown>,
  putSecond: () => Promise<unknown>,
): Promise<boolean> {
  try {
    // The first put fails as well if its response was lost and the SDK sent it again.
    await putFirst().catch(ignoreFailedCondition)
    await putSecond()
    return false
  } catch (error) {
    if (isFailedCondition(error)) return true
    if (isNotImplemented(error)) return false
    throw error
  }
}

function ignoreFailedCondition(error: unknown): void {
  if (statusOf(error) !== 412) throw error
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
