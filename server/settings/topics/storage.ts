import { baseUrl, DAY_MS, flag, integer, oneOf, optional, postgresUrl, setting, text } from '../setting.ts'

export const records = {
  records: setting(oneOf('level', 'postgres'), {
    fallback: 'level',
    doc: 'Store for records: LevelDB in the data directory, or a PostgreSQL that several servers can share',
  }),
  postgresUrl: optional(postgresUrl, {
    secret: true,
    doc: 'The database for EVIDENCE_RECORDS=postgres',
  }),
  diskReserveBytes: setting(integer(0, 2 ** 40), {
    fallback: 64 * 1024 * 1024,
    doc: 'Size of a file beside LevelDB that is removed if the disk is full, so that the server can start and serve reads. 0: none',
  }),
  scrubBytesPerSecond: setting(integer(0, 2 ** 40), {
    fallback: 1024 * 1024,
    doc: 'How fast the scrub reads all records, log entries and files to find damage. 0 turns it off',
  }),
  scrubIntervalMs: setting(integer(0, 366 * DAY_MS), {
    fallback: DAY_MS,
    doc: 'Least time between the starts of two passes of the scrub',
  }),
} as const

export const files = {
  blobs: setting(oneOf('files', 's3'), {
    fallback: 'files',
    doc: 'Store for files: the data directory, or an S3 bucket',
  }),
  smallFileBytes: setting(integer(0, 65_536), {
    fallback: 4_096,
    doc: 'Files with at most this many bytes are stored in the records, and not as blobs, which is faster. 0: none',
  }),
  s3Bucket: optional(text('the name of a bucket', /^[A-Za-z0-9][A-Za-z0-9._:/-]{1,254}$/), {
    doc: 'Bucket for files, without versioning. Region and credentials are found as the AWS SDK does it',
  }),
  s3Prefix: setting(text('1 to 512 characters of A-Z a-z 0-9 . _ - /', /^[A-Za-z0-9._/-]{1,512}$/), {
    fallback: 'evidence/',
    doc: 'Prefix of each key in the bucket. No other program may use keys with this prefix',
  }),
  adoptBucket: setting(flag, {
    fallback: false,
    doc: 'Accept a bucket that does not name its registry and lacks recorded files, for example after its files were lost',
  }),
  s3Endpoint: optional(baseUrl, {
    shownFallback: 'Amazon S3',
    doc: 'Address of another service with the S3 protocol',
  }),
  s3PathStyle: optional(flag, {
    shownFallback: 'true with an endpoint, else false',
    doc: 'Put the name of the bucket into the path instead of the host name',
  }),
  s3Encryption: setting(oneOf('bucket', 'AES256', 'aws:kms'), {
    fallback: 'bucket',
    doc: 'Server-side encryption: the default of the bucket, keys of the service, or a key of a key management service',
  }),
  s3KmsKeyId: optional(text('the id of a key', /^[\x21-\x7e]{1,2048}$/), {
    shownFallback: 'the default key of the account',
    doc: 'Key for aws:kms',
  }),
  s3Checksums: setting(oneOf('WHEN_REQUIRED', 'WHEN_SUPPORTED'), {
    fallback: 'WHEN_REQUIRED',
    doc: 'When requests carry the checksums of the AWS SDK, which not every service accepts. Files are always verified by SHA-256',
  }),
} as const
