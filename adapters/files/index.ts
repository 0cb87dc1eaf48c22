/** Blobs, secrets, checkpoint keys and the signed head in files of one machine, and the ownership of a directory. */
export { LocalBlobs, openLocalBlobs } from './blobs.ts'
export { generateCheckpointKey, openCheckpointKeys, openOrCreateCheckpointKeys } from './checkpoint-keys.ts'
export {
  appendDurably,
  makeDirectoryDurably,
  removeDurably,
  replaceDurably,
  writeDurably,
  type FileDigest,
  type FileOperations,
} from './durable.ts'
export { errnoOf, ifExists, reasonOf, systemAdvice, toRegistryError } from './errors.ts'
export { discardUnfinishedFiles, readOrCreateSecret, readSecret, writePrivateFile } from './private-files.ts'
export { FileSignedHead } from './signed-head.ts'
export { textOfFile, type TextForm } from './text-file.ts'
