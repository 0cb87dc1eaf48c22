import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateCheckpointKey } from '../../adapters/files/index.ts'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { formatFinding, median, roundFigure, type BenchCase } from '../run/case.ts'
import { stopChild, type ServerProcess } from '../run/child.ts'
import { cpu, measureRate, perSecond, type Rate } from '../run/cpu-time.ts'
import { itemAt } from '../workload/concurrency.ts'
import { runHttpLoad, type HttpRequest } from '../workload/http-load.ts'
import { OPERATOR_KEY, Service, startRegistryServer } from '../workload/service.ts'

const CONNECTIONS = 63
const HEADERS = { 'x-api-key': OPERATOR_KEY, 'content-type': 'application/json' }
const EVIDENCE = '/api/v1/evidences/bench/evidence'
const ROUNDS = 3

/**
 * Creates and reads over HTTP with one server and with three servers, each over one synced PostgreSQL, and with one
 * server on LevelDB.
 *
 * Fair because all have the same number of connections in total and are measured in turns. Servers, databases and the
 * client (this process) share the cores of one machine, so the rows also have the CPU time that a request costs all of
 * them: it shows where the limit is.
 */
export const shared: BenchCase = {
  name: 'shared',
  measures: 'creates and reads over HTTP: one server on LevelDB, one and three on PostgreSQL',
  columns: {
    servers: 'servers',
    createsPerSecond: 'creates/s',
    readsPerSecond: 'reads/s',
    cpuMicrosecondsPerCreate: 'CPU µs per create',
    cpuMicrosecondsPerRead: 'CPU µs per read',
  },
  async run({ quick, progress }) {
    const seconds = quick ? 1 : 5
    const rounds = quick ? 1 : ROUNDS
    const clusters: Cluster[] = []
    try {
      for (const store of STORES) clusters.push(await Cluster.start(store))
      for (const cluster of clusters) {
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
    }
    const rows = clusters.map((cluster) => cluster.row())
    const [level, one, three] = rows
    return {
      settings: { connections: CONNECTIONS, seconds, rounds, synced: true },
      rows,
      findings: {
        createsThreeToOne: roundFigure((three?.createsPerSecond ?? 0) / (one?.createsPerSecond ?? 1)),
        readsThreeToOne: roundFigure((three?.readsPerSecond ?? 0) / (one?.readsPerSecond ?? 1)),
        createsPostgresToLevel: roundFigure((one?.createsPerSecond ?? 0) / (level?.createsPerSecond ?? 1)),
      },
    }
  },
  conclude: (result) =>
    `Three servers on one machine make ${formatFinding(result, 'createsThreeToOne')} times the creates and ` +
    `${formatFinding(result, 'readsThreeToOne')} times the reads of one server.`,
}

/** A store, and how many servers use it. */
const STORES = [
  { records: 'level', servers: 1 },
  { records: 'postgres', servers: 1 },
  { records: 'postgres', servers: 3 },
] as const

type Operation = 'creates' | 'reads'

/** Servers, and the database that they share if they use one. */
class Cluster {
  readonly name: string
  readonly #size: number
  readonly #directory: string
  readonly #database: PostgresServer | undefined
  readonly #servers: ServerProcess[] = []
  readonly #measured: Record<Operation, Rate[]> = { creates: [], reads: [] }
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

  /** As long for each of its servers, because each compiles its code by itself while it gets its first requests. */
  async warmUp(seconds: number): Promise<void> {
    for (const operation of ['creates', 'reads'] as const) await this.#load(operation, 2 * seconds * this.#size)
  }

  async measure(operation: Operation, seconds: number): Promise<void> {
    this.#measured[operation].push(await measureRate([process.pid], () => this.#load(operation, seconds)))
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

  /** The medians over all rounds. */
  row() {
    const { creates, reads } = this.#measured
    const of = (rates: readonly Rate[], figure: (rate: Rate) => number): number =>
      roundFigure(median(rates.map(figure)))
    return {
      servers: this.name,
      createsPerSecond: of(creates, perSecond),
      readsPerSecond: of(reads, perSecond),
      cpuMicrosecondsPerCreate: of(creates, cpu),
      cpuMicrosecondsPerRead: of(reads, cpu),
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(({ child }) => stopChild(child)))
    await this.#database?.stop()
    await rm(this.#directory, { recursive: true })
  }
}
