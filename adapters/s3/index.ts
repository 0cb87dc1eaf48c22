/** Blobs in a bucket of Amazon S3, or of a service that speaks its protocol. */
export { S3Blobs } from './blobs.ts'
export { openS3Blobs } from './open.ts'
export type { Checksums, Credentials, Encryption, S3Settings } from './settings.ts'
