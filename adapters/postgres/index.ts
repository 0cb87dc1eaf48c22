/** Records in PostgreSQL, for any number of processes. Needs the package `pg`. */
export { openPostgresRecords } from './open.ts'
export type { OpenPostgresOptions, PostgresRecords } from './options.ts'
