import { loadWithPackage } from '../optional-package.ts'
import type { BlobStore } from '../kit/index.ts'
import { assertSettings, type S3Settings } from './settings.ts'

/**
 * Opens a blob store in an existing bucket. Needs the package `@aws-sdk/client-s3` (`npm install @aws-sdk/client-s3`).
 *
 * It first writes, reads and deletes an object of its own, so that most wrong setups are detected at the start, and
 * aborts unfinished uploads below the prefix that are older than a day. It does not try a multipart upload.
 *
 * @param settings at least the name of the bucket; see `S3Settings`
 * @returns the opened store; close it with `close()`
 * @throws RegistryError `CONFIG_ERROR` if the package is not installed, a setting is invalid, or the bucket cannot be
 *   used as it is configured (it does not exist, access is denied, it keeps versions); `UNAVAILABLE` if the service
 *   cannot be reached
 * @example
 * ```ts
 * import { openS3Blobs } from 'evidence-registry/adapters/s3'
 *
 * const blobs = await openS3Blobs({ bucket: 'my-evidence', region: 'eu-central-1' })
 * const { size, sha256 } = await blobs.put('invoice-1', stream, { maxBytes: 10_000_000 })
 * ```
 */
export async function openS3Blobs(settings: S3Settings): Promise<BlobStore> {
  assertSettings(settings)
  const { connectBlobs } = await loadWithPackage('@aws-sdk/client-s3', () => import('./blobs.ts'))
  return connectBlobs(settings)
}
