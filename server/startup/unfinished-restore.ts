import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { removeDurably, writeDurably } from '../../adapters/files/index.ts'
import { configError } from '../settings/config-error.ts'

/** A file in a data directory that a restore has begun to fill, until everything there was verified. */
export const UNFINISHED = 'restore.unfinished'

/** Creates the data directory (0700) with the file that says that it is not complete, durably. */
export async function beginRestore(directory: string): Promise<void> {
  await writeDurably(join(directory, UNFINISHED), [])
}

/** Removes that file: everything in the data directory was verified. */
export const endRestore = (directory: string): Promise<void> => removeDurably(join(directory, UNFINISHED))

/** Throws `CONFIG_ERROR` for a data directory that was not restored completely. */
export async function assertRestored(directory: string): Promise<void> {
  if (existsSync(join(directory, UNFINISHED)))
    throw configError(
      `A restore into ${directory} was interrupted, or has found problems: empty this directory, and restore again`,
    )
}
