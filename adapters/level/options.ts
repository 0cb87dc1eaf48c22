import type { Logger } from '../kit/index.ts'
import type { Head } from './layout.ts'

/** Options of `LevelRecords.open`. */
export interface LevelRecordsOptions {
  /**
   * Set it if the database is known to have held data: an empty one then throws `CORRUPT`. Default: false, an empty one
   * is initialized.
   */
  readonly mustExist?: boolean
  /**
   * Bytes that LevelDB's write-ahead logs had before the open, which is what an open can lose. All log entries that fit
   * into them are checked for holes. Default 0: only the newest 65,536 entries are.
   */
  readonly walBytes?: number
  /** Gets an error line for a write that fails, and for each read that finds damaged data. Default: none. */
  readonly logger?: Pick<Logger, 'error'>
  /** Called with the new head after each group is durable, before its commits resolve. Must not throw. */
  readonly afterGroup?: (head: Head) => void
  /** Called once, after the database was closed. */
  readonly afterClose?: () => Promise<void>
}
