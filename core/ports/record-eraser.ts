import type { Key } from './record-store.ts'

/**
 * A record store whose files keep values for a while after they were overwritten or deleted. The registry calls it
 * after a file was deleted. A store that overwrites in place, or that keeps nothing on disk, need not implement it.
 */
export interface RecordEraser {
  /**
   * Removes from the store's files everything that these keys held before their present values. Commits and reads
   * continue meanwhile. It may cost a rewrite of the files that hold the keys, so it is called at most once a minute.
   *
   * @param signal ends the wait for work that takes long; the work itself may go on
   * @returns false if a reader that was open kept old values, or may have: call it again later
   * @throws `UNAVAILABLE`, `STORE_POISONED`, `CLOSED`, or the reason of the signal
   */
  eraseHistory(keys: readonly Key[], signal?: AbortSignal): Promise<boolean>
}
