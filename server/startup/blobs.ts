import { join } from 'node:path'
import { openLocalBlobs } from '../../adapters/files/index.ts'
import { withBlobErrors } from '../../adapters/kit/index.ts'
import type { BlobStore, Logger } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'
import { configError } from '../settings/config-error.ts'
import { stderrLogger } from './logger.ts'
import { folderMarker } from './markers.ts'
import { namesModule, openModule } from './own-module.ts'

/** Opens the store for files that the settings select. Throws `CONFIG_ERROR` and `UNAVAILABLE`. */
export async function openBlobs(config: Config, directory: string, logger: Logger = stderrLogger): Promise<BlobStore> {
  if (namesModule(config.blobs)) return withBlobErrors(await openModule('blobs', config, logger))
  return config.blobs === 's3' ? openBucketBlobs(config) : openFileBlobs(directory)
}

/** Opens the files in a data directory. If their volume is mounted again, its marker tells. */
export async function openFileBlobs(directory: string): Promise<BlobStore> {
  const path = join(directory, 'blobs')
  const marker = await markerIn(path)
  return openLocalBlobs(path, {
    isReplacement: async () => marker !== undefined && (await markerIn(path)) === marker,
  })
}

/** Returns `undefined` if it cannot be read: before the first start there is none. */
const markerIn = (folder: string): Promise<string | undefined> =>
  folderMarker(folder)
    .read()
    .catch(() => undefined)

/**
 * Opens the files in the bucket of the settings. Loads the AWS SDK only now. Throws `CONFIG_ERROR` and `UNAVAILABLE`.
 */
export async function openBucketBlobs(config: Config): Promise<BlobStore> {
  const { s3Bucket, s3Endpoint, s3PathStyle } = config
  if (s3Bucket === undefined) throw configError('Set EVIDENCE_S3_BUCKET to the name of the bucket for files')
  const encryption = encryptionOf(config)
  const { openS3Blobs } = await import('../../adapters/s3/index.ts')
  return openS3Blobs({
    bucket: s3Bucket,
    prefix: config.s3Prefix,
    ...(s3Endpoint !== undefined && { endpoint: s3Endpoint }),
    ...(s3PathStyle !== undefined && { pathStyle: s3PathStyle }),
    ...(encryption && { encryption }),
  })
}

/** Returns `undefined` if the bucket's own default applies. */
function encryptionOf({ s3Encryption, s3KmsKeyId }: Config) {
  if (s3KmsKeyId !== undefined && s3Encryption !== 'aws:kms')
    throw configError('EVIDENCE_S3_KMS_KEY_ID requires EVIDENCE_S3_ENCRYPTION=aws:kms')
  if (s3Encryption === 'bucket') return undefined
  return s3Encryption === 'aws:kms'
    ? { algorithm: s3Encryption, ...(s3KmsKeyId !== undefined && { keyId: s3KmsKeyId }) }
    : { algorithm: s3Encryption }
}
