/**
 * The entry `evidence-registry/adapter-kit/contract`: a suite for each port, for node:test, and what tests of an
 * adapter need besides. Requires the package `fast-check`.
 */
export { anchorContract, type AnchorUnderTest } from './anchor.ts'
export {
  blobStoreContract,
  durableBlobStoreContract,
  type BlobStoreUnderTest,
  type DurableBlobStoreUnderTest,
} from './blob-store.ts'
export { checkpointSignerContract, type CheckpointSignerUnderTest } from './checkpoint-signer.ts'
export { recordSnapshotContract } from './record-store-reads.ts'
export { recordStoreContract, type RecordStoreContractOptions } from './record-store.ts'
export { signedHeadKeeperContract, type SignedHeadKeeperUnderTest } from './signed-head-keeper.ts'
export { timestampAuthorityContract, type TimestampAuthorityUnderTest } from './timestamp-authority.ts'
export {
  afterChunks,
  assertCode,
  assertSame,
  collect,
  inChunks,
  mustGet,
  rejectsWith,
  throughOneBuffer,
} from './blob-bodies.ts'
export { appendsOf, listAll, logAppends, logEntries, payloadOf, type OpenedRecordStore } from './record-store-pair.ts'
