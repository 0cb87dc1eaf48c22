import { RegistryError } from '../errors.ts'

/**
 * The format of the records that this version of the software writes: the families of records, their keys, and how a
 * store keeps them. A store holds its number.
 */
export const STORE_FORMAT = 14

/** Throws `CONFIG_ERROR` for a store of another format. `store` names the store. */
export function assertFormat(format: number, store: string): void {
  if (format === STORE_FORMAT) return
  throw new RegistryError(
    'CONFIG_ERROR',
    `${store} has store format ${format}; this version needs ${STORE_FORMAT}: ` +
      (format < STORE_FORMAT ? 'no version converts it, so begin with an empty store' : 'use a newer version'),
  )
}
