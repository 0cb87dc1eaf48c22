import { loadWithPackage } from '../optional-package.ts'
import type { OpenPostgresOptions, PostgresRecords } from './options.ts'

/**
 * Opens a record store in a PostgreSQL database, and creates its schema. Any number of processes may open
 * the same one. Needs the package `pg` (`npm install pg`).
 *
 * @param options at least `url`, which names the database; see `OpenPostgresOptions`
 * @returns the opened store; close it with `close()`
 * @throws RegistryError `CONFIG_ERROR` if `pg` is not installed, the URL is invalid, or the tables have another
 *   store format; `UNAVAILABLE` if the database cannot be reached within `retryForMs`
 * @example
 * ```ts
 * import { openPostgresRecords } from 'evidence-registry/adapters/postgres'
 *
 * const records = await openPostgresRecords({ url: 'postgres://user:password@localhost:5432/evidence' })
 * await records.commit({ writes: [{ key: 'a', value: new Uint8Array([1]) }] })
 * await records.close()
 * ```
 */
export async function openPostgresRecords(options: OpenPostgresOptions): Promise<PostgresRecords> {
  const { connectRecords } = await loadWithPackage('pg', () => import('./records.ts'))
  return connectRecords(options)
}
