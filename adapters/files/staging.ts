import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { discard, linkNew, makeDirectory, writeNewFile, type FileOperations } from './durable.ts'
import { errnoOf } from './errors.ts'

/** No upload goes this long without writing a byte. An older file is abandoned, even if its pid is in use again. */
const ABANDONED_AFTER_MS = 3_600_000

/** Distinguishes this process from an earlier one with the same pid. In a container the pid is always 1. */
const instance = randomUUID()

/**
 * A folder on the same file system, where blobs are written before they get their name. It is swept when it is opened.
 */
export interface Staging {
  /** Returns the path for a new file. */
  nextPath(): string
}

/**
 * Creates the folder, removes files of dead processes from it, and tries the operations of a put (write, sync, hard
 * link), so that a file system that does not support them is detected at the start.
 */
export async function openStaging(files: FileOperations, directory: string): Promise<Staging> {
  await makeDirectory(files, directory)
  const nextPath = (): string => join(directory, `${process.pid}.${instance}.${randomUUID()}`)
  const probe = nextPath()
  try {
    await writeNewFile(files, probe, [new Uint8Array(1)])
    if (!(await linkNew(files, probe, `${probe}.link`))) throw new Error('A name that was never used exists already')
    // The clock of the file system, which may differ from the clock of this machine.
    await sweep(files, directory, (await files.stat(probe)).mtimeMs)
  } finally {
    await discard(files, `${probe}.link`)
    await discard(files, probe)
  }
  return { nextPath }
}

async function sweep(files: FileOperations, directory: string, nowMs: number): Promise<void> {
  for (const name of await files.readdir(directory)) {
    const path = join(directory, name)
    if (isOwn(name)) continue
    if (!isOwnerAlive(name) || (await lastWriteMs(files, path)) < nowMs - ABANDONED_AFTER_MS) await discard(files, path)
  }
}

const isOwn = (name: string): boolean => name.startsWith(`${process.pid}.${instance}.`)

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
