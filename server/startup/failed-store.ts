import { open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger, RecordStore } from '../../core/index.ts'

/** Tells the supervisor to start the server again (EX_TEMPFAIL of sysexits.h). */
export const EXIT_START_AGAIN = 75
/** What an open of LevelDB can write at once: two buffers of 64 MiB as tables. */
export const LEAST_FREE_BYTES = 128 * 1024 * 1024

/** The store that is watched. */
export interface FailedStoreOptions {
  readonly records: Pick<RecordStore, 'isPoisoned'>
  /** The folder of the record store. */
  readonly directory: string
  readonly logger: Pick<Logger, 'info'>
  /** Ends the checks. */
  readonly signal: AbortSignal
  /** Time between checks. Default: 5,000. */
  readonly checkMs?: number
}

/**
 * Resolves with true once a write of the record store has failed and its disk can be written again: the process must
 * then start again, because the open of a store checks what it holds. Resolves with false if `signal` ends the checks.
 */
export async function hasRecovered(options: FailedStoreOptions): Promise<boolean> {
  const { records, directory, logger, signal, checkMs = 5_000 } = options
  do {
    await delay(checkMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return false
  } while (!records.isPoisoned() || !(await canWrite(directory)))
  logger.info(
    {},
    `the disk can be written again: the server ends with exit code ${EXIT_START_AGAIN}, to be started again`,
  )
  return true
}

/** Whether the disk has room, and accepts a write. */
async function canWrite(directory: string): Promise<boolean> {
  const probe = join(directory, 'probe')
  try {
    const { bavail, bsize } = await statfs(directory)
    if (bavail * bsize < LEAST_FREE_BYTES) return false
    const file = await open(probe, 'w', 0o600)
    try {
      await file.write(new Uint8Array(4_096))
      await file.sync()
    } finally {
      await file.close()
      await rm(probe)
    }
    return true
  } catch {
    return false
  }
}
