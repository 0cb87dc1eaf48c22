/** Stores in the memory of one process, for tests and trials. */
export { MemoryBlobs } from './blobs.ts'
export { MemoryCheckpointKeys } from './checkpoint-keys.ts'
export { MemoryRecords } from './records.ts'
export { MemorySignedHead } from './signed-head.ts'
