/** Copies a registry from one set of stores to another. */
export { copyBlobs, type BlobStores, type CopyBlobsHandlers, type CopyBlobsReport } from './blobs.ts'
export { copyRecords, type CopyRecordsHandlers, type CopyRecordsReport, type CopyStage } from './records.ts'
export { upgradedRecords } from './format-1.ts'
export { isUnfinishedCopy } from './target.ts'
export type { RecordStores } from './compare.ts'
