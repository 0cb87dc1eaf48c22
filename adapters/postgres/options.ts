import type { ConnectionOptions } from 'node:tls'
import type { Logger, RecordEraser, RecordStore, SnapshotSource } from '../kit/index.ts'

/**
 * The public types of this adapter. They name no type of `pg`, so that a program compiles without that package and its
 * declarations.
 */

/** Options of `pg.Pool`. These are the usual ones; the others that `pg` documents are passed on as well. */
export interface PostgresConnection {
  readonly host?: string
  readonly port?: number
  readonly user?: string
  readonly password?: string
  readonly database?: string
  readonly ssl?: boolean | ConnectionOptions
}

/** Options of `openPostgresRecords`. */
export interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/database`. It is secret: no error and no log line contains it. */
  readonly url?: string
  /** Connection options, in addition to the URL or in its place. */
  readonly pool?: PostgresConnection
  /** The schema of the tables; it is created if it does not exist. Default: `evidence_registry`. */
  readonly schema?: string
  /** Connections for reads, in addition to the one for writes. Default: 8. */
  readonly maxReaders?: number
  /** The server cancels a statement that takes longer, in ms. Default: 15,000. */
  readonly statementTimeoutMs?: number
  /**
   * The server ends a transaction that is idle for longer, in ms, so that a stopped process cannot keep the lock.
   * Default: 5,000.
   */
  readonly idleTransactionTimeoutMs?: number
  /** How long a call is retried while the database is unreachable, restarts or fails over, in ms. Default: 15,000. */
  readonly retryForMs?: number
  /** Called before a call is repeated, with the reason, which contains no password. */
  readonly onRetry?: (reason: string) => void
  /** How long to try to find the outcome of a COMMIT whose response was lost, in ms. Default: 60,000. */
  readonly resolveForMs?: number
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
