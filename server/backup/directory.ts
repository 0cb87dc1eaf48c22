import { randomBytes } from 'node:crypto'
import { readdir, realpath, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { errnoOf, toRegistryError } from '../../adapters/files/index.ts'
import type { RecordStore } from '../../core/index.ts'
import { fileOf, FOLDER, MANIFEST, SECRETS, type Manifest } from './manifest.ts'
import { configError } from '../settings/config-error.ts'

/**
 * Gives an error of the file system a code, and says what failed; returns any other error unchanged. Errors of writes
 * and syncs have no path.
 */
export function fileError(error: unknown, to: string): unknown {
  if (errnoOf(error) === undefined) return error
  const path = error instanceof Error && 'path' in error ? String(error.path) : 'a file of it'
  return toRegistryError(error, `The backup in ${to} is not complete, ${path} cannot be used`)
}

/** The name of the folder of a new backup. */
export const newFolder = (now: Date): string =>
  `${now.toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`

/** Names that a backup, or an unfinished one, has in its directory. */
const isOfBackup = (name: string): boolean =>
  name === MANIFEST ||
  name === 'blobs' ||
  name === 'lock' ||
  name.startsWith('.') ||
  name === 'lost+found' ||
  FOLDER.test(name)

/** Folders of a data directory that may be symbolic links to other volumes. */
const LINKABLE = ['records', 'blobs', 'blobs/content', 'tsa', 'ledger']

/**
 * Throws `CONFIG_ERROR` if one of the directories contains the other, or the physical folder of a symbolic link in the
 * data directory. A data directory has only what its server wrote, and a backup in it would be lost together with it. A
 * backup around its `blobs` would use the files themselves as their copies.
 */
export async function assertApart(directory: string, dataDir: string): Promise<void> {
  const [to, data] = await Promise.all([physicalPath(directory), physicalPath(dataDir)])
  assertDisjoint(to, data, `data directory ${data}`)
  for (const name of LINKABLE) {
    const folder = await physicalPath(join(data, name))
    assertDisjoint(to, folder, `data directory's folder ${name} (${folder})`)
  }
}

/** Throws if one of the two contains the other. `name`: of the folder, for the message. */
function assertDisjoint(to: string, folder: string, name: string): void {
  if (isWithin(to, folder)) throw configError(`A backup must not be in the ${name}: name another directory`)
  if (isWithin(folder, to))
    throw configError(`The ${name} is in ${to}, so a backup cannot be there: name another directory`)
}

/** Resolves symbolic links as far as the path exists. */
async function physicalPath(path: string): Promise<string> {
  const absolute = resolve(path)
  try {
    return await realpath(absolute)
  } catch (error) {
    const code = errnoOf(error)
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(absolute) === absolute) throw error
    return join(await physicalPath(dirname(absolute)), basename(absolute))
  }
}

/** Whether `path` is `directory` or below it. */
function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** What is about to be written to the directory. */
interface NewBackup {
  /** The log's origin. */
  readonly origin: string
  readonly records: RecordStore
  readonly hasSecrets: boolean
}

/**
 * Throws `CONFIG_ERROR` for a directory that holds something else, a backup of another or of a newer state, or one with
 * secrets if the new backup has none.
 */
export async function assertUsable(
  directory: string,
  earlier: Manifest | undefined,
  { origin, records, hasSecrets }: NewBackup,
): Promise<void> {
  if (earlier !== undefined && earlier.origin !== origin)
    throw configError(`${directory} holds a backup of another registry, ${earlier.origin}: name another directory`)
  const logSize = await records.logSize()
  if (earlier !== undefined && earlier.logSize > logSize)
    throw configError(
      `${directory} holds a backup of ${earlier.logSize} log entries, but this registry has ${logSize}: it was set ` +
        'back. Keep that backup, and name another directory',
    )
  // The new backup replaces the earlier one, which may have the only copy of the secrets.
  if (earlier !== undefined && !hasSecrets && fileOf(earlier, SECRETS) !== undefined)
    throw configError(
      `The earlier backup in ${directory} has secrets, and this one would replace it without them: ` +
        'repeat with --secrets, or name another directory',
    )
  const other = (await readdir(directory)).find((name) => !isOfBackup(name))
  if (other !== undefined)
    throw configError(`${directory} holds something that is not part of a backup (${other}): name an empty directory`)
}

/** Removes the folders of unfinished and of replaced backups. */
export async function removeFoldersBut(directory: string, kept: string | undefined): Promise<void> {
  for (const name of await readdir(directory))
    if (FOLDER.test(name) && name !== kept) await rm(join(directory, name), { recursive: true })
}

/** Removes the bytes of files that were deleted since an earlier backup: a deleted file must not stay readable. */
export async function removeOtherBlobs(content: string, fileIds: ReadonlySet<string>): Promise<void> {
  for (const folder of await readdir(content))
    for (const id of await readdir(join(content, folder)))
      if (!fileIds.has(id)) await rm(join(content, folder, id), { force: true })
}
