import { randomUUID } from 'node:crypto'
import * as promises from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * Files that are whole or not there, also after a power cut: written beside their place, synced, given their name in one
 * step, and the folder synced, because a name is as volatile as bytes until its folder is synced (fsync(2)).
 * Everything here throws what the file system throws; callers give it a code.
 */

/** The file operations in use, an argument so that tests can make each of them fail. */
export type FileOperations = Pick<
  typeof promises,
  'open' | 'link' | 'unlink' | 'rename' | 'mkdir' | 'readdir' | 'readFile' | 'stat'
>

export const nodeFiles: FileOperations = promises

/** The error's errno code (`ENOENT`, …), where it has one. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Makes the names in a folder durable. */
export async function syncDirectory(files: FileOperations, path: string): Promise<void> {
  const handle = await files.open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes a folder (0700) and those above it that are missing, durably. One that exists is left as it is. */
export async function makeDirectory(files: FileOperations, path: string): Promise<void> {
  const last = resolve(path)
  const first = await files.mkdir(last, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = last; ; made = dirname(made)) {
    await syncDirectory(files, dirname(made))
    if (made === resolve(first) || made === dirname(made)) return
  }
}

/** Writes a file (0600) that must not exist yet and syncs its bytes; its name is not durable yet. Holds one chunk at a time. */
export async function writeNewFile(
  files: FileOperations,
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const handle = await files.open(path, 'wx', 0o600)
  try {
    for await (const chunk of chunks) await writeWhole(handle, chunk)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A write may take only a part of what it is given (write(2)), as on a disk about to be full. */
export async function writeWhole(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) {
    const { bytesWritten } = await handle.write(chunk, at, chunk.length - at)
    if (bytesWritten === 0) throw new Error('The file system took no bytes and gave no error')
    at += bytesWritten
  }
}

/**
 * Gives the staged file the name `path` as well, unless that is taken: `false`. A hard link, because renaming would
 * overwrite: of any number of racers one wins. The name is not durable yet.
 */
export async function linkNew(files: FileOperations, staged: string, path: string): Promise<boolean> {
  try {
    await files.link(staged, path)
    return true
  } catch (error) {
    // Network file systems may lose the answer and report the repeated call's EEXIST: what stands there decides.
    if (await isSameFile(files, staged, path)) return true
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
}

const isSameFile = async (files: FileOperations, a: string, b: string): Promise<boolean> =>
  Promise.all([files.stat(a, { bigint: true }), files.stat(b, { bigint: true })]).then(
    ([one, other]) => one.ino === other.ino && one.dev === other.dev,
    () => false,
  )

/** Removes a file that nobody will miss; where that fails it stays, and does no harm. */
export async function discard(files: FileOperations, path: string): Promise<void> {
  await files.unlink(path).catch(() => undefined)
}

const besides = (path: string): string => join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`)

/** Removes what a process that died left staged in a folder: it may hold secrets. Only for who owns the folder. */
export async function discardStaged(files: FileOperations, directory: string): Promise<void> {
  for (const name of await files.readdir(directory))
    if (name.startsWith('.') && name.endsWith('.tmp')) await discard(files, join(directory, name))
}

/** Puts a small file (0600) in place of whatever had this name; a reader sees the old one or the new one, never a part. */
export async function replaceFile(files: FileOperations, path: string, bytes: Uint8Array): Promise<void> {
  const staged = besides(path)
  try {
    await writeNewFile(files, staged, [bytes])
    await files.rename(staged, path)
  } catch (error) {
    await discard(files, staged)
    throw error
  }
  await syncDirectory(files, dirname(path))
}

/** Makes a small file (0600) unless the name is taken, by however many racers: `false`. Durable either way. */
export async function createFile(files: FileOperations, path: string, bytes: Uint8Array): Promise<boolean> {
  const staged = besides(path)
  try {
    await writeNewFile(files, staged, [bytes])
    const created = await linkNew(files, staged, path)
    // Also for the loser: the winner may not have come this far yet.
    await syncDirectory(files, dirname(path))
    return created
  } finally {
    await discard(files, staged)
  }
}
