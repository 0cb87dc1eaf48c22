import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './ports.ts'
import { postgresUser } from './postgres-server.ts'

/** The first version with prepared statements in transaction mode. */
const MIN_VERSION = [1, 21] as const

/** Why tests with PgBouncer are skipped; `false` if they are not. */
export const withoutPgBouncer: string | false = (() => {
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(String(spawnSync('pgbouncer', ['--version']).stdout)) ?? []
  const isEnough = Number(major) > MIN_VERSION[0] || Number(minor) >= MIN_VERSION[1]
  return isEnough ? false : 'needs PgBouncer 1.21: apt-get install pgbouncer (Debian 13)'
})()

/** A PgBouncer on a free port of the loopback. */
export class PgBouncer {
  readonly #process: ChildProcess
  readonly #port: number
  readonly #directory: string

  private constructor(process: ChildProcess, port: number, directory: string) {
    this.#process = process
    this.#port = port
    this.#directory = directory
  }

  /**
   * @param target the port of the PostgreSQL server
   * @param settings lines of the section `pgbouncer`
   */
  static async start(target: number, settings: readonly string[]): Promise<PgBouncer> {
    const directory = await mkdtemp(join(tmpdir(), 'evidence-pgbouncer-'))
    const [port, config] = [await freePort(), join(directory, 'pgbouncer.ini')]
    const usual = ['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any']
    const database = `* = host=127.0.0.1 port=${target} user=postgres`
    await writeFile(config, ['[databases]', database, '[pgbouncer]', ...usual, ...settings, ''].join('\n'))
    // It does not run as root.
    if (postgresUser.uid !== undefined) await chown(directory, postgresUser.uid, postgresUser.gid)
    const child = spawn('pgbouncer', [config], { ...postgresUser, stdio: ['ignore', 'ignore', 'pipe'] })
    let log = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString()
        if (log.includes('process up')) resolve()
      })
      child.once('exit', (code) => reject(new Error(`PgBouncer ended with ${code}: ${log}`)))
    })
    return new PgBouncer(child, port, directory)
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/${database}`
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await ended
    await rm(this.#directory, { recursive: true, force: true })
  }
}
