import { RegistryError } from '../errors.ts'

/**
 * The format of the records that this version of the software writes: the families of records, their keys, and how a
 * store keeps them. A store holds its number. Format 1 is that of version 0.1.0, which stored no number for it.
 */
export const STORE_FORMAT = 2

/**
 * Throws `CONFIG_ERROR` for a store of another format. `store` names the store, and `remedy` says what to do if it is
 * older.
 */
export function assertFormat(format: number, store: string, remedy: string): void {
  if (format === STORE_FORMAT) return
  const writer = format === 1 ? ' (version 0.1.0)' : ''
  throw new RegistryError(
    'CONFIG_ERROR',
    `${store} has store format ${format}${writer}; this version needs ${STORE_FORMAT}: ` +
      (format < STORE_FORMAT ? remedy : 'use a newer version'),
  )
}
