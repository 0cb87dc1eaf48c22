import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { createClient, type Client } from '../../../server/client/index.ts'
import { BASE_PATH } from '../../../server/index.ts'
import { BOUNDARY, END, MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { eventually } from '../../support/eventually.ts'
import { present } from '../../support/present.ts'
import { moduleUrl, nodeFlags } from '../../support/repository.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { filesBelow, temporaryFor, temporaryOfSuite } from '../../support/temporary.ts'

const CATEGORY = { categoryName: 'Vehicles', subcategoryName: 'Cars' }
/** Large enough to be a blob. */
const contentOf = (externalId: string): string => `content of ${externalId}\n`.repeat(400)

describe('the bundled server', () => {
  const directory = temporaryOfSuite()
  let server: ServerProcess | undefined
  after(async () => {
    await server?.stop('SIGKILL')
  })

  const key = 'the-key-of-the-source-system'
  const clientOf = (url: string, apiKey = key): Client =>
    createClient({ baseUrl: `${url}${BASE_PATH}`, companyId: 'acme', apiKey, retry: { retries: 0 } })
  const start = async (env: Readonly<Record<string, string>> = {}): Promise<Client> => {
    // One of a failed test would keep the directory, and this process, open.
    await server?.stop('SIGKILL')
    server = new ServerProcess(directory, env)
    return clientOf(await server.ready())
  }
  let operatorKey = ''
  const created: { externalId: string; txId: string }[] = []

  async function create(client: Client, externalId: string): Promise<void> {
    const images = [{ name: 'a.txt', content: contentOf(externalId) }]
    const { txId } = await client.createEvidence({ ...CATEGORY, externalId, name: externalId, images })
    created.push({ externalId, txId })
  }
  /** Checks that everything acknowledged exists, is complete, and verifies. */
  async function assertAllThere(client: Client): Promise<void> {
    for (const { externalId, txId } of created) {
      assert.equal((await client.getEvidence({ externalId })).object.txId, txId)
      const { dt } = await client.listEvidenceFiles({ externalId })
      const file = await client.downloadFile({ fileId: present(dt[0]).overlayId })
      assert.equal(await file.text(), contentOf(externalId))
      await eventually(
        async () => (await client.verifyEvidence({ evidenceId: externalId })).status === 'ok',
        () => `${externalId} does not verify`,
      )
    }
  }

  it('starts on a free port, and writes the operator key to a private file if there is no terminal', async () => {
    const client = await start()
    operatorKey = (await readFile(join(directory, 'operator.key'), 'utf8')).trim()
    assert.equal(Buffer.from(operatorKey, 'base64url').length, 32)
    assert.equal((await stat(join(directory, 'operator.key'))).mode & 0o777, 0o600)
    assert.equal((await stat(directory)).mode & 0o077, 0)
    assert.ok(!`${server?.stdout}${server?.stderr}`.includes(operatorKey))
    const operator = clientOf(present(await server?.ready()), operatorKey)
    await operator.createSourceSystem({ name: 'first', apiKey: key, permissions: 'A' })
    await create(client, 'first')
    await assertAllThere(client)
  })

  it('rejects a second process in its directory with one line', async () => {
    const second = new ServerProcess(directory)
    assert.equal(await second.ended(), 1)
    assert.match(second.stderr, /^evidence-registry: .*\n$/)
    assert.match(second.stderr, new RegExp(String(server?.child.pid)))
  })

  it('finishes an upload after SIGTERM, and keeps everything acknowledged after the restart', async () => {
    const port = Number(new URL((await server?.ready()) ?? '').port)
    const texts = Object.entries({ ...CATEGORY, externalId: 'under-way', name: 'x' })
      .map(([name, value]) => part(name, value))
      .join('')
    const whole = texts + part('images', contentOf('under-way'), { filename: 'a.txt' }) + END
    const upload = new RawRequest(port).head('POST', '/api/v1/evidences/acme/evidence', {
      'x-api-key': key,
      'content-type': MULTIPART,
      'content-length': Buffer.byteLength(whole),
    })
    await upload.send(whole.slice(0, -60))
    // A silent keep-alive connection must not delay the end.
    const idle = new RawRequest(port).head('GET', '/livez', {})
    await idle.response()
    await eventually(() => server?.lines.some(({ route }) => route === '/livez'))
    const ended = server?.stop()
    await eventually(() => server?.lines.some(({ msg }) => String(msg).startsWith('stopping')))
    await upload.send(whole.slice(-60))
    const { status, body } = await upload.response()
    assert.equal(status, 201)
    created.push({ externalId: 'under-way', txId: String(body['txId']) })
    assert.equal(await ended, 0)
    assert.ok(server?.lines.some(({ msg }) => msg === 'stopped'))
    const client = await start()
    await assertAllThere(client)
  })

  it('ends an upload at the deadline of the shutdown', async () => {
    await server?.stop()
    await start({ EVIDENCE_SHUTDOWN_MS: '300' })
    const port = Number(new URL((await server?.ready()) ?? '').port)
    const upload = new RawRequest(port).head('POST', '/api/v1/evidences/acme/evidence', {
      'x-api-key': key,
      'content-type': MULTIPART,
      'content-length': 1_000_000,
    })
    await upload.send(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="images"; filename="a"\r\n\r\n${'x'.repeat(200_000)}`,
    )
    // The server has read the beginning of the upload before it responds to a later connection.
    await fetch(`http://127.0.0.1:${port}/livez`)
    assert.equal(await server?.stop(), 0)
    assert.ok(upload.closed)
  })

  it('loses nothing acknowledged after SIGTERM, SIGINT and SIGKILL while it seals batches', async () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
      const client = await start({ EVIDENCE_SEAL_MAX_WAIT_MS: '1' })
      const writing = (async () => {
        for (let i = 0; ; i++) await create(client, `${signal}-${i}`)
      })().catch(() => undefined)
      const enough = created.length + 5
      await eventually(() => created.length >= enough)
      const code = await server?.stop(signal)
      if (signal !== 'SIGKILL') assert.equal(code, 0)
      await writing
    }
    assert.ok(created.length > 10, `${created.length}`)
    const client = await start()
    await assertAllThere(client)
    assert.ok(!server?.lines.some(({ msg }) => String(msg).includes('first start')), 'the operator key stays')
    // Each evidence has one file. Files of requests that a killed process did not finish are removed.
    const { count } = await client.listEvidences({ len: 1 })
    await eventually(async () => (await filesBelow(join(directory, 'blobs', 'content'))).length === count)
    assert.equal(await server?.stop(), 0)
  })

  it('does not catch the signals of a crash, which would repeat the failing instruction forever', async () => {
    for (const signal of ['SIGTRAP', 'SIGABRT', 'SIGSEGV'] as const) {
      await start()
      await server?.stop(signal)
      assert.equal(server?.child.signalCode, signal)
    }
  })

  it('accepts another operator key from the configuration', async () => {
    await start({ EVIDENCE_OPERATOR_KEY: 'another-operator-key' })
    const list = async (operator: string) => clientOf(present(await server?.ready()), operator).listSourceSystems()
    assert.ok((await list('another-operator-key')).count > 0)
    await assert.rejects(list(operatorKey), { code: 'UNAUTHORIZED' })
    assert.equal(await server?.stop(), 0)
  })

  it('ends with 2 and one line for a wrong setting, and with 1 if the port is in use', async () => {
    const secret = join(directory, 'short-secret')
    await writeFile(secret, 'short')
    for (const path of [secret, join(directory, 'none')]) {
      const failed = new ServerProcess(directory, { EVIDENCE_SECRET_FILE: path })
      assert.equal(await failed.ended(), 2)
      assert.match(failed.stderr, /^evidence-registry: [^\n]+\n$/)
    }
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const failed = new ServerProcess(directory, { EVIDENCE_PORT: String((taken.address() as AddressInfo).port) })
    assert.equal(await failed.ended(), 1)
    assert.match(
      failed.stderr,
      /^evidence-registry: Port \d+ of 127\.0\.0\.1 is in use: [^\n]*--port[^\n]*\(EADDRINUSE\)\n$/,
    )
    taken.close()
  })

  it('ends after a failed start also if a process manager keeps a channel to it open', async (t) => {
    const path = await temporaryFor(t)
    await writeFile(join(path, 'file'), '')
    const starts: readonly (readonly [args: readonly string[], exitCode: number])[] = [
      [['--port', 'x'], 2],
      [['strat'], 2],
      [['--data-dir', join(path, 'file')], 1],
      [['--data-dir', join(path, 'data'), '--host', '192.0.2.1'], 1],
      [['fsck', '--data-dir', path], 2],
      [['keys'], 2],
      [['--help'], 0],
    ]
    const ends = starts.map(async ([args]) => {
      // A listener refers to the channel, as those of a process manager do.
      const listener = `data:text/javascript,${encodeURIComponent("process.on('message', () => {})")}`
      const child = fork(moduleUrl('server/cli.ts'), args, {
        execArgv: [...nodeFlags, '--import', listener],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
      return once(child, 'exit')
    })
    assert.deepEqual(
      await Promise.all(ends),
      starts.map(([, exitCode]) => [exitCode, null]),
    )
  })

  it('ends with one line if no folder can be created where the data directory should be', async (t) => {
    const failed = new ServerProcess('/proc/none/data')
    t.after(() => failed.stop('SIGKILL'))
    assert.equal(await failed.ended(), 1)
    assert.match(failed.stderr, /^evidence-registry: [^\n]*\/proc\/none\/data[^\n]*\(ENOENT\)\n$/)
  })

  it('ends if it cannot write the operator key of the first start', async (t) => {
    const other = await temporaryFor(t)
    await mkdir(join(other, 'operator.key'))
    const failed = new ServerProcess(other)
    t.after(() => failed.stop('SIGKILL'))
    assert.equal(await failed.ended(), 2)
    assert.match(failed.stderr, /^evidence-registry: [^\n]*operator\.key[^\n]*\n$/)
  })
})
