import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateCheckpointKey } from '../../adapters/files/index.ts'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { formatFinding, median, roundFigure, type BenchCase } from '../run/case.ts'
import { stopChild, type ServerProcess } from '../run/child.ts'
import { cpuMsOf, type Work } from '../run/cpu-time.ts'
import { pin, usableCores } from '../run/pin.ts'
import type { Row } from '../run/row.ts'
import { itemAt } from '../workload/concurrency.ts'
import { runHttpLoad, type HttpRequest } from '../workload/http-load.ts'
import { OPERATOR_KEY, Service, startRegistryServer } from '../workload/service.ts'

/** In total, to keep three servers busy. One server sheds load above 100 requests if its event loop does not pause. */
const CONNECTIONS = 96
const HEADERS = { 'x-api-key': OPERATOR_KEY, 'content-type': 'application/json' }
const EVIDENCE = '/api/v1/evidences/bench/evidence'
const ROUNDS = 3

/**
 * Creates and reads over HTTP with one server and with three servers, each over one synced PostgreSQL, and with one
 * server on LevelDB.
 *
 * Fair because all have the same number of connections in total, and are measured in turns. Every process is pinned,
 * the client (this process) and the databases to other cores than the servers. Three servers are faster than one only
 * if each has a core of its own. So the rows also have the CPU time that a request costs each process, which shows
 * where the limit is.
 */
export const shared: BenchCase = {
  name: 'shared',
  measures: 'creates and reads over HTTP: one server on LevelDB, one and three on PostgreSQL',
  columns: {
    servers: 'servers',
    operation: 'operation',
    perSecond: 'per second',
    serverMicroseconds: 'CPU µs of each server',
    databaseMicroseconds: 'of PostgreSQL',
    clientMicroseconds: 'of the client',
  },
  async run({ quick, progress }) {
    const seconds = quick ? 1 : 5
    const rounds = quick ? 1 : ROUNDS
    const clusters: Cluster[] = []
    const cores = await usableCores()
    const places = placesOn(cores)
    const pinned: boolean[] = []
    try {
      for (const store of STORES) clusters.push(await Cluster.start(store))
      for (const cluster of clusters) {
        pinned.push(await cluster.pinTo(places))
        await cluster.warmUp(seconds)
        progress(`warm: ${cluster.name}`)
      }
      for (let round = 1; round <= rounds; round += 1)
        for (const cluster of clusters) {
          await cluster.measure('creates', seconds)
          await cluster.measure('reads', seconds)
          progress(`round ${round} of ${rounds}: ${cluster.name}`)
        }
    } finally {
      for (const cluster of clusters) await cluster.close()
      await pin(process.pid, cores)
    }
    const [level, one, three] = clusters
    const coresOfServers = pinned.every(Boolean) ? places.servers.length : 'all'
    const ratio = (operation: Operation, a?: Cluster, b?: Cluster): number =>
      roundFigure((a?.perSecond(operation) ?? 0) / (b?.perSecond(operation) ?? 1))
    return {
      settings: { connections: CONNECTIONS, seconds, rounds, synced: true, coresOfServers },
      rows: clusters.flatMap((cluster) => [cluster.row('creates'), cluster.row('reads')]),
      findings: {
        createsThreeToOne: ratio('creates', three, one),
        readsThreeToOne: ratio('reads', three, one),
        createsPostgresToLevel: ratio('creates', one, level),
      },
    }
  },
  conclude: (result) =>
    `Three servers, on ${result.settings['coresOfServers']} of the cores, make ` +
    `${formatFinding(result, 'createsThreeToOne')} times the creates and ` +
    `${formatFinding(result, 'readsThreeToOne')} times the reads of one server.`,
}

/** A store, and how many servers use it. */
const STORES = [
  { records: 'level', servers: 1 },
  { records: 'postgres', servers: 1 },
  { records: 'postgres', servers: 3 },
] as const

type Operation = 'creates' | 'reads'

/** The cores on which each kind of process runs. Each server gets one of its own, as long as there are enough. */
type Places = Readonly<Record<'client' | 'database' | 'servers', readonly number[]>>

/** The client and the database share a core if there are only two. */
const placesOn = (cores: readonly number[]): Places => {
  const others = Math.min(2, cores.length - 1)
  return { client: cores.slice(0, 1), database: cores.slice(others - 1, others), servers: cores.slice(others) }
}

/** One round of a load. `cpuMs`: as `#cpuMs`. */
interface Measured extends Work {
  readonly cpuMs: readonly number[]
}

/** Servers, and the database that they share if they use one. */
class Cluster {
  readonly name: string
  readonly #size: number
  readonly #directory: string
  readonly #database: PostgresServer | undefined
  readonly #servers: ServerProcess[] = []
  readonly #measured: Record<Operation, Measured[]> = { creates: [], reads: [] }
  /** Of the evidences that were created, or were being created at the end of a round. */
  readonly #externalIds: string[] = []

  private constructor(size: number, directory: string, database?: PostgresServer) {
    this.name = `${size} on ${database === undefined ? 'LevelDB' : 'PostgreSQL'}`
    this.#size = size
    this.#directory = directory
    this.#database = database
  }

  static async start({ records, servers }: (typeof STORES)[number]): Promise<Cluster> {
    const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-servers-'))
    const database = records === 'postgres' ? await PostgresServer.start({ synced: true }) : undefined
    const cluster = new Cluster(servers, directory, database)
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
    await generateCheckpointKey(join(this.#directory, 'checkpoint-keys.json'))
    for (let i = 0; i < this.#size; i += 1) {
      const own = join(this.#directory, String(i))
      await mkdir(join(own, 'data'), { recursive: true })
      // Servers of one registry share its files: here by a link.
      if (i > 0) await symlink(join(this.#directory, '0/data/blobs'), join(own, 'data/blobs'))
      const env = {
        ...(this.#database && { EVIDENCE_RECORDS: 'postgres', EVIDENCE_POSTGRES_URL: this.#database.url() }),
        EVIDENCE_SECRET_FILE: join(this.#directory, 'secret'),
        EVIDENCE_CHECKPOINT_KEYS: join(this.#directory, 'checkpoint-keys.json'),
        EVIDENCE_ANCHOR: 'none',
        EVIDENCE_TSA: 'none',
        EVIDENCE_SEAL_MAX_WAIT_MS: '5000',
        EVIDENCE_LOG_LEVEL: 'info',
      }
      this.#servers.push(await startRegistryServer(own, undefined, env))
    }
    const service = new Service(this.#servers[0]?.url ?? '')
    await service.requestJson('/sourceSystem/bench', { method: 'POST', key: OPERATOR_KEY, body: { name: 'bench' } })
  }

  /** Returns whether all processes are pinned. */
  async pinTo({ client, database, servers }: Places): Promise<boolean> {
    const pins = this.#servers.map(({ child }, i) => {
      const core = i % servers.length
      return pin(child.pid, servers.slice(core, core + 1))
    })
    if (this.#database !== undefined) pins.push(pin(this.#database.pid, database))
    return (await Promise.all([...pins, pin(process.pid, client)])).every(Boolean)
  }

  /** As long for each of its servers, because each compiles its code by itself while it gets its first requests. */
  async warmUp(seconds: number): Promise<void> {
    for (const operation of ['creates', 'reads'] as const) await this.#load(operation, 2 * seconds * this.#size)
  }

  async measure(operation: Operation, seconds: number): Promise<void> {
    const before = await this.#cpuMs()
    const work = await this.#load(operation, seconds)
    const after = await this.#cpuMs()
    this.#measured[operation].push({ ...work, cpuMs: after.map((ms, i) => ms - (before[i] ?? 0)) })
  }

  #load(operation: Operation, seconds: number) {
    const next = operation === 'creates' ? this.#create : this.#readOf(this.#externalIds.length)
    const urls = this.#servers.map(({ url }) => url)
    return runHttpLoad({ urls, connections: CONNECTIONS, seconds, headers: HEADERS, next })
  }

  #create = (): HttpRequest => {
    const externalId = `item ${this.#externalIds.length}`
    this.#externalIds.push(externalId)
    const body = { externalId, name: externalId, categoryName: 'Vehicles', subcategoryName: 'Cars' }
    return { method: 'POST', path: EVIDENCE, body: JSON.stringify(body) }
  }

  #readOf(known: number): () => HttpRequest {
    return () => {
      const externalId = itemAt(this.#externalIds, Math.floor(Math.random() * known))
      return { method: 'GET', path: `${EVIDENCE}/${encodeURIComponent(externalId)}` }
    }
  }

  /** The CPU time of the client, of the database, and of each server, in this order. */
  async #cpuMs(): Promise<readonly number[]> {
    const { user, system } = process.cpuUsage()
    const others = [this.#database?.pid, ...this.#servers.map(({ child }) => child.pid)]
    const times = others.map(async (pid) => (pid === undefined ? 0 : ((await cpuMsOf([pid])) ?? Number.NaN)))
    return [(user + system) / 1_000, ...(await Promise.all(times))]
  }

  perSecond(operation: Operation): number {
    return median(this.#measured[operation].map(({ completed, seconds }) => completed / seconds))
  }

  /** The medians over all rounds. */
  row(operation: Operation): Row {
    const measured = this.#measured[operation]
    const cpuOf = (process: number): number =>
      roundFigure(median(measured.map(({ cpuMs, completed }) => ((cpuMs[process] ?? 0) * 1_000) / completed)))
    return {
      servers: this.name,
      operation,
      perSecond: roundFigure(this.perSecond(operation)),
      serverMicroseconds: this.#servers.map((_, i) => cpuOf(2 + i)).join(' + '),
      databaseMicroseconds: cpuOf(1),
      clientMicroseconds: cpuOf(0),
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(({ child }) => stopChild(child)))
    await this.#database?.stop()
    await rm(this.#directory, { recursive: true })
  }
}
