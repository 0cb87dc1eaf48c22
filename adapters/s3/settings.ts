import { RegistryError } from '../kit/index.ts'

/**
 * `AES256`: keys of the storage service (SSE-S3). `aws:kms`: a key of AWS KMS (SSE-KMS); without `keyId`, the default
 * key of the account.
 */
export type Encryption = { readonly algorithm: 'AES256' } | { readonly algorithm: 'aws:kms'; readonly keyId?: string }

/** An access key of AWS, or of another S3 service. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/**
 * Settings of `openS3Blobs`. The AWS SDK finds missing ones as usual: in the environment, the profile or the instance.
 */
export interface S3Settings {
  /** Name of an existing bucket without versioning, or ARN of an access point. */
  readonly bucket: string
  /**
   * Prefix of each key; a `/` is added at its end if it has none. Only the registry may write below it. At most 512 of
   * `A-Z a-z 0-9 . _ - /`. Default: `evidence/`.
   */
  readonly prefix?: string
  /** URL of an S3 service other than Amazon's. */
  readonly endpoint?: string
  readonly region?: string
  /** Use `endpoint/bucket/key` instead of `bucket.endpoint/key`. Default: true if an endpoint is set. */
  readonly pathStyle?: boolean
  readonly credentials?: Credentials
  /** Server-side encryption of the objects. Default: the setting of the bucket. */
  readonly encryption?: Encryption
  /**
   * Size of the parts of a multipart upload in bytes, 5 MiB to 5 GiB. Default: 8 MiB. A put holds one part in memory;
   * bodies of more than 10,000 parts use larger ones.
   */
  readonly partBytes?: number
  /** A connection without traffic is closed after this time, in ms. Default: 20,000. */
  readonly idleMs?: number
  /** How often a request is sent at most, with increasing pauses. Default: 4. */
  readonly attempts?: number
}

const MIB = 1024 * 1024
/** The limits of S3 itself: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
export const MAX_PARTS = 10_000
const MIN_PART_BYTES = 5 * MIB
const MAX_PART_BYTES = 5 * 1024 * MIB

export const DEFAULTS = {
  prefix: 'evidence/',
  partBytes: 8 * MIB,
  idleMs: 20_000,
  attempts: 4,
} as const

/** Throws `CONFIG_ERROR` for an invalid bucket name, prefix or size of parts. */
export function assertSettings({ bucket, prefix = DEFAULTS.prefix, partBytes = DEFAULTS.partBytes }: S3Settings): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._:/-]{1,254}$/.test(bucket)) throw settingError('bucket', 'the name of a bucket', bucket)
  // An S3 key has at most 1,024 bytes, and the key of a blob up to 128 of them.
  if (!/^[A-Za-z0-9._/-]{0,512}$/.test(prefix))
    throw settingError('prefix', 'at most 512 of A-Z a-z 0-9 . _ - /', prefix)
  if (!Number.isSafeInteger(partBytes) || partBytes < MIN_PART_BYTES || partBytes > MAX_PART_BYTES)
    throw settingError('partBytes', '5 MiB to 5 GiB', partBytes)
}

const settingError = (name: string, expected: string, value: unknown): RegistryError =>
  new RegistryError('CONFIG_ERROR', `The S3 ${name} must be ${expected}, got ${JSON.stringify(value)}`)

/** Returns the prefix with a `/` at its end, so that no key is below both `a` and `ab`. */
export const folderOf = (prefix: string): string => (prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`)
