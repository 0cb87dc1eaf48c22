import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../../adapters/files/index.ts'
import { configError } from '../settings/config-error.ts'

/** Whether there is something at a path. What cannot be read counts as missing. */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Reads a text file that the operator named. `source`: the flag or variable. Throws `CONFIG_ERROR` if it cannot. */
export async function readNamedFile(source: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw configError(`${source}: the file ${path} cannot be read (${reasonOf(cause)})`, cause)
  }
}

/** Throws `CONFIG_ERROR` if a data directory has no records: opening it would create an empty store. */
export async function assertHasRecords(directory: string): Promise<void> {
  if (!(await exists(join(directory, 'records'))))
    throw configError(`There is no registry in ${directory}: name its data directory with --data-dir`)
}
