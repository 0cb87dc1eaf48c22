import type { QueryConfig } from 'pg'

/**
 * The SQL of a record store. Statements with parameters are named, so that each connection parses them once. Results
 * are rows of arrays, with bytea as Buffers and bigint as text.
 */
export type Statements = ReturnType<typeof statementsOf>

const named = (name: string, text: string): QueryConfig & { readonly rowMode: 'array' } => ({
  name: `er_${name}`,
  text,
  rowMode: 'array',
})

/**
 * Returns the statements for a schema. Requires a name that passed `assertSchemaName`, because it becomes part of the
 * SQL.
 */
export const statementsOf = (schema: string) => ({ ...readsOf(schema), ...groupsOf(schema) }) as const

/** The longest time of a timer. To `pg`, 0 means its default. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** Read from the index alone: the rows of an index lie all over the table. */
const KEY_TEXT = `encode(key, 'escape')`

const readsOf = (schema: string) => {
  const recordsAt = (parameter: string): string =>
    `select key, value, true from ${schema}.record where key = any(${parameter}::bytea[])`
  const positionsOf = (parameter: string): string =>
    `select entry, value, false from ${schema}.log_position where entry = any(${parameter}::bytea[])`
  const listOf = (columns: string, order = ''): string =>
    `select ${columns} from ${schema}.record where key >= $1 and key < $2 order by key${order} limit $3`
  const logRows = (columns: string): string =>
    `select start, ${columns} from ${schema}.log_row where start >= $1 and start < $2 order by start`
  return {
    head: named('head', `select value from ${schema}.head where id = 1`),
    get: named('get', recordsAt('$1')),
    positions: named('positions', positionsOf('$1')),
    getAndPositions: named('get_and_positions', `${recordsAt('$1')} union all ${positionsOf('$2')}`),
    list: named('list', listOf('key, value')),
    listReverse: named('list_reverse', listOf('key, value', ' desc')),
    listKeys: named('list_keys', listOf(KEY_TEXT)),
    listKeysReverse: named('list_keys_reverse', listOf(KEY_TEXT, ' desc')),
    logEntries: named('log_entries', logRows('entries')),
    logPayloads: named('log_payloads', logRows('payloads')),
    logRows: named('log_rows', logRows('entries, payloads')),
    /** Without TRUNCATE, which would lock the table, and without a time limit: a large table takes many minutes. */
    vacuum: { text: `vacuum (truncate off) ${schema}.record`, query_timeout: MAX_TIMEOUT_MS },
    /**
     * Rebuilds the index without locking the table. The first two remove what a run has left that was interrupted.
     */
    reindex: [
      `drop index concurrently if exists ${schema}.record_pkey_ccnew`,
      `drop index concurrently if exists ${schema}.record_pkey_ccold`,
      `reindex index concurrently ${schema}.record_pkey`,
    ].map((text) => ({ text, query_timeout: MAX_TIMEOUT_MS })),
    now: named('now', `select (extract(epoch from clock_timestamp()) * 1000)::bigint`),
  }
}

/** What a commit group sends. */
const groupsOf = (schema: string) => ({
  /**
   * One round trip. Every group takes the lock first, even if it will append nothing. So groups are serial, and under
   * READ COMMITTED each later statement of the group sees everything that earlier groups have committed. A default of
   * the database or the role may turn synchronous commits off. A crash would then lose groups that were acknowledged
   * and signed, so a group turns them on for itself; a pooler can give each group another session.
   */
  beginGroup: {
    text:
      `begin isolation level read committed; select value from ${schema}.head where id = 1 for update; ` +
      `select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit', true) = 'off'`,
    rowMode: 'array',
  },
  /** The whole effect of a group. No row is changed by two parts, so their order does not matter. */
  apply: named(
    'apply',
    `with
        put as (
          insert into ${schema}.record (key, value)
          select * from unnest($1::bytea[], $2::bytea[])
          on conflict (key) do update set value = excluded.value
        ),
        deleted as (delete from ${schema}.record where key = any($3::bytea[])),
        written as (
          insert into ${schema}.writer (id, last_group) values ($4, $5)
          on conflict (id) do update set last_group = excluded.last_group, at = now()
        )
      update ${schema}.head set value = $6 where id = 1`,
  ),
  /** Writes appended entries and payloads as rows, and the first position of each entry. */
  append: named(
    'append',
    `with
        put as (
          insert into ${schema}.log_row (start, entries, payloads)
          select * from unnest($1::bigint[], $2::bytea[], $3::bytea[])
          on conflict (start) do update set entries = excluded.entries, payloads = excluded.payloads
        ),
        deleted as (delete from ${schema}.log_row where start = any($4::bigint[]))
      insert into ${schema}.log_position (entry, value)
      select entry, value from unnest($5::bytea[], $6::bytea[]) with ordinality as sent(entry, value, n) order by n
      on conflict (entry) do nothing`,
  ),
  lastGroup: named('last_group', `select last_group from ${schema}.writer where id = $1`),
  /** Settings of the server with which lost power can damage or lose what was committed. */
  unsafeSettings: named(
    'unsafe_settings',
    `select name from unnest(array['fsync', 'full_page_writes']) as name where current_setting(name, true) = 'off'`,
  ),
  deleteOldWriters: `delete from ${schema}.writer where at < now() - interval '30 days'`,
})
