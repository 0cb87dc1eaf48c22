import { DatabaseError, Pool, type ClientBase, type PoolClient, type PoolConfig, type QueryConfig } from 'pg'
import { RegistryError } from '../../core/errors.ts'
import type { Logger } from '../../core/ports.ts'
import { toRegistryError, isPassing, reasonOf } from './errors.ts'
import { assertSchemaName, migrate } from './schema.ts'
import { statementsOf, type Statements } from './statements.ts'

export interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/database`. It is secret: no error and no log line shows it. */
  readonly url?: string
  /** What `pg` takes for a connection, beside the URL or in its place. */
  readonly pool?: PoolConfig
  /** Schema of the tables, created where it is missing. Default `evidence_registry`. */
  readonly schema?: string
  /** Connections that read, beside the one that writes. Default 8. */
  readonly maxReaders?: number
  /** The server ends a statement that takes longer, ms. Default 15,000. */
  readonly statementTimeoutMs?: number
  /** The server ends a transaction that does nothing for so long: a stopped process must not hold the lock. Default 5,000. */
  readonly idleTransactionTimeoutMs?: number
  /** For how long a database that is away, restarts or fails over is tried again before a call throws, ms. Default 15,000. */
  readonly retryForMs?: number
  /** For how long the outcome of a COMMIT whose answer was lost is looked for, ms. Default 60,000. */
  readonly resolveForMs?: number
  readonly logger?: Logger
}

/** The client gives up on an answer so long after the server should have ended the statement: the network is gone. */
const ANSWER_GRACE_MS = 5_000
const CONNECT_TIMEOUT_MS = 5_000
const MAX_PAUSE_MS = 500

/**
 * Statements are planned once for a connection, and by the primary keys. Else the server plans look-ups of few keys anew each time, for
 * as much as they cost (bench/README.md, `servers`), and one that was planned while a table was small could go on reading it whole.
 */
const PLAN_ONCE = 'set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A database's connections: some that read, one that writes. Every one has an error listener, so none that is cut ends the process. */
export class Database {
  readonly sql: Statements
  readonly retryForMs: number
  readonly resolveForMs: number
  readonly logger: Logger
  readonly #readers: Pool
  readonly #writer: Pool
  /** Reads under way: a pool that is ended leaves those that wait for a connection without an answer. */
  readonly #reads = new Set<Promise<unknown>>()
  #isClosed = false

  private constructor(options: OpenPostgresOptions, config: PoolConfig, schema: string) {
    this.sql = statementsOf(schema)
    this.logger = options.logger ?? silent
    this.retryForMs = options.retryForMs ?? 15_000
    this.resolveForMs = options.resolveForMs ?? 60_000
    this.#readers = this.#pool({ ...config, max: options.maxReaders ?? 8 })
    this.#writer = this.#pool({ ...config, max: 1 })
  }

  /** Connects, and makes or migrates the schema. Throws `CONFIG_ERROR` for options that cannot be used, `UNAVAILABLE` where no database answers. */
  static async open(options: OpenPostgresOptions): Promise<Database> {
    const { schema = 'evidence_registry' } = options
    assertSchemaName(schema)
    const database = new Database(options, poolConfig(options), schema)
    try {
      await database.retrying(() => database.writing((client) => migrate(client, schema)))
      await database.retrying(() => database.writing((client) => client.query(database.sql.forgetWriters)))
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** One statement, which may be done twice, tried again while the database is away. Rows are arrays. */
  async rows<Row extends unknown[]>(
    statement: QueryConfig & { readonly rowMode: 'array' },
    values: unknown[] = [],
  ): Promise<Row[]> {
    const read = this.retrying(() => this.#readers.query<Row>({ ...statement, values }))
    this.#reads.add(read)
    try {
      return (await read).rows
    } finally {
      this.#reads.delete(read)
    }
  }

  /** Gives the one writing connection to `work`. It is cut where that throws, and with it whatever transaction was begun. */
  async writing<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
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

  /** Does it again after errors that pass by themselves, for `retryForMs`. Throws what a caller sees. */
  async retrying<T>(work: () => Promise<T>): Promise<T> {
    const end = performance.now() + this.retryForMs
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (this.#isClosed) throw new RegistryError('CLOSED', 'The record store is closed', { cause: error })
        if (!isPassing(error) || performance.now() >= end) throw toRegistryError(error)
        this.logger.debug({ reason: reasonOf(error), attempt }, 'the database is asked again')
        await pause(attempt)
      }
    }
  }

  /** Reads under way end first, and `others`, which may begin more; what fails is not tried again. */
  async close(others: () => Promise<void> = async () => undefined): Promise<void> {
    this.#isClosed = true
    await others()
    while (this.#reads.size > 0) await Promise.allSettled(this.#reads)
    await Promise.all([this.#readers.end(), this.#writer.end()])
  }

  #pool(config: PoolConfig): Pool {
    const pool = new Pool({
      ...config,
      // eslint-disable-next-line typescript/no-misused-promises -- the pool waits for it, and its types do not say so
      onConnect: async (client) => {
        client.on('error', () => undefined)
        await this.#planOnce(client)
        return config.onConnect?.(client)
      },
    })
    // An idle connection that is cut tells the pool; one in use fails its statement, and tells the client as well.
    const onError = (error: Error): void =>
      this.logger.warn({ reason: reasonOf(error) }, 'a database connection was lost')
    pool.on('error', onError)
    return pool
  }

  /** A server that speaks PostgreSQL's protocol and knows no such settings plans as it does. */
  async #planOnce(client: ClientBase): Promise<void> {
    try {
      await client.query(PLAN_ONCE)
    } catch (error) {
      if (!(error instanceof DatabaseError) || isPassing(error)) throw error
      this.logger.debug({ reason: reasonOf(error) }, 'the database plans statements by its own settings')
    }
  }
}

/** Half of it fixed, half by chance: many that failed together do not come back together. */
export async function pause(attempt: number): Promise<void> {
  const ceiling = Math.min(MAX_PAUSE_MS, 10 * 2 ** attempt)
  await new Promise((resolve) => setTimeout(resolve, ceiling / 2 + (Math.random() * ceiling) / 2))
}

function poolConfig({
  url,
  pool,
  statementTimeoutMs = 15_000,
  idleTransactionTimeoutMs = 5_000,
}: OpenPostgresOptions): PoolConfig {
  if (url !== undefined) assertUrl(url)
  return {
    application_name: 'evidence-registry',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleTransactionTimeoutMs,
    query_timeout: statementTimeoutMs + ANSWER_GRACE_MS,
    ...(url !== undefined && { connectionString: url }),
    ...pool,
  }
}

/** Here and not in `pg`, whose error would carry the URL with its password. */
function assertUrl(url: string): void {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol))
    throw new RegistryError(
      'CONFIG_ERROR',
      'The URL of the database is postgres://user:password@host:port/database, with what is special percent-encoded',
    )
}
