import type { Logger, RecordEraser, RecordStore, SnapshotSource } from '../kit/index.ts'

/**
 * The public types of this adapter. They name no type of `pg`, so that a program compiles without that package and its
 * declarations.
 */

/** Options of `openPostgresRecords`. */
export interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/database`. It is secret: no error and no log line contains it. */
  readonly url: string
  /** How long a call is retried while the database is unreachable, restarts or fails over, in ms. Default: 15,000. */
  readonly retryForMs?: number
  /** Called before a call is repeated, with the reason, which contains no password. */
  readonly onRetry?: (reason: string) => void
  readonly logger?: Logger
}

/** A RecordStore in PostgreSQL. */
export interface PostgresRecords extends RecordStore, SnapshotSource, RecordEraser {
  /** `fsync` and `full_page_writes`, if they were off when it was opened: lost power can lose or damage records. */
  readonly unsafeSettings: readonly string[]
  /**
   * Returns the clock of the database in ms since 1970, with which the clocks of several processes can be compared.
   *
   * @throws RegistryError `UNAVAILABLE`, `CLOSED`
   */
  databaseNow(): Promise<number>
}
