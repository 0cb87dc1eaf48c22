export { backupLevelRecords, openLevelRecords, type OpenLevelOptions } from './directory.ts'
export type { LevelDatabase } from './layout.ts'
export { LevelRecords, type LevelRecordsOptions } from './records.ts'
