/** Copies a registry from one set of stores to another. */
export {
  copyBlobs,
  deletedFiles,
  fileIn,
  filesIn,
  filesOf,
  firstFile,
  SourceDamage,
  type BlobStores,
  type CopyBlobsOptions,
  type CopyBlobsReport,
} from './blobs.ts'
export { fillStore, isUnfinishedCopy, type FilledStore } from './fill.ts'
export {
  decodeRecords,
  encodeRecords,
  treeSizeIn,
  type CopiedRecord,
  type RecordStreamHandlers,
  type StreamPart,
} from './record-stream.ts'
