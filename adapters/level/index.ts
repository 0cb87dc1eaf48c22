/** Records in LevelDB, in a directory of one machine, for one process at a time. */
export { openLevelRecords, type OpenLevelOptions } from './directory.ts'
export { lockDirectory, type LockOptions, type ReleaseDirectory } from './lock.ts'
export type { LevelDatabase } from './layout.ts'
export { LevelRecords, type LevelRecordsOptions } from './records.ts'
