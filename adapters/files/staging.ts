import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { discard, linkNew, makeDirectory, writeNewFile, type FileOperations } from './durable.ts'

/** No upload lasts so long without a byte written; a file this old is dead even if its process number is in use again. */
const DEAD_AFTER_MS = 3_600_000

/** Tells this process from an earlier one with the same number, as in a container, where it is always 1. */
const instance = randomUUID()

/** Where blobs are written before they have a name: a folder on the same file system, swept when it is opened. */
export interface Staging {
  /** A path for a new file. */
  next(): string
}

/**
 * Makes the folder, removes what dead processes left in it, and tries what a put needs (write, sync, hard link), so that
 * a file system that cannot do it is found at the start.
 */
export async function openStaging(files: FileOperations, directory: string): Promise<Staging> {
  await makeDirectory(files, directory)
  const next = (): string => join(directory, `${process.pid}.${instance}.${randomUUID()}`)
  const probe = next()
  try {
    await writeNewFile(files, probe, [new Uint8Array(1)])
    if (!(await linkNew(files, probe, `${probe}.link`))) throw new Error('A new name was taken')
    // The file system's own time, which need not be this machine's.
    await sweep(files, directory, (await files.stat(probe)).mtimeMs)
  } finally {
    await discard(files, `${probe}.link`)
    await discard(files, probe)
  }
  return { next }
}

async function sweep(files: FileOperations, directory: string, nowMs: number): Promise<void> {
  for (const name of await files.readdir(directory)) {
    const path = join(directory, name)
    if (isOurs(name)) continue
    if (!isAlive(name) || (await lastWriteMs(files, path)) < nowMs - DEAD_AFTER_MS) await discard(files, path)
  }
}

const isOurs = (name: string): boolean => name.startsWith(`${process.pid}.${instance}.`)

/** Whether the process that staged this file may still be writing it. */
function isAlive(name: string): boolean {
  const pid = Number(name.split('.', 1)[0])
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // ESRCH: there is none. EPERM: there is one, of another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Its owner may have finished and removed it meanwhile: then it counts as new. */
const lastWriteMs = async (files: FileOperations, path: string): Promise<number> =>
  files.stat(path).then(
    (stat) => stat.mtimeMs,
    () => Infinity,
  )
