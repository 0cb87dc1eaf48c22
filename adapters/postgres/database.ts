import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { DatabaseError, Pool, type ClientBase, type PoolClient, type PoolConfig, type QueryConfig } from 'pg'
import { backoffMs, isRegistryError, RegistryError, systemClock, type Logger } from '../kit/index.ts'
import { errnoOf } from '../files/errors.ts'
import { toRegistryError, isTransient, reasonOf } from './errors.ts'
import type { OpenPostgresOptions } from './options.ts'
import { createSchema } from './schema.ts'
import { statementsOf, type Statements } from './statements.ts'

/**
 * The client gives up on a response this long after the server should have cancelled the statement: the network is
 * gone.
 */
const RESPONSE_GRACE_MS = 5_000
const CONNECT_TIMEOUT_MS = 5_000
/** The server cancels a statement that takes longer. */
const STATEMENT_TIMEOUT_MS = 15_000
/** The server ends a transaction that is idle for longer, so that a stopped process cannot keep the lock. */
const IDLE_TRANSACTION_TIMEOUT_MS = 5_000
/** Connections for reads, in addition to the one for writes. */
const MAX_READERS = 8
const FIRST_PAUSE_MS = 10
const MAX_PAUSE_MS = 500

/**
 * Statements are planned once per connection, and use the primary keys. Otherwise the server plans small look-ups each
 * time, which costs as much as running them (bench/README.md, `servers`), and a plan made while a table was small could
 * continue to read the whole table.
 */
const PLAN_ONCE = 'set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off'

const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** The options of `openPostgresRecords`, and what tests set. */
export interface DatabaseOptions extends OpenPostgresOptions {
  /** The schema of the tables, a name that needs no quotes. Default: `evidence_registry`. */
  readonly schema?: string
  /** How long to try to find the outcome of a COMMIT whose response was lost, in ms. Default: 60,000. */
  readonly resolveForMs?: number
  readonly pool?: PoolConfig
}

/**
 * The connections to a database: several for reads, one for writes. Each has an error listener, so a lost one cannot
 * end the process.
 */
export class Database {
  readonly sql: Statements
  readonly retryForMs: number
  readonly resolveForMs: number
  readonly logger: Logger
  /** Names of the server's settings with which lost power can lose or damage records. */
  unsafeSettings: readonly string[] = []
  readonly #onRetry: (reason: string) => void
  readonly #readers: Pool
  readonly #writer: Pool
  /** Reads in progress. `Pool.end` never settles those that wait for a connection, so `close` waits for them first. */
  readonly #reads = new Set<Promise<unknown>>()
  #isClosed = false

  private constructor(options: DatabaseOptions, schema: string) {
    this.sql = statementsOf(schema)
    this.logger = options.logger ?? silentLogger
    this.#onRetry = options.onRetry ?? (() => undefined)
    this.retryForMs = options.retryForMs ?? 15_000
    this.resolveForMs = options.resolveForMs ?? 60_000
    const config = poolConfig(options)
    this.#readers = this.#pool({ ...config, max: MAX_READERS })
    this.#writer = this.#pool({ ...config, max: 1 })
  }

  /**
   * Connects, and creates the schema. Throws `CONFIG_ERROR` for an invalid URL, `UNAVAILABLE` if the database cannot be
   * reached.
   */
  static async open(options: DatabaseOptions): Promise<Database> {
    const { schema = 'evidence_registry' } = options
    const database = new Database(options, schema)
    try {
      await database.retry(() => database.withWriter((client) => createSchema(client, schema)))
      // Not of a database that accepts no writes, which can be served read-only.
      await database
        .withWriter((client) => client.query(database.sql.deleteOldWriters))
        .catch((error: unknown) => database.logger.debug({ reason: reasonOf(error) }, 'old writers stay on record'))
      database.unsafeSettings = (await database.query<[string]>(database.sql.unsafeSettings)).map(([name]) => name)
      if (database.unsafeSettings.length > 0)
        database.logger.warn(
          { settings: database.unsafeSettings },
          'these settings of the database are off: lost power can lose or damage records',
        )
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /**
   * Runs one statement that is safe to repeat, and retries it while the database is unreachable. Returns rows as
   * arrays.
   */
  async query<Row extends unknown[]>(
    statement: QueryConfig & { readonly rowMode: 'array' },
    values: unknown[] = [],
  ): Promise<Row[]> {
    const read = this.retry(() => this.#readers.query<Row>({ ...statement, values }))
    this.#reads.add(read)
    try {
      return (await read).rows
    } finally {
      this.#reads.delete(read)
    }
  }

  /** Takes a connection from those for reads. The caller releases it. */
  connect(): Promise<PoolClient> {
    return this.#readers.connect()
  }

  /**
   * Runs `work` with the one connection for writes. If it throws, the connection is closed, which rolls an open
   * transaction back.
   */
  async withWriter<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#writer.connect()
    try {
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** Repeats `work` after transient errors, for `retryForMs`. Throws coded errors. */
  async retry<T>(work: () => Promise<T>): Promise<T> {
    const end = performance.now() + this.retryForMs
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (this.#isClosed) throw new RegistryError('CLOSED', 'The record store is closed', { cause: error })
        if (!isTransient(error) || performance.now() >= end) throw toRegistryError(error)
        const reason = reasonOf(error)
        this.#onRetry(reason)
        this.logger.debug({ reason, attempt }, 'retrying a database call')
        await pause(attempt)
      }
    }
  }

  /** Runs `decode`. If it throws `CORRUPT`, logs that the database holds damaged data. */
  checked<T>(decode: () => T): T {
    try {
      return decode()
    } catch (error) {
      if (isRegistryError(error, 'CORRUPT')) this.logger.error({ err: error }, 'the record store holds damaged data')
      throw error
    }
  }

  /**
   * Waits for `pending`, which may begin more reads, and for the reads in progress; then ends the connections. Retries
   * nothing more.
   */
  async close(pending: () => Promise<void> = async () => undefined): Promise<void> {
    this.#isClosed = true
    await pending()
    while (this.#reads.size > 0) await Promise.allSettled(this.#reads)
    await Promise.all([this.#readers.end(), this.#writer.end()])
  }

  #pool(config: PoolConfig): Pool {
    const pool = new Pool({
      ...config,
      // eslint-disable-next-line typescript/no-misused-promises -- the pool awaits it, but its types do not say so
      onConnect: async (client) => {
        client.on('error', () => undefined)
        await this.#setPlannerOptions(client)
        return config.onConnect?.(client)
      },
    })
    // Emitted for an idle connection that is lost. One in use fails its statement, and emits `error` on the client.
    const onError = (error: Error): void =>
      this.logger.warn({ reason: reasonOf(error) }, 'a database connection was lost')
    pool.on('error', onError)
    return pool
  }

  /** Servers that speak PostgreSQL's protocol but do not know these settings plan statements in their own way. */
  async #setPlannerOptions(client: ClientBase): Promise<void> {
    try {
      await client.query(PLAN_ONCE)
    } catch (error) {
      if (!(error instanceof DatabaseError) || isTransient(error)) throw error
      this.logger.debug({ reason: reasonOf(error) }, 'the database does not know the planner settings')
    }
  }
}

/** Waits before the next attempt. */
export const pause = (attempt: number): Promise<void> =>
  systemClock.sleep(backoffMs({ attempt, firstMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS }))

function poolConfig({ url, pool }: DatabaseOptions): PoolConfig {
  assertUrl(url)
  assertTlsFiles(new URL(url).searchParams)
  return {
    application_name: 'evidence-registry',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + RESPONSE_GRACE_MS,
    connectionString: url,
    ...pool,
  }
}

/** Checked here, because the error of `pg` would contain the URL with its password. */
function assertUrl(url: string): void {
  try {
    const { protocol, username, password, pathname } = new URL(url)
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    // With a slash in a password, what follows it is taken for the name of the database.
    if (/^postgres(ql)?:$/.test(protocol) && /^(?:\/[^/@]*)?$/.test(pathname)) return
  } catch {
    // Falls through.
  }
  throw new RegistryError(
    'CONFIG_ERROR',
    'The URL of the database must be postgres://user:password@host:port/database, with special characters ' +
      'percent-encoded: write % as %25, / as %2F, @ as %40',
  )
}

const TLS_FILES = { sslcert: 'cert', sslkey: 'key', sslrootcert: 'ca' } as const

/** `pg` reads these files at each connection, so its error would look like a database that cannot be reached. */
function assertTlsFiles(parameters: URLSearchParams): void {
  for (const [parameter, option] of Object.entries(TLS_FILES)) {
    const path = parameters.get(parameter)
    if (path === null || path === '') continue
    try {
      createSecureContext({ [option]: readFileSync(path) })
    } catch (cause) {
      const code = errnoOf(cause) ?? 'unknown'
      throw new RegistryError(
        'CONFIG_ERROR',
        `The file that ${parameter} in the URL of the database names cannot be used (${code}): correct its path, its ` +
          'permissions or its content',
        { cause },
      )
    }
  }
}
