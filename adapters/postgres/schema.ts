import type { PoolClient } from 'pg'
import { assertFormat, RegistryError, STORE_FORMAT } from '../kit/index.ts'
import { bufferOf, encodeHead } from './rows.ts'

/**
 * The layout of a record store in PostgreSQL. Keys are bytea, so they sort bytewise whatever the locale of the database
 * is. The SQL is plain, so that other engines which speak PostgreSQL's wire protocol accept it.
 *
 * | table          | row                                                                                            |
 * |----------------|------------------------------------------------------------------------------------------------|
 * | `head`         | one row: the store's format; number of the last version and size of the log. Its lock makes    |
 * |                | groups serial                                                                                  |
 * | `record`       | a record: key, u64 number of its version ‖ value                                               |
 * | `log_row`      | 1 to 256 entries from position `start`, and their payloads (core/store/log-rows.ts)            |
 * | `log_position` | an entry and u64 of its first position                                                         |
 * | `writer`       | a process that writes, and the number of its last group: shows if a lost COMMIT was applied    |
 * | `rate`         | requests of a sender in the window until `ends`; may be lost in a crash                        |
 *
 * Values, rows and positions are in an envelope with a CRC-32 (core/store/envelope.ts).
 */
const MIGRATIONS: readonly ((schema: string) => string)[] = [
  (schema) => `
    create table ${schema}.head (
      id int primary key check (id = 1),
      format int not null,
      value bytea not null
    );
    insert into ${schema}.head values (
      1, ${STORE_FORMAT}, '\\x${bufferOf(encodeHead({ lastVersion: 0, logSize: 0 })).toString('hex')}'
    );
    create table ${schema}.record (key bytea primary key, value bytea not null);
    create table ${schema}.log_row (start bigint primary key, entries bytea not null, payloads bytea not null);
    create table ${schema}.log_position (entry bytea primary key, value bytea not null);
    create table ${schema}.writer (
      id uuid primary key,
      last_group bigint not null,
      at timestamptz not null default now()
    );
    create unlogged table ${schema}.rate (
      sender text primary key,
      requests bigint not null,
      ends timestamptz not null
    );`,
]

/** The version of the first migration. */
const FIRST = 3
const NEWEST = FIRST + MIGRATIONS.length - 1

/** Accepts only names that need no quoting, because the statements do not quote them. */
export function assertSchemaName(schema: string): void {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new RegistryError(
      'CONFIG_ERROR',
      `The name of a schema must be 1 to 63 of a-z 0-9 _ and must not begin with a digit, got ${JSON.stringify(schema)}`,
    )
}

/**
 * Migrates the schema to the newest version, in one transaction that also records each step. Processes that start at
 * the same time wait for each other. A schema that is up to date is only read, so the role then needs no permission to
 * create.
 *
 * Throws `CONFIG_ERROR` if a newer version of this software or one with another store format wrote the schema.
 */
export async function migrate(client: PoolClient, schema: string): Promise<void> {
  const stored = await versionOfSchema(client, schema)
  if (stored > 0) await assertFormatOf(client, schema)
  if (stored === NEWEST) return
  await client.query('begin')
  // The lock is released when the transaction ends, committed or not.
  await client.query('select pg_advisory_xact_lock(hashtext($1))', [`evidence-registry ${schema}`])
  const before = await versionOfSchema(client, schema)
  if (before === 0) {
    await client.query(`create schema if not exists ${schema}`)
    await client.query(
      `create table if not exists ${schema}.migration (version int primary key, at timestamptz not null default now())`,
    )
  }
  for (const [index, migration] of MIGRATIONS.entries()) {
    const version = FIRST + index
    if (version <= before) continue
    await client.query(migration(schema))
    await client.query(`insert into ${schema}.migration (version) values ($1)`, [version])
  }
  await client.query('commit')
}

async function assertFormatOf(client: PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ format: number }>(`select format from ${schema}.head`)
  for (const { format } of rows) assertFormat(format, `The schema ${schema} of the database`)
}

/** Returns 0 if the schema does not exist yet. */
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
      `The schema ${schema} of the database has version ${version}, but this software supports up to ${NEWEST}: use a newer release`,
    )
  return version
}
