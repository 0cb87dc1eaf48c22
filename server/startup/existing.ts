import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { RegistryError } from '../../core/index.ts'

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Throws `CONFIG_ERROR` if `migrate --upgrade` was stopped before its last step: a start would make an empty store. */
export async function assertUpgradeComplete(directory: string): Promise<void> {
  const has = (name: string): Promise<boolean> => exists(join(directory, name))
  if (!(await has('records')) && (await has('records.upgrade')))
    throw new RegistryError(
      'CONFIG_ERROR',
      `An upgrade of the records in ${directory} was interrupted: run evidence-registry migrate --upgrade again`,
    )
}

/** Throws `CONFIG_ERROR` if a data directory has no records: opening it would create an empty store. */
export async function assertHasRecords(directory: string): Promise<void> {
  if (!(await exists(join(directory, 'records'))))
    throw new RegistryError(
      'CONFIG_ERROR',
      `There is no registry in ${directory}: name its data directory with --data-dir`,
    )
}
