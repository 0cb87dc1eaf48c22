/** Blobs in a bucket of Amazon S3, or of a service that speaks its protocol. Needs the package `@aws-sdk/client-s3`. */
export { openS3Blobs } from './open.ts'
export type { Credentials, Encryption, S3Settings } from './settings.ts'
