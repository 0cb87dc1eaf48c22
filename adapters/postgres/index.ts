export type { OpenPostgresOptions } from './database.ts'
export { openPostgresRecords, type PostgresRecords } from './records.ts'
