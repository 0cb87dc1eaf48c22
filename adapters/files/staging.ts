import { join } from 'node:path'
import { discard, type FileOperations } from './durable.ts'
import { errnoOf, ifExists } from './errors.ts'

/** No upload goes this long without writing a byte. An older file is abandoned, even if its pid is in use again. */
const ABANDONED_AFTER_MS = 3_600_000

/**
 * Removes the files that dead processes of an earlier version left in a folder: it wrote each blob there first.
 *
 * @param nowMs the clock of the file system, which may differ from the clock of this machine
 */
export async function sweepStaging(files: FileOperations, directory: string, nowMs: number): Promise<void> {
  for (const name of (await ifExists(files.readdir(directory))) ?? []) {
    const path = join(directory, name)
    if (!isOwnerAlive(name) || (await lastWriteMs(files, path)) < nowMs - ABANDONED_AFTER_MS) await discard(files, path)
  }
}

/** Whether the process that staged this file may still be writing it. */
function isOwnerAlive(name: string): boolean {
  const pid = Number(name.split('.', 1)[0])
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // ESRCH: the process does not exist. EPERM: it exists and belongs to another user.
    return errnoOf(error) === 'EPERM'
  }
}

/** When the file was last written. Infinity if it does not exist any more, because its owner has finished. */
const lastWriteMs = async (files: FileOperations, path: string): Promise<number> =>
  files.stat(path).then(
    (stat) => stat.mtimeMs,
    () => Infinity,
  )
