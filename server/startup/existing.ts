import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { configError } from '../settings/config-error.ts'

/** Whether there is something at a path. What cannot be read counts as missing. */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Throws `CONFIG_ERROR` if a data directory has no records: opening it would create an empty store. */
export async function assertHasRecords(directory: string): Promise<void> {
  if (!(await exists(join(directory, 'records'))))
    throw configError(`There is no registry in ${directory}: name its data directory with --data-dir`)
}
