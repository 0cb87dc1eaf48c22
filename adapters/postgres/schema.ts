import type { PoolClient } from 'pg'
import { RegistryError } from '../../core/errors.ts'

/**
 * How a record store lies in PostgreSQL. Keys are bytea, so their order is that of their bytes whatever the database's
 * locale is. Only plain SQL, so that engines which speak PostgreSQL's wire protocol take it too.
 *
 * | table          | row                                                                                            |
 * |----------------|------------------------------------------------------------------------------------------------|
 * | `head`         | one: the number of the last version, the log's size. Its lock makes groups serial              |
 * | `record`       | a record: key, value, the number of its version                                                |
 * | `log_row`      | 1 to 256 entries from position `start`, packed (core/store/log-rows.ts)                              |
 * | `log_position` | an entry and the first position that it is at                                                  |
 * | `writer`       | a process that writes, and the number of its last group: shows whether a lost COMMIT came through |
 * | `rate`         | requests of a sender in the window that `ends`; may be lost at a crash                         |
 */
const MIGRATIONS: readonly ((schema: string) => string)[] = [
  (schema) => `
    create table ${schema}.head (
      id int primary key check (id = 1),
      last_version bigint not null,
      log_size bigint not null
    );
    insert into ${schema}.head values (1, 0, 0);
    create table ${schema}.record (key bytea primary key, value bytea not null, version bigint not null);
    create table ${schema}.log_row (start bigint primary key, entries bytea not null);
    create table ${schema}.log_position (entry bytea primary key, position bigint not null);
    create table ${schema}.writer (
      id uuid primary key,
      last_group bigint not null,
      at timestamptz not null default now()
    );`,
  (schema) => `
    create unlogged table ${schema}.rate (
      sender text primary key,
      requests bigint not null,
      ends timestamptz not null
    );`,
]

const NEWEST = MIGRATIONS.length

/** Names that need no quoting, so that none is ever quoted. */
export function assertSchemaName(schema: string): void {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new RegistryError(
      'CONFIG_ERROR',
      `A schema's name is 1 to 63 of a-z 0-9 _, and begins with no digit, not ${JSON.stringify(schema)}`,
    )
}

/**
 * Brings the schema to the newest version, each step in the one transaction that records it. Processes that start at the
 * same time wait for each other. A schema that is up to date is only read, so a role without rights to create will do.
 *
 * Throws `CONFIG_ERROR` for a schema of a newer version of this software.
 */
export async function migrate(client: PoolClient, schema: string): Promise<void> {
  if ((await versionOfSchema(client, schema)) === NEWEST) return
  await client.query('begin')
  // Released at the transaction's end, whatever that is.
  await client.query('select pg_advisory_xact_lock(hashtext($1))', [`evidence-registry ${schema}`])
  const before = await versionOfSchema(client, schema)
  if (before === 0) {
    await client.query(`create schema if not exists ${schema}`)
    await client.query(
      `create table if not exists ${schema}.migration (version int primary key, at timestamptz not null default now())`,
    )
  }
  for (let version = before + 1; version <= NEWEST; version += 1) {
    await client.query((MIGRATIONS[version - 1] as (typeof MIGRATIONS)[number])(schema))
    await client.query(`insert into ${schema}.migration (version) values ($1)`, [version])
  }
  await client.query('commit')
}

/** 0 where there is none yet. */
async function versionOfSchema(client: PoolClient, schema: string): Promise<number> {
  const { rows: tables } = await client.query(
    `select 1 from information_schema.tables where table_schema = $1 and table_name = 'migration'`,
    [schema],
  )
  if (tables.length === 0) return 0
  const { rows } = await client.query<{ version: number | null }>(
    `select max(version) as version from ${schema}.migration`,
  )
  const version = rows[0]?.version ?? 0
  if (version > NEWEST)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The database's schema ${schema} is of version ${version}, and this software knows up to ${NEWEST}: start a newer one`,
    )
  return version
}
