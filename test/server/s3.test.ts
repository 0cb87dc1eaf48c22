import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, it, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { filesBelow, makeTemporary, removeTemporary } from '../support/temporary.ts'
import { CREDENTIALS } from '../support/ceph.ts'
import { BUCKET, withService } from '../support/s3-service.ts'

/** The server and its commands as processes, with files in a bucket. */

const CLI = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../server/cli.ts' : '../../server/cli.js', import.meta.url),
)
const FLAGS = CLI.endsWith('.ts') ? ['--import', 'tsx', CLI] : [CLI]
/** On Node 20 the SDK says that its later versions want 22; nothing else may stand on stderr. */
const BASE = { PATH: process.env['PATH'] ?? '', AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' }
type Env = Readonly<Record<string, string>>

function command(
  env: Env,
  ...args: readonly string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...FLAGS, ...args], { env: { ...BASE, ...env } }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

class Running {
  readonly #child: ChildProcess
  output = ''

  constructor(env: Env) {
    const settings = { ...BASE, EVIDENCE_PORT: '0', EVIDENCE_SEAL_MAX_WAIT_MS: '50', ...env }
    this.#child = spawn(process.execPath, FLAGS, { env: settings, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()))
  }

  async ready(): Promise<string> {
    for (let i = 0; i < 1_000; i += 1, await delay(20)) {
      const url = /"url":"([^"]+)"/.exec(this.output)?.[1]
      if (url !== undefined) return `${url}/api/v1`
      assert.equal(this.#child.exitCode, null, `it ended: ${this.output}`)
    }
    return assert.fail(`it did not get ready: ${this.output}`)
  }

  async stop(): Promise<number | null> {
    const { exitCode, signalCode } = this.#child
    if (exitCode !== null || signalCode !== null) return exitCode
    const ended = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    await ended
    return this.#child.exitCode
  }
}

const OPERATOR_KEY = 'operator-key-of-the-s3-test'

async function ask(url: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
  const headers = {
    'x-api-key': OPERATOR_KEY,
    ...(typeof init.body === 'string' && { 'content-type': 'application/json' }),
  }
  const response = await fetch(url, { ...init, headers })
  const text = await response.text()
  assert.ok(response.ok, `${url}: ${response.status} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

const download = async (base: string, fileId: string): Promise<Buffer> => {
  const response = await fetch(`${base}/evidences/acme/file?fileId=${fileId}`, {
    headers: { 'x-api-key': OPERATOR_KEY },
  })
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}

withService('the server with files in a bucket', (service) => {
  let directory = ''
  let server: Running | undefined
  before(async () => {
    directory = await makeTemporary()
  })
  after(async () => {
    await server?.stop()
    await removeTemporary(directory)
  })
  const environment = (): Env => ({
    EVIDENCE_DATA_DIR: directory,
    EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
    EVIDENCE_S3_BUCKET: BUCKET,
    EVIDENCE_S3_PREFIX: 'server/',
    EVIDENCE_S3_ENDPOINT: service().ceph.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  })
  const start = async (env: Env): Promise<string> => {
    server = new Running({ ...environment(), ...env })
    return server.ready()
  }
  const contents = new Map<string, Buffer>()
  const assertAllThere = async (base: string): Promise<void> => {
    for (const [id, content] of contents) assert.ok((await download(base, id)).equals(content), id)
  }

  test('uploads, downloads and destroys there; nothing is on this machine', async () => {
    const base = await start({ EVIDENCE_BLOBS: 's3' })
    await ask(`${base}/sourceSystem/acme`, { method: 'POST', body: JSON.stringify({ name: 'first' }) })
    const form = new FormData()
    const evidence = { categoryName: 'Tools', subcategoryName: 'Drills', externalId: 'drill', name: 'Drill' }
    for (const [name, value] of Object.entries(evidence)) form.set(name, value)
    const sent = new Map([0, 1, 100_000, 9 * 2 ** 20].map((size) => [`${size}.bin`, randomBytes(size)]))
    for (const [name, bytes] of sent) form.append('images', new File([new Blob([new Uint8Array(bytes)])], name))
    await ask(`${base}/evidences/acme/evidence`, { method: 'POST', body: form })
    const { dt } = (await ask(`${base}/evidences/acme/evidence/drill/files`)) as {
      dt: { overlayId: string; name: string }[]
    }
    for (const { overlayId, name } of dt) contents.set(overlayId, sent.get(name) ?? Buffer.alloc(0))
    assert.equal(contents.size, 4)
    await assertAllThere(base)
    assert.deepEqual(await service().objects('server/'), [...contents.keys()].sort())
    assert.deepEqual(await filesBelow(join(directory, 'blobs')).catch(() => []), [])

    const [gone = ''] = contents.keys()
    await ask(`${base}/evidences/acme/file?fileId=${gone}`, { method: 'DELETE' })
    contents.delete(gone)
    assert.deepEqual(await service().objects('server/'), [...contents.keys()].sort())
    assert.equal(await server?.stop(), 0)
    for (const line of server?.output.trim().split('\n') ?? []) JSON.parse(line)
    assert.ok(!server?.output.includes(CREDENTIALS.secretAccessKey))
  })

  test('fsck reads the files there', async () => {
    const env = { ...environment(), EVIDENCE_BLOBS: 's3' }
    assert.match((await command(env, 'fsck')).stdout, /and 4 files checked: nothing differs/)
    const elsewhere = await command({ ...env, EVIDENCE_S3_PREFIX: 'elsewhere/' }, 'fsck')
    assert.equal(elsewhere.code, 1)
    assert.match(elsewhere.stdout, /Its bytes are missing/)
  })

  test('moves to local files and back, and each start finds all', async () => {
    const toFiles = await command(environment(), 'migrate-blobs', '--from', 's3', '--to', 'files')
    assert.deepEqual([toFiles.code, toFiles.stderr], [0, ''])
    assert.equal(toFiles.stdout, '3 files copied, 0 were there; 3 read again and right: all is in the target\n')
    await assertAllThere(await start({ EVIDENCE_BLOBS: 'files' }))
    assert.equal(await server?.stop(), 0)

    const back = { ...environment(), EVIDENCE_S3_PREFIX: 'back' }
    const toBucket = await command(back, 'migrate-blobs', '--from', 'files', '--to', 's3')
    assert.equal(toBucket.stdout, '3 files copied, 0 were there; 3 read again and right: all is in the target\n')
    const again = await command(back, 'migrate-blobs', '--from', 'files', '--to', 's3')
    assert.equal(again.stdout, '0 files copied, 3 were there; 3 read again and right: all is in the target\n')
    await assertAllThere(await start({ EVIDENCE_BLOBS: 's3', EVIDENCE_S3_PREFIX: 'back' }))
    assert.equal(await server?.stop(), 0)
  })

  test('a wrong secret ends the start with code 2 and one line without it', async () => {
    const env = { ...environment(), EVIDENCE_BLOBS: 's3', EVIDENCE_PORT: '0', AWS_SECRET_ACCESS_KEY: 'a-wrong-secret' }
    const { code, stderr } = await command(env)
    assert.equal(code, 2)
    assert.match(stderr, /^evidence-registry: The S3 bucket evidence cannot be used: SignatureDoesNotMatch.*\n$/)
    assert.ok(!stderr.includes('a-wrong-secret'))
  })
})

describe('settings of a bucket', () => {
  it('must name one, and are refused with one line where they do not fit', async () => {
    const directory = await makeTemporary()
    try {
      const env = { EVIDENCE_DATA_DIR: directory, EVIDENCE_BLOBS: 's3', EVIDENCE_PORT: '0' }
      const cases: [Env, RegExp][] = [
        [{}, /Set EVIDENCE_S3_BUCKET/],
        [{ EVIDENCE_S3_BUCKET: 'b', EVIDENCE_S3_KMS_KEY_ID: 'k' }, /EVIDENCE_S3_BUCKET takes the name of a bucket/],
        [{ EVIDENCE_S3_BUCKET: 'bucket', EVIDENCE_S3_KMS_KEY_ID: 'k' }, /EVIDENCE_S3_KMS_KEY_ID is for/],
        [{ EVIDENCE_S3_BUCKET: 'bucket', HOME: directory }, /cannot be used: .*set AWS_REGION/],
        [{ EVIDENCE_BLOBS: 'tape' }, /EVIDENCE_BLOBS takes one of files, s3, not "tape"/],
      ]
      for (const [given, expected] of cases) {
        const { code, stderr } = await command({ ...env, ...given })
        assert.equal(code, 2, stderr)
        assert.match(stderr, expected)
        assert.equal(stderr.trim().split('\n').length, 1)
      }
    } finally {
      await removeTemporary(directory)
    }
  })

  it('migrate-blobs says what it takes', async () => {
    assert.match((await command({}, 'migrate-blobs', '--help')).stdout, /^Usage: evidence-registry migrate-blobs/)
    for (const args of [[], ['--from', 's3'], ['--from', 's3', '--to', 's3'], ['--from', 'a', '--to', 's3'], ['--x']])
      assert.equal((await command({}, 'migrate-blobs', ...args)).code, 2)
    const directory = await makeTemporary()
    try {
      const { code, stderr } = await command(
        {},
        'migrate-blobs',
        '--from',
        'files',
        '--to',
        's3',
        '--data-dir',
        directory,
      )
      assert.equal(code, 2)
      assert.match(stderr, /There is no registry in/)
    } finally {
      await removeTemporary(directory)
    }
  })
})
