/** Copies a registry from one set of stores to another. */
export {
  copyBlobs,
  copyMissingBlobs,
  deletedFiles,
  fileIdsIn,
  fileIn,
  firstFile,
  SourceDamage,
  type BlobStores,
  type CopyBlobsHandlers,
  type CopyBlobsReport,
} from './blobs.ts'
export {
  copyRecords,
  fillStore,
  type CopyRecordsHandlers,
  type CopyRecordsReport,
  type CopyStage,
  type RecordStores,
} from './records.ts'
export { encodeRecords, sourceOfStream, type RecordStreamHandlers } from './record-stream.ts'
export { sourceOf, treeSizeIn, type CopiedRecord, type RecordSource } from './source.ts'
export { isUnfinishedCopy } from './target.ts'
