import { join } from 'node:path'
import { openLocalBlobs } from '../../adapters/files/index.ts'
import { RegistryError, type BlobStore } from '../../core/index.ts'
import type { Config } from '../settings/settings.ts'
import { assertInstalled } from './optional-packages.ts'

/** Files in the data directory. */
export const openFileBlobs = (directory: string): Promise<BlobStore> => openLocalBlobs(join(directory, 'blobs'))

/** Files in the bucket that the settings name. The AWS SDK is loaded here and nowhere else. Throws `CONFIG_ERROR`, `UNAVAILABLE`. */
export async function openBucketBlobs(config: Config): Promise<BlobStore> {
  const { s3Bucket, s3Endpoint, s3PathStyle, s3Encryption, s3KmsKeyId } = config
  if (s3Bucket === undefined)
    throw new RegistryError('CONFIG_ERROR', 'Set EVIDENCE_S3_BUCKET to the bucket that files are to be in')
  if (s3KmsKeyId !== undefined && s3Encryption !== 'aws:kms')
    throw new RegistryError('CONFIG_ERROR', 'EVIDENCE_S3_KMS_KEY_ID is for EVIDENCE_S3_ENCRYPTION aws:kms')
  const encryption =
    s3Encryption === 'aws:kms'
      ? { algorithm: s3Encryption, ...(s3KmsKeyId !== undefined && { keyId: s3KmsKeyId }) }
      : { algorithm: 'AES256' as const }
  assertInstalled('@aws-sdk/client-s3', 'EVIDENCE_BLOBS=s3')
  const { openS3Blobs } = await import('../../adapters/s3/index.ts')
  return openS3Blobs({
    bucket: s3Bucket,
    prefix: config.s3Prefix,
    checksums: config.s3Checksums,
    ...(s3Endpoint !== undefined && { endpoint: s3Endpoint }),
    ...(s3PathStyle !== undefined && { pathStyle: s3PathStyle }),
    ...(s3Encryption !== 'bucket' && { encryption }),
  })
}

/** The files of a registry, wherever they are. */
export const openBlobs = (config: Config, directory: string): Promise<BlobStore> =>
  config.blobs === 's3' ? openBucketBlobs(config) : openFileBlobs(directory)
