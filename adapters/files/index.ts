export { LocalBlobs, openLocalBlobs } from './blobs.ts'
export type { FileOperations } from './durable.ts'
export { readOrCreateSecret, readSecret, writePrivateFile } from './private-files.ts'
export { FileSignedHead } from './signed-head.ts'
