import type { PoolClient } from 'pg'
import { assertFormat, STORE_FORMAT } from '../kit/index.ts'
import { bufferOf, encodeHead } from './rows.ts'

/**
 * The layout of a record store in PostgreSQL. Keys are bytea, so they sort bytewise whatever the locale of the database
 * is. The SQL is plain, so that other engines which speak PostgreSQL's wire protocol accept it, and has no backslash,
 * whose meaning in a text depends on a setting.
 *
 * | table          | row                                                                                            |
 * |----------------|------------------------------------------------------------------------------------------------|
 * | `head`         | one row: the store's format; number of the last version and size of the log. Its lock makes    |
 * |                | groups serial                                                                                  |
 * | `record`       | a record: key, u64 number of its version ‖ value                                               |
 * | `log_row`      | 1 to 256 entries from position `start`, and their payloads (core/store/log-rows.ts)            |
 * | `log_position` | an entry and u64 of its first position                                                         |
 * | `writer`       | a process that writes, and the number of its last group: shows if a lost COMMIT was applied    |
 *
 * Values, rows and positions are in an envelope with a CRC-32 (core/store/checksum.ts).
 */
const tablesOf = (schema: string): string => `
  create schema if not exists ${schema};
  create table ${schema}.head (
    id int primary key check (id = 1),
    format int not null,
    value bytea not null
  );
  insert into ${schema}.head values (
    1, ${STORE_FORMAT}, decode('${bufferOf(encodeHead({ lastVersion: 0, logSize: 0 })).toString('hex')}', 'hex')
  );
  create table ${schema}.record (key bytea primary key, value bytea not null);
  create table ${schema}.log_row (start bigint primary key, entries bytea not null, payloads bytea not null);
  create table ${schema}.log_position (entry bytea primary key, value bytea not null);
  create table ${schema}.writer (
    id uuid primary key,
    last_group bigint not null,
    at timestamptz not null default now()
  )`

/**
 * Creates the schema and its tables if they do not exist, in one transaction. Processes that start at the same time
 * wait for each other. A schema that exists is only read, so the role then needs no permission to create.
 *
 * Throws `CONFIG_ERROR` if it has another store format.
 */
export async function createSchema(client: PoolClient, schema: string): Promise<void> {
  if (await hasSchema(client, schema)) return
  await client.query('begin')
  // The lock is released when the transaction ends, committed or not.
  await client.query('select pg_advisory_xact_lock(hashtext($1))', [`evidence-registry ${schema}`])
  if (!(await hasSchema(client, schema))) await client.query(tablesOf(schema))
  await client.query('commit')
}

async function hasSchema(client: PoolClient, schema: string): Promise<boolean> {
  const exists = `select 1 from information_schema.tables where table_schema = $1 and table_name = 'head'`
  if ((await client.query(exists, [schema])).rows.length === 0) return false
  const { rows } = await client.query<{ format: number }>(`select format from ${schema}.head`)
  for (const { format } of rows) assertFormat(format, `The schema ${schema} of the database`)
  return true
}
