import { link, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { RegistryError } from '../../core/errors.ts'

/**
 * Second names (hard links) of LevelDB's files, held while it opens. One EMFILE or EIO there can make it begin anew and
 * delete its log; the bytes stay under the second names. It never changes a file in place while it opens: it writes a
 * new manifest and new tables, and removes the old ones.
 *
 * The folder appears whole (made aside, renamed) and goes whole, and no commit is taken while it is there. So one that
 * is found was left by a crash during an open, and putting its files back loses nothing.
 */
const DATA_FILE = /^(?:CURRENT|MANIFEST-\d+|\d+\.(?:log|ldb|sst))$/
const LEFTOVER = /^\d+\.dbtmp$/

const LINKS = 'links'
const MAKING = 'links.making'
const RELEASED = 'links.released'

export interface StorePaths {
  readonly directory: string
  /** LevelDB's own folder, below it. */
  readonly database: string
}

/** The names of LevelDB's data files, without its lock and its notes. */
export async function dataFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => DATA_FILE.test(name))
}

/** Puts back what a crash during an earlier open left, and removes what is half made. */
export async function settleLinks(paths: StorePaths): Promise<void> {
  await rm(join(paths.directory, MAKING), { recursive: true, force: true })
  await rm(join(paths.directory, RELEASED), { recursive: true, force: true })
  if ((await readdir(paths.directory)).includes(LINKS)) await restoreFiles(paths)
}

/** Gives every data file its second name, durably. */
export async function linkFiles({ directory, database }: StorePaths): Promise<void> {
  const making = join(directory, MAKING)
  await mkdir(making)
  for (const name of await dataFiles(database))
    await link(join(database, name), join(making, name)).catch(refused(database))
  await syncFolder(making)
  await rename(making, join(directory, LINKS))
  await syncFolder(directory)
}

/** The data files as they were at `linkFiles`. It can be done again where it broke off; the links go last. */
export async function restoreFiles(paths: StorePaths): Promise<void> {
  const { directory, database } = paths
  const links = join(directory, LINKS)
  for (const name of await readdir(database)) {
    if (DATA_FILE.test(name) || LEFTOVER.test(name)) await rm(join(database, name), { recursive: true })
  }
  for (const name of await readdir(links)) await link(join(links, name), join(database, name))
  await syncFolder(database)
  await releaseLinks(paths)
}

/** After this the links never come back, also not after a power loss: a restore would undo what is written from now on. */
export async function releaseLinks({ directory }: StorePaths): Promise<void> {
  await rename(join(directory, LINKS), join(directory, RELEASED))
  await syncFolder(directory)
  await rm(join(directory, RELEASED), { recursive: true })
}

/** fsync of a folder: its names are durable. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const refused = (database: string) => (cause: unknown) => {
  throw new RegistryError(
    'UNAVAILABLE',
    `The files in ${database} cannot be hard-linked, and are not opened without that: use a local disk`,
    { cause },
  )
}
