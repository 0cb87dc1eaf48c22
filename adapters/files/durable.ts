import { createHash, randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { errnoOf } from './errors.ts'
import * as nodeFiles from './node-files.ts'

export { nodeFiles }

/**
 * Writes files that are complete or absent, also after a power cut. A file is written under a temporary name and
 * synced, gets its name in one step, and then the folder is synced, because a name is not durable until its folder is
 * (fsync(2)). All functions here throw the errors of the file system; their callers convert them to coded errors.
 */

/** The operations of the file system. They are an argument, so that tests can make each of them fail. */
export type FileOperations = typeof nodeFiles

/** Makes the names in a folder durable (fsync of the folder). */
export async function syncDirectory(files: FileOperations, path: string): Promise<void> {
  const handle = await files.open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Creates a folder (0700) and the missing ones above it, durably. An existing folder is not changed. */
export async function makeDirectory(files: FileOperations, path: string): Promise<void> {
  for (const created of await makeMissing(files, resolve(path))) await syncDirectory(files, dirname(created))
}

/**
 * Creates a folder and the missing ones above it, so that they survive a power loss.
 *
 * @param path path of the folder; an existing one is not changed, each new one is private (0700)
 * @throws errors of the file system, such as `EEXIST` if a file has this name
 * @example
 * await makeDirectoryDurably('/var/lib/evidence/backup')
 */
export const makeDirectoryDurably = (path: string): Promise<void> => makeDirectory(nodeFiles, path)

/**
 * Returns the folders that it created, the deepest first. Node's own recursive `mkdir` never ends in a file system such
 * as /proc, which reports ENOENT although the folder above exists.
 */
async function makeMissing(files: FileOperations, path: string): Promise<readonly string[]> {
  try {
    return await makeFolder(files, path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error
  }
  const above = await makeMissing(files, dirname(path))
  return [...(await makeFolder(files, path)), ...above]
}

/** What `mkdir` reports for a folder that exists: usually EEXIST, EISDIR for the root of some systems. */
const MAY_EXIST: ReadonlySet<string | undefined> = new Set(['EEXIST', 'EISDIR'])

/**
 * Creates a folder (0700) if it does not exist. Its name is not durable yet. Returns the path if this call created it,
 * and nothing if it exists. Throws `ENOENT` if the folder above does not exist.
 */
export async function makeFolder(files: FileOperations, path: string): Promise<readonly string[]> {
  try {
    await files.mkdir(path, { mode: 0o700 })
    return [path]
  } catch (error) {
    if (!MAY_EXIST.has(errnoOf(error))) throw error
    // A symbolic link whose target is missing throws ENOENT here, which says more than EEXIST.
    if (!(await files.stat(path)).isDirectory()) throw error
    return []
  }
}

/**
 * Writes a file (0600) that must not exist yet and syncs its bytes. Its name is not durable yet. Holds one chunk in
 * memory at a time.
 */
export async function writeNewFile(
  files: FileOperations,
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  await writeAndClose(await files.open(path, 'wx', 0o600), chunks)
}

/** Writes an open file, syncs its bytes and closes it. Holds one chunk in memory at a time. */
export async function writeAndClose(
  handle: FileHandle,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const chunk of chunks) await writeWhole(handle, chunk)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Repeats partial writes: write(2) may write fewer bytes than given, for example if the disk is almost full. */
export async function writeWhole(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) {
    const { bytesWritten } = await handle.write(chunk, at, chunk.length - at)
    if (bytesWritten === 0) throw new Error('The file system wrote no bytes and reported no error')
    at += bytesWritten
  }
}

/** Size and SHA-256 (hex) of a file. */
export interface FileDigest {
  readonly size: number
  readonly sha256: string
}

/**
 * Writes a file (0600) that must not exist yet, durably with its name and the folders above it.
 *
 * @param path path of the file; missing folders are created (0700)
 * @param chunks the bytes, of which one chunk at a time is held in memory
 * @returns size and SHA-256 of what was written
 * @throws errors of the file system and of `chunks`
 */
export async function writeDurably(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<FileDigest> {
  const hash = createHash('sha256')
  let size = 0
  const hashed = async function* () {
    for await (const chunk of chunks) {
      hash.update(chunk)
      size += chunk.length
      yield chunk
    }
  }
  await makeDirectory(nodeFiles, dirname(path))
  await writeNewFile(nodeFiles, path, hashed())
  await syncDirectory(nodeFiles, dirname(path))
  return { size, sha256: hash.digest('hex') }
}

/** Appends bytes to a file, durably. Throws errors of the file system. */
export const appendDurably = async (path: string, bytes: Uint8Array): Promise<void> =>
  writeAndClose(await nodeFiles.open(path, 'a'), [bytes])

/** Removes a file, durably. Throws errors of the file system. */
export async function removeDurably(path: string): Promise<void> {
  await nodeFiles.unlink(path)
  await syncDirectory(nodeFiles, dirname(path))
}

/**
 * Gives a staged file the name `path` in addition. Returns false if that name is taken. It is a hard link, because a
 * rename would overwrite: if several processes race, exactly one succeeds. The new name is not durable yet.
 */
export async function linkNew(files: FileOperations, staged: string, path: string): Promise<boolean> {
  try {
    await files.link(staged, path)
    return true
  } catch (error) {
    // A network file system may lose its reply and report EEXIST for the repeated call, so compare the files
    // themselves.
    if (await isSameFile(files, staged, path)) return true
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
}

const isSameFile = async (files: FileOperations, pathA: string, pathB: string): Promise<boolean> =>
  Promise.all([files.stat(pathA, { bigint: true }), files.stat(pathB, { bigint: true })]).then(
    ([a, b]) => a.ino === b.ino && a.dev === b.dev,
    () => false,
  )

/** Removes a file that is not needed. If that fails, the file stays, which is harmless. */
export async function discard(files: FileOperations, path: string): Promise<void> {
  await files.unlink(path).catch(() => undefined)
}

const temporaryPathFor = (path: string): string => join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`)

/**
 * Removes the temporary files that a killed process left in a folder, because they may hold secrets. Call it only as
 * the owner of the folder.
 */
export async function discardStaged(files: FileOperations, directory: string): Promise<void> {
  for (const name of await files.readdir(directory))
    if (name.startsWith('.') && name.endsWith('.tmp')) await discard(files, join(directory, name))
}

/** Replaces a small file (0600), or creates it. A reader sees the old content or the new one, never a part. */
export async function replaceFile(files: FileOperations, path: string, bytes: Uint8Array): Promise<void> {
  const staged = temporaryPathFor(path)
  try {
    await writeNewFile(files, staged, [bytes])
    await files.rename(staged, path)
  } catch (error) {
    await discard(files, staged)
    throw error
  }
  await syncDirectory(files, dirname(path))
}

/**
 * Replaces a file (0600), or creates it, durably. A reader sees the old content or the new one, never a part.
 *
 * @param path path of the file, in a directory that exists
 * @throws errors of the file system
 */
export const replaceDurably = (path: string, bytes: Uint8Array): Promise<void> => replaceFile(nodeFiles, path, bytes)

/**
 * Creates a small file (0600). Returns false if the name is taken, also if several processes race. Durable in both
 * cases.
 */
export async function createFile(files: FileOperations, path: string, bytes: Uint8Array): Promise<boolean> {
  const staged = temporaryPathFor(path)
  try {
    await writeNewFile(files, staged, [bytes])
    const created = await linkNew(files, staged, path)
    // Also if another process created the file: that one may not have synced the folder yet.
    await syncDirectory(files, dirname(path))
    return created
  } finally {
    await discard(files, staged)
  }
}

/** The sync of a folder that is in progress, and the one after it. */
interface FolderSync {
  readonly current: Promise<void>
  next?: Promise<void>
}

/**
 * Makes names in folders durable. Callers of the same folder share a sync: those that come while one is in progress
 * share the next one, because the current one may have begun before their change.
 */
export class FolderSyncs {
  readonly #files: FileOperations
  readonly #afterSync: () => Promise<void>
  /** By the path of the folder, only while a sync is in progress. */
  readonly #folders = new Map<string, FolderSync>()

  /** `afterSync`: called after each sync, which fails if this does. */
  constructor(files: FileOperations, afterSync: () => Promise<void> = async () => undefined) {
    this.#files = files
    this.#afterSync = afterSync
  }

  /**
   * Makes every name durable that was in the folder when this was called. If the sync in progress fails, so does the
   * next one: the kernel reports each lost write only once.
   */
  sync(path: string): Promise<void> {
    const folder = this.#folders.get(path)
    if (folder === undefined) return this.#start(path)
    return (folder.next ??= folder.current.then(() => this.#start(path)))
  }

  #start(path: string): Promise<void> {
    const folder: FolderSync = { current: syncDirectory(this.#files, path).then(this.#afterSync) }
    this.#folders.set(path, folder)
    const forget = (): void => void this.#folders.delete(path)
    // Must not return the next sync: its failure is for its callers, and would end the process here.
    const forgetIfLast = (): void => {
      if (folder.next === undefined) forget()
    }
    folder.current.then(forgetIfLast, forget)
    return folder.current
  }
}
