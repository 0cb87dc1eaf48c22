import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import type { Credentials } from '../../adapters/s3/index.ts'
import { freePort } from './ports.ts'

/**
 * The gateway of Ceph as a real S3: one monitor, one OSD in memory and one radosgw, on free ports of the loopback, with
 * their files in a temporary directory.
 */

const PROGRAMS = [
  'ceph',
  'ceph-mon',
  'ceph-osd',
  'monmaptool',
  'radosgw',
  'radosgw-admin',
  // Ends the daemons when the process of the test ends.
  'setpriv',
]

/** Returns which package to install if Ceph cannot run here, else `undefined`. */
export function cephIsMissing(): string | undefined {
  const missing = PROGRAMS.filter((program) => !isInPath(program))
  if (missing.length === 0) return undefined
  return `no ${missing[0]}: apt-get install --no-install-recommends radosgw ceph-mon ceph-osd ceph-common`
}

const isInPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

export const CREDENTIALS: Credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' }
/** A key of the gateway's built-in key service, for SSE-KMS. */
export const KMS_KEY = 'kms-test-key'

let sharedCeph: Promise<Ceph> | undefined

const MAX_STARTS = 3

const run = promisify(execFile)

/** A running cluster with a gateway. */
export class Ceph {
  readonly directory: string
  readonly port: number
  readonly #monitorPort: number
  readonly #daemons = new Map<string, ChildProcess>()

  private constructor(directory: string, port: number, monitorPort: number) {
    this.directory = directory
    this.port = port
    this.#monitorPort = monitorPort
  }

  /** Starts a cluster. Another process can take a free port first, so a failed start is repeated with other ports. */
  static async start(): Promise<Ceph> {
    for (let attempt = 1; ; attempt++) {
      const ceph = new Ceph(await mkdtemp(join(tmpdir(), 'evidence-ceph-')), await freePort(), await freePort())
      try {
        await ceph.#startAll()
        return ceph
      } catch (error) {
        const logs = await ceph.logs()
        await ceph.stop()
        if (attempt === MAX_STARTS) throw new Error(`Ceph did not start: ${logs}`, { cause: error })
      }
    }
  }

  /** Returns the cluster of all files that run in this process, which take a prefix each. It ends with the process. */
  static shared(bucket: string): Promise<Ceph> {
    return (sharedCeph ??= Ceph.start().then(async (ceph) => {
      await ceph.makeBucket(bucket)
      process.once('exit', () => rmSync(ceph.directory, { recursive: true, force: true }))
      ceph.#detach()
      return ceph
    }))
  }

  /** Lets the process end while the daemons run: setpriv then kills them. */
  #detach(): void {
    for (const child of this.#daemons.values())
      for (const each of [child, child.stdout as Socket | null, child.stderr as Socket | null]) each?.unref()
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async makeBucket(name: string): Promise<void> {
    const client = new S3Client({
      endpoint: this.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: CREDENTIALS,
    })
    await client.send(new CreateBucketCommand({ Bucket: name }))
    client.destroy()
  }

  /** Returns the last output of the daemons. */
  async logs(): Promise<string> {
    const texts = [...this.#daemons.keys()].map((name) =>
      readFile(join(this.directory, `${name}.out`), 'utf8').catch(() => ''),
    )
    return (await Promise.all(texts)).join('\n').slice(-4_000)
  }

  /** Kills the gateway. The other daemons keep what it has acknowledged. */
  async stopGateway(): Promise<void> {
    await this.#kill('radosgw')
  }

  async startGateway(): Promise<void> {
    await this.#daemon('radosgw', ['-n', 'client.rgw'])
    await until(
      () =>
        fetch(this.endpoint).then(
          (response) => response.ok,
          () => false,
        ),
      'the gateway',
    )
    if (sharedCeph !== undefined) this.#detach()
  }

  async stop(): Promise<void> {
    for (const name of [...this.#daemons.keys()].reverse()) await this.#kill(name)
    await rm(this.directory, { recursive: true, force: true })
  }

  async #startAll(): Promise<void> {
    const { directory } = this
    for (const folder of ['mon', 'osd', 'run']) await mkdir(join(directory, folder))
    const fsid = randomUUID()
    await writeFile(join(directory, 'ceph.conf'), this.#configuration(fsid))
    const monmap = join(directory, 'monmap')
    await this.#run(
      'monmaptool',
      '--create',
      '--fsid',
      fsid,
      '--addv',
      'a',
      `[v1:127.0.0.1:${this.#monitorPort}]`,
      monmap,
    )
    await this.#run('ceph-mon', '--mkfs', '-i', 'a', '--monmap', monmap)
    await this.#daemon('ceph-mon', ['-i', 'a'])
    const osd = randomUUID()
    await this.#ask('osd', 'new', osd)
    await this.#run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osd)
    await this.#ask('osd', 'crush', 'add-bucket', 'default', 'root')
    await this.#ask('osd', 'crush', 'add', 'osd.0', '1.0', 'root=default')
    await this.#daemon('ceph-osd', ['-i', '0'])
    await until(async () => {
      // An OSD that connects before the monitor has its map receives `wrong fsid` and ends.
      if (this.#daemons.get('ceph-osd')?.exitCode !== null) await this.#daemon('ceph-osd', ['-i', '0'])
      return (await this.#ask('osd', 'stat')).includes('1 up')
    }, 'the OSD')
    const { accessKeyId, secretAccessKey } = CREDENTIALS
    await this.#run(
      'radosgw-admin',
      'user',
      'create',
      '--uid=test',
      '--display-name=test',
      `--access-key=${accessKeyId}`,
      `--secret=${secretAccessKey}`,
    )
    await this.startGateway()
  }

  /** Asks the monitor, again while it begins or its disk is busy: it rejects commands then, with EPERM for example. */
  async #ask(...args: readonly string[]): Promise<string> {
    let stdout: string | undefined
    await until(async () => {
      stdout = await this.#run('ceph', ...args).catch(() => undefined)
      return stdout !== undefined
    }, 'the monitor')
    return stdout ?? ''
  }

  async #run(program: string, ...args: readonly string[]): Promise<string> {
    const env = { ...process.env, CEPH_CONF: join(this.directory, 'ceph.conf') }
    return (await run(program, args, { env, timeout: 300_000 })).stdout
  }

  async #daemon(name: string, args: readonly string[]): Promise<void> {
    const child = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', name, '-f', '-c', join(this.directory, 'ceph.conf'), ...args],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let output = ''
    const keep = (chunk: Buffer): void => {
      output = `${output}${chunk.toString()}`.slice(-4_000)
      void writeFile(join(this.directory, `${name}.out`), output).catch(() => undefined)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    this.#daemons.set(name, child)
    await once(child, 'spawn')
  }

  async #kill(name: string): Promise<void> {
    const child = this.#daemons.get(name)
    this.#daemons.delete(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** Short intervals, no replication, and no authentication between the daemons. */
  #configuration(fsid: string): string {
    const { directory, port } = this
    return `[global]
fsid = ${fsid}
mon host = [v1:127.0.0.1:${this.#monitorPort}]
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
paxos propose interval = 0.05
paxos min wait = 0.01
mon tick interval = 1
osd heartbeat interval = 1
mon max pg per osd = 1000
mon data avail crit = 1
mon data avail warn = 2
log file = /dev/null
mon cluster log file = /dev/null
run dir = ${directory}/run
pid file = ${directory}/run/$name.pid
admin socket = ${directory}/run/$name.asok
crash dir = ${directory}/run
[mon.a]
mon data = ${directory}/mon
[osd.0]
osd data = ${directory}/osd
osd objectstore = memstore
osd class update on start = false
osd crush update on start = false
memstore device bytes = 2147483648
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${port} tcp_nodelay=1
rgw thread pool size = 64
rgw enable usage log = false
rgw dns name = localhost
rgw crypt require ssl = false
rgw crypt s3 kms backend = testing
rgw crypt s3 kms encryption keys = ${KMS_KEY}=${Buffer.alloc(32, 7).toString('base64')}
`
  }
}

async function until(isReady: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 300_000
  while (!(await isReady())) {
    assert.ok(Date.now() < deadline, `${what} did not start`)
    await delay(50)
  }
}
