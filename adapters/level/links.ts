import { link, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { RegistryError } from '../kit/index.ts'
import { nodeFiles, syncDirectory } from '../files/durable.ts'

/**
 * Second names (hard links) for LevelDB's files while it opens. One EMFILE or EIO during an open can make LevelDB start
 * empty and delete its log; the bytes then still exist under the second names. LevelDB never changes a file in place
 * while it opens: it writes a new manifest and new tables, and removes the old ones.
 *
 * The folder of links appears complete (built under another name, then renamed) and disappears by one rename. No commit
 * is accepted while it exists. So if it exists at the start, an earlier open crashed, and restoring its files loses
 * nothing.
 */
const DATA_FILE = /^(?:CURRENT|MANIFEST-\d+|\d+\.(?:log|ldb|sst))$/
const TEMPORARY_FILE = /^\d+\.dbtmp$/

const LINKS = 'links'
const MAKING = 'links.making'
const RELEASED = 'links.released'

export interface StorePaths {
  /** The directory of the record store. */
  readonly directory: string
  /** LevelDB's own folder, below `directory`. */
  readonly database: string
}

/** Lists the names of LevelDB's data files, without its lock and its info log. */
export async function dataFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => DATA_FILE.test(name))
}

/** Restores the files if an earlier open crashed, and removes folders of links that are not complete. */
export async function recoverLinks(paths: StorePaths): Promise<void> {
  await rm(join(paths.directory, MAKING), { recursive: true, force: true })
  await rm(join(paths.directory, RELEASED), { recursive: true, force: true })
  if ((await readdir(paths.directory)).includes(LINKS)) await restoreFiles(paths)
}

/** Gives every data file its second name, durably. */
export async function linkFiles({ directory, database }: StorePaths): Promise<void> {
  const making = join(directory, MAKING)
  await mkdir(making)
  for (const name of await dataFiles(database))
    await link(join(database, name), join(making, name)).catch((cause: unknown) => {
      throw new RegistryError(
        'UNAVAILABLE',
        `The files in ${database} cannot be hard-linked, which opening requires: use a local disk`,
        { cause },
      )
    })
  await syncDirectory(nodeFiles, making)
  await rename(making, join(directory, LINKS))
  await syncDirectory(nodeFiles, directory)
}

/**
 * Restores the data files as they were at `linkFiles`. Can be repeated if it was interrupted, because the links are
 * removed last.
 */
export async function restoreFiles(paths: StorePaths): Promise<void> {
  const { directory, database } = paths
  const links = join(directory, LINKS)
  for (const name of await readdir(database)) {
    if (DATA_FILE.test(name) || TEMPORARY_FILE.test(name)) await rm(join(database, name), { recursive: true })
  }
  for (const name of await readdir(links)) await link(join(links, name), join(database, name))
  await syncDirectory(nodeFiles, database)
  await releaseLinks(paths)
}

/**
 * Removes the links. After it returns they cannot reappear, not even after a power loss: restoring them then would undo
 * later commits.
 */
export async function releaseLinks({ directory }: StorePaths): Promise<void> {
  await rename(join(directory, LINKS), join(directory, RELEASED))
  await syncDirectory(nodeFiles, directory)
  await rm(join(directory, RELEASED), { recursive: true })
}
