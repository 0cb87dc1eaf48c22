/** Records in LevelDB, in a directory of one machine, for one process at a time. */
export { backupLevelRecords, openLevelRecords, type OpenLevelOptions } from './directory.ts'
export type { LevelDatabase } from './layout.ts'
export type { LevelRecordsOptions } from './options.ts'
export { LevelRecords } from './records.ts'
