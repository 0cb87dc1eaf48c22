import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { generateCheckpointKey } from '../../../adapters/files/index.ts'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { fromHex, toHex } from '../../../core/bytes.ts'
import { fsck, type Difference } from '../../../core/ops/index.ts'
import { companyOfPayload } from '../../../core/log/payload.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { listEntries } from '../../../core/store/read.ts'
import type { BatchRecord, SealerLeaseRecord } from '../../../core/log/records.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { createClient } from '../../../server/client/index.ts'
import { assertNoneReadable, callAt, holdsMark, writeMarks } from '../../support/erasure-marker.ts'
import { eventually } from '../../support/eventually.ts'
import { BUCKET, CLIENT_ENV, withService } from '../../support/s3-service.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

const OPERATOR_KEY = 'operator-key-of-the-cluster'
const KEY = 'source-system-of-the-cluster'
/** A module that is preloaded into a server, so that its clock differs from this machine's. */
const skewedBy = (ms: number): string =>
  `data:text/javascript,${encodeURIComponent(`const now = Date.now.bind(Date); Date.now = () => now() + ${ms}`)}`

let database: PostgresServer
const directory = temporaryOfSuite()
let secret: Uint8Array
/** The bucket that all servers share. */
let files: Readonly<Record<string, string>> = {}
const servers: Server[] = []

/** A server that can be killed and started again. */
class Server {
  readonly name: string
  readonly #skewMs: number
  readonly #env: Readonly<Record<string, string>>
  process: ServerProcess
  url = ''

  constructor(name: string, skewMs = 0, env: Readonly<Record<string, string>> = {}) {
    this.name = name
    this.#skewMs = skewMs
    this.#env = env
    this.process = this.#spawn()
    servers.push(this)
  }

  async ready(): Promise<this> {
    this.url = `${await this.process.ready()}/api/v1`
    return this
  }

  async restart(): Promise<void> {
    this.process = this.#spawn()
    await this.ready()
  }

  /** When it last sealed a batch by this machine's clock, read from its log. -1 if it has not sealed one. */
  get lastSealedAt(): number {
    const line = this.process.lines.findLast(({ msg }) => msg === 'batch sealed')
    return line === undefined ? -1 : Date.parse(String(line['time'])) - this.#skewMs
  }

  #spawn(): ServerProcess {
    const env = {
      EVIDENCE_RECORDS: 'postgres',
      EVIDENCE_POSTGRES_URL_FILE: join(directory, 'url'),
      EVIDENCE_SECRET_FILE: join(directory, 'secret'),
      EVIDENCE_CHECKPOINT_KEYS: join(directory, 'checkpoint-keys.json'),
      EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
      EVIDENCE_ANCHOR: 'none',
      EVIDENCE_TSA: 'none',
      EVIDENCE_SEAL_MAX_WAIT_MS: '100',
      ...files,
      ...this.#env,
    }
    return new ServerProcess(
      join(directory, this.name),
      env,
      [],
      this.#skewMs === 0 ? [] : ['--import', skewedBy(this.#skewMs)],
    )
  }
}

withService('a cluster', (service) => {
  before(async () => {
    files = {
      EVIDENCE_BLOBS: 's3',
      EVIDENCE_S3_BUCKET: BUCKET,
      EVIDENCE_S3_PREFIX: 'cluster/',
      EVIDENCE_S3_ENDPOINT: service().ceph.endpoint,
      ...CLIENT_ENV,
    }
    database = await PostgresServer.start()
    secret = new Uint8Array(randomBytes(32))
    await writeFile(join(directory, 'secret'), secret)
    await generateCheckpointKey(join(directory, 'checkpoint-keys.json'))
    await writeFile(join(directory, 'url'), `${database.url()}\n`)
  })
  after(async () => {
    for (const { process: child } of servers) child.child.kill('SIGCONT')
    await Promise.all(servers.map((server) => server.process.stop('SIGKILL')))
    await database.stop()
  })

  interface Reply {
    readonly status: number
    readonly body: Readonly<Record<string, unknown>>
  }

  /** Status 0: the request failed without a response. */
  async function send(
    server: Server,
    method: string,
    path: string,
    json?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    try {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { 'x-api-key': KEY, ...(json && { 'content-type': 'application/json' }), ...headers },
        ...(json && { body: JSON.stringify(json) }),
      })
      return { status: response.status, body: (await response.json()) as Reply['body'] }
    } catch {
      return { status: 0, body: {} }
    }
  }

  const create = (server: Server, externalId: string, headers?: Readonly<Record<string, string>>): Promise<Reply> =>
    send(
      server,
      'POST',
      '/evidences/acme/evidence',
      { categoryName: 'Vehicles', subcategoryName: 'Cars', externalId, name: externalId },
      headers,
    )

  /** Clients that create evidences until they are stopped, and note what was acknowledged. */
  class Load {
    /** txIds by external id. */
    readonly acknowledged = new Map<string, string[]>()
    readonly statuses = new Map<number, number>()
    #isStopped = false
    #next = 0
    readonly #clients: Promise<unknown>

    constructor(targets: readonly Server[], clients: number) {
      const client = async (): Promise<void> => {
        while (!this.#isStopped) {
          const id = `load ${(this.#next += 1)}`
          // Every fourth id is created on all servers at the same time: only one of them may succeed.
          const receivers = this.#next % 4 === 0 ? targets : [targets[this.#next % targets.length] as Server]
          await Promise.all(receivers.map(async (server) => this.#note(id, await create(server, id))))
        }
      }
      this.#clients = Promise.all(Array.from({ length: clients }, client))
    }

    /** Waits until more evidences have been acknowledged. */
    async runFor(evidences: number): Promise<void> {
      const target = this.acknowledged.size + evidences
      await eventually(
        () => this.acknowledged.size >= target,
        () => `statuses: ${JSON.stringify([...this.statuses])}`,
      )
    }

    async stop(): Promise<void> {
      this.#isStopped = true
      await this.#clients
    }

    #note(id: string, { status, body }: Reply): void {
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      if (status !== 201) return
      this.acknowledged.set(id, [...(this.acknowledged.get(id) ?? []), String(body['txId'])])
    }
  }

  const batchesOf = async (records: RecordStore): Promise<readonly BatchRecord[]> =>
    (await listEntries(records, logKeys.batches())).map((entry) => decodeRecord<BatchRecord>(entry))

  const lastSealer = (candidates: readonly [Server, ...Server[]]): Server =>
    candidates.reduce((last, server) => (server.lastSealedAt > last.lastSealedAt ? server : last))

  const originOf = ({ url }: Server): string => new URL(url).origin

  /** The id of the sealer that holds the lease. */
  async function leaseHolder(): Promise<string | undefined> {
    const records = await openPostgresRecords({ url: database.url() })
    try {
      const [entry] = await records.get([logKeys.sealerLease()])
      return decodeRecord<SealerLeaseRecord>(entry)?.holder
    } finally {
      await records.close()
    }
  }

  describe('three servers on one database', () => {
    let all: readonly [Server, Server, Server]
    let load: Load
    /** The txIds in the feed of the first server, which is killed. */
    const followed: string[] = []
    const following = new AbortController()
    let follower: Promise<void>
    async function follow(): Promise<void> {
      const baseUrl = all[0].url
      // After a restart the server has another port.
      const toServer = (url: string, init: RequestInit) => fetch(url.replace(baseUrl, all[0].url), init)
      const client = createClient({ baseUrl, companyId: 'acme', apiKey: KEY, fetch: toServer })
      for await (const { txId } of client.events({}, { signal: following.signal })) followed.push(txId)
    }

    before(async () => {
      // Started at once on an empty database, with clocks that differ by 50 s.
      all = [new Server('one'), new Server('ahead', 25_000), new Server('behind', -25_000)]
      await Promise.all(all.map((server) => server.ready()))
      const system = { name: 'cluster', apiKey: KEY, permissions: 'A' }
      assert.equal(
        (await send(all[0], 'POST', '/sourceSystem/acme', system, { 'x-api-key': OPERATOR_KEY })).status,
        201,
      )
      follower = follow()
    })

    it('share one log, and each of them accepts every request', async () => {
      const origins = all.map(({ process: child }) => child.lines.find(({ msg }) => msg === 'ready')?.['origin'])
      assert.equal(new Set(origins).size, 1)
      for (const [i, server] of all.entries()) {
        assert.equal((await create(server, `any ${i}`)).status, 201)
        for (const other of all)
          assert.equal(
            (await send(other, 'GET', `/evidences/acme/evidence/${encodeURIComponent(`any ${i}`)}`)).status,
            200,
          )
      }
    })

    it('run a request with an idempotency key once, on whichever server', async () => {
      const replies = await Promise.all(
        all.map((server) => create(server, 'idempotent', { 'idempotency-key': 'once' })),
      )
      const statuses = replies.map(({ status }) => status)
      assert.deepEqual(statuses, [201, 201, 201])
      assert.equal(new Set(replies.map(({ body }) => body['txId'])).size, 1)
    })

    it('survive a killed server, a paused one, and a database that crashes, under load', async () => {
      load = new Load(all, 6)
      await load.runFor(20)
      await all[0].process.stop('SIGKILL')
      await load.runFor(20)
      await all[0].restart()

      await eventually(() => all.some(({ lastSealedAt }) => lastSealedAt > 0))
      const sealing = lastSealer(all)
      const pausedAt = Date.now()
      sealing.process.child.kill('SIGSTOP')
      // Another server takes over when the lease and the transaction of the paused one have expired.
      const others = all.filter((server) => server !== sealing)
      await eventually(() => others.some(({ lastSealedAt }) => lastSealedAt > pausedAt))
      sealing.process.child.kill('SIGCONT')
      await load.runFor(20)

      await database.kill()
      const meanwhile = all.map((server) => create(server, `without database: ${server.name}`))
      await database.restart()
      await Promise.all(meanwhile)
      await load.runFor(20)
      await load.stop()
      for (const { process: child } of all) assert.equal(child.child.exitCode, null, child.stderr)
    })

    it('have lost nothing acknowledged, used no id twice, and sealed each event in exactly one batch', async (t) => {
      const records = await openPostgresRecords({ url: database.url() })
      t.after(() => records.close())
      const sealedSize = async (): Promise<number> => (await batchesOf(records)).at(-1)?.end ?? 0
      await eventually(async () => (await sealedSize()) === (await records.logSize()))
      const size = await records.logSize()
      const log = await records.readLog(0, size)
      const entries = Array.from({ length: size }, (_, i) => toHex(log.subarray(i * 32, i * 32 + 32)))
      assert.equal(new Set(entries).size, size, 'an entry is in the log twice')

      const txIds: string[] = []
      for (const [id, acknowledged] of load.acknowledged) {
        assert.equal(acknowledged.length, 1, `${id} was acknowledged ${acknowledged.length} times`)
        txIds.push(...acknowledged)
      }
      const positions = await records.positionsOf(txIds.map((txId) => fromHex(txId) as Uint8Array))
      assert.ok(
        positions.every((position) => position !== undefined),
        'an acknowledged event is lost',
      )

      let end = 0
      let previous: string | null = null
      for (const batch of await batchesOf(records)) {
        assert.deepEqual([batch.start, batch.previous], [end, previous], 'batches overlap or have a gap')
        end = batch.end
        previous = batch.id
      }
      assert.equal(end, size)
      const differences: Difference[] = []
      const report = await fsck({ records, secret }, { onDifference: (difference) => differences.push(difference) })
      assert.deepEqual([differences, report.done.log], [[], size])
    })

    it('have each event once and in the order of the log in the feed, also in that of a killed server', async (t) => {
      const records = await openPostgresRecords({ url: database.url() })
      t.after(() => records.close())
      const events: string[] = []
      const size = await records.logSize()
      const log = await records.readLog(0, size)
      for (const [i, payload] of (await records.readPayloads(0, size)).entries())
        if (companyOfPayload(payload) === 'acme') events.push(toHex(log.subarray(i * 32, i * 32 + 32)))
      await eventually(
        () => followed.length >= events.length,
        () => `${followed.length} of ${events.length} events`,
      )
      following.abort()
      await assert.rejects(follower, { name: 'AbortError' })
      assert.deepEqual(followed, events)
    })

    it('each return proofs of acknowledged events', async () => {
      const ids = [...load.acknowledged.keys()]
      for (const [i, server] of all.entries()) {
        const id = encodeURIComponent(ids[Math.floor((ids.length - 1) * (i / 2))] as string)
        const { status, body } = await send(server, 'GET', `/merkle/verify/${id}`)
        assert.deepEqual([status, body['status']], [200, 'ok'])
      }
    })

    it('return nothing of what another one has erased, and log nothing of it', async () => {
      const [call, elsewhere] = [callAt(originOf(all[0]), KEY), callAt(originOf(all[1]), KEY)] as const
      const marked = await writeMarks(call)
      const objects = () => service().objects('cluster/')
      const stored = await objects()
      await assertNoneReadable(call, marked, elsewhere)
      assert.ok((await objects()).length < stored.length)
      for (const server of all) assert.ok(!holdsMark(server.process.output))
    })

    it('hand sealing over when the server that seals is shut down', async () => {
      const createdAt = Date.now()
      await create(all[0], 'before the end')
      await eventually(() => all.some(({ lastSealedAt }) => lastSealedAt > createdAt))
      const sealing = lastSealer(all)
      const holder = await leaseHolder()
      assert.equal(await sealing.process.stop('SIGTERM'), 0)
      const stoppedAt = Date.now()
      assert.notEqual(holder, undefined)
      assert.notEqual(await leaseHolder(), holder, 'the lease was not released')
      const other = all.find((server) => server !== sealing) as Server
      assert.equal((await create(other, 'after the end')).status, 201)
      await eventually(() => all.some(({ lastSealedAt }) => lastSealedAt >= stoppedAt))
    })
  })

  describe('servers that share records', () => {
    it('do not start with a local ledger or authority, no URL, another secret, or a wrong clock', async () => {
      const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp, number, number?])[] = [
        [{ EVIDENCE_ANCHOR: 'local' }, /EVIDENCE_ANCHOR=local/, 2],
        [{ EVIDENCE_TSA: 'local' }, /EVIDENCE_TSA=local/, 2],
        [{ EVIDENCE_POSTGRES_URL_FILE: '' }, /EVIDENCE_POSTGRES_URL/, 2],
        [{ EVIDENCE_SECRET_FILE: '' }, /secret is missing, but the registry/, 1],
        [{}, /clock of this machine is 9\d s ahead of the database/, 2, 95_000],
        [{}, /clock of this machine is 9\d s behind the database/, 2, -95_000],
      ]
      await Promise.all(
        cases.map(async ([env, message, code, skewMs = 0], i) => {
          const { process: child } = new Server(`rejected ${i}`, skewMs, env)
          assert.equal(await child.ended(), code, child.stderr)
          assert.match(child.stderr, message)
          assert.ok(!child.stderr.includes(database.url()))
        }),
      )
    })
  })
})
