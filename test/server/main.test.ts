import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { welcome } from '../../server/startup/first-start.ts'
import { BOUNDARY, END, MULTIPART, part, RawRequest } from '../support/raw-http.ts'
import { ServerProcess } from '../support/server-process.ts'

const PLACE = { categoryName: 'Vehicles', subcategoryName: 'Cars' }

async function filesBelow(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).length
}

describe('the bundled server', () => {
  let directory: string
  let server: ServerProcess | undefined
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'evidence-main-'))
  })
  after(async () => {
    await server?.stop('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })

  const start = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
    server = new ServerProcess(directory, env)
    return `${await server.ready()}/api/v1`
  }
  let operatorKey = ''
  const key = 'the-key-of-the-source-system'
  const created: { externalId: string; txId: string }[] = []

  const ask = async (
    base: string,
    path: string,
    init: Omit<RequestInit, 'headers'> & { headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Record<string, never>> => {
    const response = await fetch(`${base}${path}`, { ...init, headers: { 'x-api-key': key, ...init.headers } })
    const text = await response.text()
    assert.ok(response.ok, `${path}: ${response.status} ${text}`)
    return JSON.parse(text) as Record<string, never>
  }
  async function create(base: string, externalId: string): Promise<void> {
    const form = new FormData()
    for (const [name, value] of Object.entries({ ...PLACE, externalId, name: externalId })) form.set(name, value)
    form.append('images', new File([`content of ${externalId}`], 'a.txt', { type: 'text/plain' }))
    const { txId } = await ask(base, '/evidences/acme/evidence', { method: 'POST', body: form })
    created.push({ externalId, txId: String(txId) })
  }
  /** Everything that was acknowledged is there, whole, and verifies. */
  async function assertAllThere(base: string): Promise<void> {
    for (const { externalId, txId } of created) {
      const page = (await ask(base, `/evidences/acme/evidence/${externalId}`)) as unknown as {
        object: { txId: string }
      }
      assert.equal(page.object.txId, txId)
      const { dt } = (await ask(base, `/evidences/acme/evidence/${externalId}/files`)) as unknown as {
        dt: { overlayId: string }[]
      }
      const file = await fetch(`${base}/evidences/acme/file?fileId=${dt[0]?.overlayId}`, {
        headers: { 'x-api-key': key },
      })
      assert.equal(await file.text(), `content of ${externalId}`)
      let status = ''
      for (let i = 0; i < 200 && status !== 'ok'; i++, await delay(20))
        ({ status = '' } = await ask(base, `/merkle/verify/${externalId}`))
      assert.equal(status, 'ok', externalId)
    }
  }

  it('starts on a free port, and keeps the key in a private file where there is no terminal', async () => {
    const base = await start()
    operatorKey = (await readFile(join(directory, 'operator.key'), 'utf8')).trim()
    assert.equal(Buffer.from(operatorKey, 'base64url').length, 32)
    assert.equal((await stat(join(directory, 'operator.key'))).mode & 0o777, 0o600)
    assert.equal((await stat(directory)).mode & 0o077, 0)
    assert.ok(!`${server?.stdout}${server?.stderr}`.includes(operatorKey))
    assert.equal(server?.stderr, '')
    const body = JSON.stringify({ name: 'first', apiKey: key, permissions: 'A' })
    await ask(base, '/sourceSystem/acme', {
      method: 'POST',
      headers: { 'x-api-key': operatorKey, 'content-type': 'application/json' },
      body,
    })
    await create(base, 'first')
    await assertAllThere(base)
  })

  it('refuses a second process in its directory, with one line', async () => {
    const second = new ServerProcess(directory)
    assert.equal(await second.ended(), 1)
    assert.match(second.stderr, /^evidence-registry: .*\n$/)
    assert.match(second.stderr, new RegExp(String(server?.child.pid)))
  })

  it('SIGTERM during an upload finishes it, and all that was acknowledged is there after the restart', async () => {
    const port = Number(new URL((await server?.ready()) ?? '').port)
    const texts = Object.entries({ ...PLACE, externalId: 'under-way', name: 'x' })
      .map(([name, value]) => part(name, value))
      .join('')
    const whole = texts + part('images', 'content of under-way', { filename: 'a.txt' }) + END
    const request = new RawRequest(port).head('POST', '/api/v1/evidences/acme/evidence', {
      'x-api-key': key,
      'content-type': MULTIPART,
      'content-length': Buffer.byteLength(whole),
    })
    await request.send(whole.slice(0, -60))
    // A silent keep-alive connection must not hold the end up.
    const idle = new RawRequest(port).head('GET', '/livez', {})
    await idle.answer()
    await delay(100)
    const ended = server?.stop()
    await delay(200)
    await request.send(whole.slice(-60))
    const { status, body } = await request.answer()
    assert.equal(status, 201)
    created.push({ externalId: 'under-way', txId: String(body['txId']) })
    assert.equal(await ended, 0)
    assert.ok(server?.lines.some(({ msg }) => msg === 'stopped'))
    const base = await start()
    await assertAllThere(base)
  })

  it('an upload that does not end is cut at the deadline, and leaves nothing', async () => {
    await server?.stop()
    await start({ EVIDENCE_SHUTDOWN_MS: '300' })
    const port = Number(new URL((await server?.ready()) ?? '').port)
    const request = new RawRequest(port).head('POST', '/api/v1/evidences/acme/evidence', {
      'x-api-key': key,
      'content-type': MULTIPART,
      'content-length': 1_000_000,
    })
    await request.send(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="images"; filename="a"\r\n\r\n${'x'.repeat(200_000)}`,
    )
    await delay(100)
    assert.equal(await server?.stop(), 0)
    assert.ok(request.closed)
  })

  it('SIGTERM, SIGINT and SIGKILL while batches are sealed lose nothing acknowledged', async () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
      const base = await start({ EVIDENCE_SEAL_MAX_WAIT_MS: '1' })
      const writing = (async () => {
        for (let i = 0; ; i++) await create(base, `${signal}-${i}`)
      })().catch(() => undefined)
      // In the middle of it, on a busy machine too.
      const enough = created.length + 5
      for (let i = 0; i < 1_000 && created.length < enough; i++) await delay(10)
      const code = await server?.stop(signal)
      if (signal !== 'SIGKILL') assert.equal(code, 0)
      await writing
    }
    assert.ok(created.length > 10, `${created.length}`)
    const base = await start()
    await assertAllThere(base)
    assert.ok(!server?.lines.some(({ msg }) => String(msg).includes('first start')), 'the operator key stays')
    // Each evidence has one file; what was under way when a process ended is swept away.
    const { count } = (await ask(base, '/evidences/acme/evidences?len=1')) as unknown as { count: number }
    let kept = -1
    for (let i = 0; i < 200 && kept !== count; i++, await delay(20)) kept = await filesBelow(join(directory, 'blobs'))
    assert.equal(kept, count)
    assert.equal(await server?.stop(), 0)
  })

  it('takes another operator key from the configuration', async () => {
    const base = await start({ EVIDENCE_OPERATOR_KEY: 'another-operator-key' })
    const list = (operator: string) => fetch(`${base}/sourceSystem/acme`, { headers: { 'x-api-key': operator } })
    assert.deepEqual([(await list('another-operator-key')).status, (await list(operatorKey)).status], [200, 401])
    assert.equal(await server?.stop(), 0)
  })

  it('ends with 2 and one line where a setting cannot be used, with 1 where the port is taken', async () => {
    const secret = join(directory, 'short-secret')
    await writeFile(secret, 'short')
    for (const env of [
      { EVIDENCE_PORT: 'x' },
      { EVIDENCE_SECRET_FILE: secret },
      { EVIDENCE_SECRET_FILE: join(directory, 'none') },
    ]) {
      const failed = new ServerProcess(directory, env)
      assert.equal(await failed.ended(), 2)
      assert.match(failed.stderr, /^evidence-registry: [^\n]+\n$/)
    }
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const failed = new ServerProcess(directory, { EVIDENCE_PORT: String((taken.address() as AddressInfo).port) })
    assert.equal(await failed.ended(), 1)
    assert.match(failed.stderr, /EADDRINUSE/)
    taken.close()
    const help = new ServerProcess(directory, {}, ['--help'])
    assert.equal(await help.ended(), 0)
    assert.match(help.stdout, /EVIDENCE_DATA_DIR/)
  })

  it('tells a person the address, the key once, and four lines to paste', () => {
    const text = welcome({ url: 'http://127.0.0.1:8080', operatorKey: 'the-operator-key' })
    assert.match(text, / http:\/\/127\.0\.0\.1:8080\/docs$/m)
    const lines = text.split('\n').filter((line) => line.includes('curl '))
    assert.equal(lines.length, 4)
    assert.equal(text.split('\n').filter((line) => line.trim() === 'the-operator-key').length, 1)
    const system = /"apiKey":"([^"]+)"/.exec(lines[0] ?? '')?.[1] ?? ''
    assert.ok(
      system.length >= 16 && lines[1]?.includes(system) && lines[2]?.includes(system) && !lines[3]?.includes(system),
    )
  })
})
