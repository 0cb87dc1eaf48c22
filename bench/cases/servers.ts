import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { median, shown, type Bench } from '../run/case.ts'
import { startListening, stopChild } from '../run/child.ts'
import { cpuMsOf } from '../run/cpu-time.ts'
import { httpLoad, type HttpRequest } from '../workload/http-load.ts'

const OPERATOR_KEY = 'operator-key-of-the-benchmark'
const CONNECTIONS = 63
const HEADERS = { 'x-api-key': OPERATOR_KEY, 'content-type': 'application/json' }
const EVIDENCE = '/api/v1/evidences/bench/evidence'
const ROUNDS = 3

/**
 * Creates and reads over HTTP, on one server and on three over one synced PostgreSQL, with as many connections in all; in turns, so that
 * both see the same machine. Servers, databases and the client, which is this process, share its cores: the CPU time that a request
 * costs each of them says where the limit is.
 */
export const servers: Bench = {
  name: 'servers',
  about: 'creates and reads over HTTP: one server and three on one PostgreSQL',
  async run({ quick, progress }) {
    const seconds = quick ? 1 : 5
    const rounds = quick ? 1 : ROUNDS
    const clusters: Cluster[] = []
    try {
      for (const count of [1, 3]) clusters.push(await Cluster.start(count))
      for (let round = 1; round <= rounds; round += 1)
        for (const cluster of clusters) {
          await cluster.measure('creates', seconds)
          await cluster.measure('reads', seconds)
          progress(`round ${round} of ${rounds}: ${cluster.size} server${cluster.size === 1 ? '' : 's'}`)
        }
    } finally {
      for (const cluster of clusters) await cluster.close()
    }
    const [one, three] = clusters.map((cluster) => cluster.row())
    return {
      settings: { connections: CONNECTIONS, seconds, rounds, synced: true },
      rows: [one, three].flatMap((row) => (row === undefined ? [] : [row])),
      findings: {
        createsThreeToOne: shown((three?.createsPerSecond ?? 0) / (one?.createsPerSecond ?? 1)),
        readsThreeToOne: shown((three?.readsPerSecond ?? 0) / (one?.readsPerSecond ?? 1)),
      },
    }
  },
}

type What = 'creates' | 'reads'

/** Requests a second, and the CPU time that one cost, µs; `NaN` where the system does not tell. */
interface Measured {
  readonly perSecond: number
  readonly serversUs: number
  readonly databaseUs: number
  readonly clientUs: number
}

/** Servers, and the database that they share. */
class Cluster {
  readonly size: number
  readonly #directory: string
  readonly #database: PostgresServer
  readonly #servers: { readonly child: ChildProcess; readonly url: string }[] = []
  readonly #measured: Record<What, Measured[]> = { creates: [], reads: [] }
  /** Of evidences that were created, or were being created when a round ended. */
  readonly #externalIds: string[] = []

  private constructor(size: number, directory: string, database: PostgresServer) {
    this.size = size
    this.#directory = directory
    this.#database = database
  }

  static async start(size: number): Promise<Cluster> {
    const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-servers-'))
    const cluster = new Cluster(size, directory, await PostgresServer.start({ synced: true }))
    try {
      await cluster.#startServers()
      return cluster
    } catch (error) {
      await cluster.close()
      throw error
    }
  }

  async #startServers(): Promise<void> {
    await writeFile(join(this.#directory, 'secret'), randomBytes(32))
    for (let i = 0; i < this.size; i += 1) {
      const own = join(this.#directory, String(i))
      await mkdir(own)
      const env = {
        EVIDENCE_PORT: '0',
        EVIDENCE_DATA_DIR: join(own, 'data'),
        EVIDENCE_RECORDS: 'postgres',
        EVIDENCE_POSTGRES_URL: this.#database.url(),
        EVIDENCE_SECRET_FILE: join(this.#directory, 'secret'),
        EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
        EVIDENCE_ANCHOR: 'none',
        EVIDENCE_TSA: 'none',
        EVIDENCE_SEAL_MAX_WAIT_MS: '5000',
        EVIDENCE_LOG_LEVEL: 'info',
      }
      this.#servers.push(await startListening(own, '../server/main.ts', [], env))
    }
    const response = await fetch(`${this.#servers[0]?.url}/api/v1/sourceSystem/bench`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ name: 'bench' }),
    })
    if (!response.ok) throw new Error(`the company was refused: ${response.status} ${await response.text()}`)
  }

  async measure(what: What, seconds: number): Promise<void> {
    const next = what === 'creates' ? this.#create : this.#readOf(this.#externalIds.length)
    const before = await this.#cpuMs()
    const { answered, ...took } = await httpLoad({
      urls: this.#servers.map(({ url }) => url),
      connections: CONNECTIONS,
      seconds,
      headers: HEADERS,
      next,
    })
    const after = await this.#cpuMs()
    const usOf = (part: keyof typeof after): number => ((after[part] - before[part]) * 1_000) / answered
    this.#measured[what].push({
      perSecond: answered / took.seconds,
      serversUs: usOf('servers'),
      databaseUs: usOf('database'),
      clientUs: usOf('client'),
    })
  }

  #create = (): HttpRequest => {
    const externalId = `item ${this.#externalIds.length}`
    this.#externalIds.push(externalId)
    const body = { externalId, name: externalId, categoryName: 'Vehicles', subcategoryName: 'Cars' }
    return { method: 'POST', path: EVIDENCE, body: JSON.stringify(body) }
  }

  #readOf(known: number): () => HttpRequest {
    return () => {
      const externalId = this.#externalIds[Math.floor(Math.random() * known)] as string
      return { method: 'GET', path: `${EVIDENCE}/${encodeURIComponent(externalId)}` }
    }
  }

  async #cpuMs() {
    const { user, system } = process.cpuUsage()
    const [ofServers, ofDatabase] = await Promise.all([
      cpuMsOf(this.#servers.map(({ child }) => child.pid as number)),
      cpuMsOf([this.#database.pid]),
    ])
    return { servers: ofServers ?? NaN, database: ofDatabase ?? NaN, client: (user + system) / 1_000 }
  }

  /** The medians of all rounds. */
  row() {
    const { creates, reads } = this.#measured
    const of = (measured: readonly Measured[], name: keyof Measured): number =>
      shown(median(measured.map((one) => one[name])))
    return {
      servers: this.size,
      createsPerSecond: of(creates, 'perSecond'),
      readsPerSecond: of(reads, 'perSecond'),
      ...cpuOf('Create', (name) => of(creates, name)),
      ...cpuOf('Read', (name) => of(reads, name)),
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(({ child }) => stopChild(child)))
    await this.#database.stop()
    await rm(this.#directory, { recursive: true })
  }
}

/** No columns where the system does not tell. */
function cpuOf(what: string, of: (name: keyof Measured) => number): Record<string, number> {
  const columns = {
    [`serversCpuUsPer${what}`]: of('serversUs'),
    [`databaseCpuUsPer${what}`]: of('databaseUs'),
    [`clientCpuUsPer${what}`]: of('clientUs'),
  }
  return Object.values(columns).some(Number.isNaN) ? {} : columns
}
