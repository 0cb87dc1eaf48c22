import type { Logger } from '../kit/index.ts'
import type { Head } from './layout.ts'

/** Options of `LevelRecords.open`. */
export interface LevelRecordsOptions {
  /**
   * Set it if the database is known to have held data: an empty one then throws `CORRUPT`. Default: false, an empty one
   * is initialized.
   */
  readonly mustExist?: boolean
  /** Gets an error line for each read that finds damaged data. Default: none. */
  readonly logger?: Pick<Logger, 'error'>
  /** Called with the new head after each group is durable, before its commits resolve. Must not throw. */
  readonly afterGroup?: (head: Head) => void
  /** Called once, after the database was closed. */
  readonly afterClose?: () => Promise<void>
}
