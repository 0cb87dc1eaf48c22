import { RegistryError } from '../../core/errors.ts'

/** `AES256`: keys of the storage service (SSE-S3). `aws:kms`: a key of a key service; without `keyId`, the account's own. */
export type Encryption = { readonly algorithm: 'AES256' } | { readonly algorithm: 'aws:kms'; readonly keyId?: string }

/** When the SDK adds checksums of its own: `WHEN_SUPPORTED` is Amazon's default, which other services may not take. */
export type Checksums = 'WHEN_REQUIRED' | 'WHEN_SUPPORTED'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Where the blobs are. What is left out, the AWS SDK takes from where it always does: environment, profile, instance. */
export interface S3Settings {
  readonly bucket: string
  /** Before each key, with a `/` at its end where it has none. What is below it belongs to the registry alone. Default `evidence/`. */
  readonly prefix?: string
  /** URL of a service that is not Amazon's. */
  readonly endpoint?: string
  readonly region?: string
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. Default: where an endpoint is set. */
  readonly pathStyle?: boolean
  readonly credentials?: Credentials
  /** Default: as the bucket itself encrypts. */
  readonly encryption?: Encryption
  /** Default `WHEN_REQUIRED`. */
  readonly checksums?: Checksums
  /** Bytes in each part of an upload that takes more than one; 5 MiB to 5 GiB. Default 8 MiB. See `S3Blobs` for the memory it takes. */
  readonly partBytes?: number
  /** A connection on which nothing moves for so long is given up. Default 20,000. */
  readonly idleMs?: number
  /** Tries of one request, with growing waits between them. Default 4. */
  readonly attempts?: number
}

const MIB = 1024 * 1024
/** The limits of S3 itself: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
export const MAX_PARTS = 10_000
const MIN_PART_BYTES = 5 * MIB
const MAX_PART_BYTES = 5 * 1024 * MIB

export const DEFAULTS = {
  prefix: 'evidence/',
  checksums: 'WHEN_REQUIRED',
  partBytes: 8 * MIB,
  idleMs: 20_000,
  attempts: 4,
} as const

/** Throws `CONFIG_ERROR` for what no bucket could be reached with. */
export function assertSettings({ bucket, prefix = DEFAULTS.prefix, partBytes = DEFAULTS.partBytes }: S3Settings): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._:/-]{1,254}$/.test(bucket)) throw refused('bucket', 'the name of a bucket', bucket)
  // S3 keys have 1,024 bytes, of which a blob's key takes up to 128.
  if (!/^[A-Za-z0-9._/-]{0,512}$/.test(prefix)) throw refused('prefix', 'at most 512 of A-Z a-z 0-9 . _ - /', prefix)
  if (!Number.isSafeInteger(partBytes) || partBytes < MIN_PART_BYTES || partBytes > MAX_PART_BYTES)
    throw refused('partBytes', '5 MiB to 5 GiB', partBytes)
}

const refused = (name: string, takes: string, value: unknown): RegistryError =>
  new RegistryError('CONFIG_ERROR', `The S3 ${name} must be ${takes}, not ${JSON.stringify(value)}`)

/** A prefix that ends where a folder would, so that `a` and `ab` share nothing. */
export const folderOf = (prefix: string): string => (prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`)
