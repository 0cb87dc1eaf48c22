import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, test } from 'node:test'
import { filesBelow, makeTemporary, removeTemporary } from '../../support/temporary.ts'
import { CREDENTIALS } from '../../support/ceph.ts'
import { BUCKET, CLIENT_ENV, withService } from '../../support/s3-service.ts'
import { runCli, ServerProcess, type Environment, ends } from '../../support/server-process.ts'

/** Runs the server and its commands as processes, with files in a bucket. */
const OPERATOR_KEY = 'operator-key-of-the-s3-test'

async function request(url: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
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
  let server: ServerProcess | undefined
  before(async () => {
    directory = await makeTemporary()
  })
  after(async () => {
    await server?.stop()
    await removeTemporary(directory)
  })
  const environment = (): Environment => ({
    EVIDENCE_DATA_DIR: directory,
    EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
    EVIDENCE_S3_BUCKET: BUCKET,
    EVIDENCE_S3_PREFIX: 'server/',
    EVIDENCE_S3_ENDPOINT: service().ceph.endpoint,
    ...CLIENT_ENV,
  })
  const start = async (env: Environment): Promise<string> => {
    // One of a failed test would keep the directory, and this process, open.
    await server?.stop('SIGKILL')
    server = new ServerProcess(directory, { ...environment(), ...env })
    return `${await server.ready()}/api/v1`
  }
  const contents = new Map<string, Buffer>()
  const assertAllThere = async (base: string): Promise<void> => {
    for (const [id, content] of contents) assert.ok((await download(base, id)).equals(content), id)
  }

  test('uploads, downloads and deletes files there, and keeps none on this machine', async () => {
    const base = await start({ EVIDENCE_BLOBS: 's3' })
    await request(`${base}/sourceSystem/acme`, { method: 'POST', body: JSON.stringify({ name: 'first' }) })
    const form = new FormData()
    const evidence = { categoryName: 'Tools', subcategoryName: 'Drills', externalId: 'drill', name: 'Drill' }
    for (const [name, value] of Object.entries(evidence)) form.set(name, value)
    const sent = new Map([4_097, 10_000, 100_000, 9 * 2 ** 20].map((size) => [`${size}.bin`, randomBytes(size)]))
    for (const [name, bytes] of sent) form.append('images', new File([new Blob([new Uint8Array(bytes)])], name))
    await request(`${base}/evidences/acme/evidence`, { method: 'POST', body: form })
    const { dt } = (await request(`${base}/evidences/acme/evidence/drill/files`)) as {
      dt: { overlayId: string; name: string }[]
    }
    for (const { overlayId, name } of dt) contents.set(overlayId, sent.get(name) ?? Buffer.alloc(0))
    assert.equal(contents.size, 4)
    await assertAllThere(base)
    assert.deepEqual(await service().objects('server/'), [...contents.keys(), 'registry.json'].sort())
    assert.deepEqual(await filesBelow(join(directory, 'blobs')).catch(() => []), [])

    const [deleted = ''] = contents.keys()
    await request(`${base}/evidences/acme/file?fileId=${deleted}`, { method: 'DELETE' })
    contents.delete(deleted)
    assert.deepEqual(await service().objects('server/'), [...contents.keys(), 'registry.json'].sort())
    assert.equal(await server?.stop(), 0)
    assert.ok((server?.lines.length ?? 0) > 0, 'every line is JSON')
    assert.ok(!server?.output.includes(CREDENTIALS.secretAccessKey))
  })

  test('fsck reads the files there', async () => {
    const env = { ...environment(), EVIDENCE_BLOBS: 's3' }
    assert.match((await runCli(['fsck'], env)).stdout, /and 4 files checked: nothing differs/)
    const elsewhere = await ends(1, runCli(['fsck'], { ...env, EVIDENCE_S3_PREFIX: 'elsewhere/' }))
    assert.match(elsewhere.stdout, /Its bytes are missing/)
  })

  test('a bucket must belong to the registry, and one that does not is not written to', async () => {
    const failsWith = async (changes: Environment): Promise<string> => {
      const env = { ...environment(), EVIDENCE_BLOBS: 's3', EVIDENCE_PORT: '0', ...changes }
      const { stderr } = await ends(1, runCli([], env))
      return stderr
    }
    const elsewhere = { EVIDENCE_S3_PREFIX: 'elsewhere/' }
    assert.match(await failsWith(elsewhere), /prefix elsewhere\/ does not hold the files of this registry/)
    assert.deepEqual(await service().objects('elsewhere/'), [])
    const other = await makeTemporary()
    try {
      assert.match(
        await failsWith({ EVIDENCE_DATA_DIR: other }),
        /prefix server\/ belongs to the registry .* a new reg/,
      )
      assert.ok(!(await service().objects('other/')).includes('registry.json'))
      await start({ EVIDENCE_BLOBS: 's3', EVIDENCE_DATA_DIR: other, EVIDENCE_S3_PREFIX: 'other/' })
      assert.equal(await server?.stop(), 0)
      assert.match(await failsWith({ EVIDENCE_S3_PREFIX: 'other/' }), /prefix other\/ belongs to the registry/)
    } finally {
      await removeTemporary(other)
    }
    const adopt = (changes: Environment) =>
      runCli(['adopt', 'bucket'], { ...environment(), EVIDENCE_BLOBS: 's3', ...changes })
    assert.match((await ends(1, adopt({ EVIDENCE_S3_PREFIX: 'other/' }))).stderr, /belongs to the registry/)
    assert.match((await ends(2, adopt({}))).stderr, /there is nothing to adopt/)
    assert.match(
      (await ends(0, adopt(elsewhere))).stdout,
      /^The bucket belongs to the registry evidence-registry\/\w+\n$/,
    )
    await start({ EVIDENCE_BLOBS: 's3', ...elsewhere })
    assert.equal(await server?.stop(), 0)
    assert.deepEqual(await service().objects('elsewhere/'), ['registry.json'])
  })

  test('moves to local files and back, and each start finds all files', async () => {
    const toFiles = await ends(0, runCli(['migrate-blobs', '--from', 's3', '--to', 'files'], environment()))
    assert.equal(toFiles.stdout, '3 files copied, 0 existed, 3 read again and verified: all files are in the target\n')
    await assertAllThere(await start({ EVIDENCE_BLOBS: 'files' }))
    assert.equal(await server?.stop(), 0)

    const back = { ...environment(), EVIDENCE_S3_PREFIX: 'back' }
    const toBucket = await runCli(['migrate-blobs', '--from', 'files', '--to', 's3'], back)
    assert.equal(toBucket.stdout, '3 files copied, 0 existed, 3 read again and verified: all files are in the target\n')
    const again = await runCli(['migrate-blobs', '--from', 'files', '--to', 's3'], back)
    assert.equal(again.stdout, '0 files copied, 3 existed, 3 read again and verified: all files are in the target\n')
    await assertAllThere(await start({ EVIDENCE_BLOBS: 's3', EVIDENCE_S3_PREFIX: 'back' }))
    assert.equal(await server?.stop(), 0)

    // The source is deleted, as the command advises. Then its folder must not be made again, or be missed later.
    await rm(join(directory, 'blobs'), { recursive: true })
    const lost = await runCli(['migrate-blobs', '--from', 'files', '--to', 's3'], back)
    assert.match(lost.stderr, /blobs is missing or is not the folder of this registry/)
    await assert.rejects(stat(join(directory, 'blobs')), { code: 'ENOENT' })
    assert.equal((await runCli(['migrate-blobs', '--from', 's3', '--to', 'files'], back)).code, 0)
    await assertAllThere(await start({ EVIDENCE_BLOBS: 'files' }))
    assert.equal(await server?.stop(), 0)
  })

  test('a wrong secret ends the start with code 2 and one line without it', async () => {
    const env = { ...environment(), EVIDENCE_BLOBS: 's3', EVIDENCE_PORT: '0', AWS_SECRET_ACCESS_KEY: 'a-wrong-secret' }
    const { stderr } = await ends(2, runCli([], env))
    assert.match(stderr, /^evidence-registry: The S3 bucket evidence cannot be used: SignatureDoesNotMatch.*\n$/)
    assert.ok(!stderr.includes('a-wrong-secret'))
  })
})

describe('the settings of a bucket', () => {
  it('must name a bucket, and are rejected with one line if they do not fit together', async (t) => {
    const directory = await makeTemporary()
    t.after(() => removeTemporary(directory))
    const env = { EVIDENCE_DATA_DIR: directory, EVIDENCE_BLOBS: 's3', EVIDENCE_PORT: '0' }
    const cases: [Environment, RegExp][] = [
      [{}, /Set EVIDENCE_S3_BUCKET/],
      [{ EVIDENCE_S3_BUCKET: 'b', EVIDENCE_S3_KMS_KEY_ID: 'k' }, /EVIDENCE_S3_BUCKET must be the name of a bucket/],
      [{ EVIDENCE_S3_BUCKET: 'bucket', EVIDENCE_S3_KMS_KEY_ID: 'k' }, /EVIDENCE_S3_KMS_KEY_ID requires/],
      [{ EVIDENCE_S3_BUCKET: 'bucket', HOME: directory }, /cannot be used: .*set AWS_REGION/],
      [{ EVIDENCE_BLOBS: 'tape' }, /EVIDENCE_BLOBS must be files, s3, or the path of a module .*, got "tape"/],
    ]
    for (const [changes, expected] of cases) {
      const { stderr } = await ends(2, runCli([], { ...env, ...changes }))
      assert.match(stderr, expected)
      assert.equal(stderr.trim().split('\n').length, 1)
    }
  })

  it('migrate-blobs rejects wrong flags', async (t) => {
    for (const args of [[], ['--from', 's3'], ['--from', 's3', '--to', 's3'], ['--from', 'a', '--to', 's3']])
      assert.equal((await runCli(['migrate-blobs', ...args])).code, 2)
    const directory = await makeTemporary()
    t.after(() => removeTemporary(directory))
    const { stderr } = await ends(
      2,
      runCli(['migrate-blobs', '--from', 'files', '--to', 's3', '--data-dir', directory]),
    )
    assert.match(stderr, /There is no registry in/)
  })
})
