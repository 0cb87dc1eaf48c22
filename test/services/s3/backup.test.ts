import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { generateCheckpointKey } from '../../../adapters/files/index.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { OPERATOR_ENV, RunningRegistry } from '../../support/running-registry.ts'
import { BUCKET, CLIENT_ENV, withService } from '../../support/s3-service.ts'
import { runCli, type Environment } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { assertNoneReadable, callAt, holdsMark, markedFiles, writeMarks } from '../../support/erasure-marker.ts'
import { assertSuccess, assertUsageError, folderOf, headOf } from '../../support/backups.ts'
import { ofSuite } from '../../support/of-suite.ts'

withService('backups of records in PostgreSQL and files in a bucket', (service) => {
  const database = ofSuite(() => PostgresServer.start())
  before(async () => {
    for (const name of ['first', 'second', 'erased', 'restored']) await database().query(`create database ${name}`)
  })

  const environment = (name: string): Environment => ({
    ...OPERATOR_ENV,
    EVIDENCE_RECORDS: 'postgres',
    EVIDENCE_POSTGRES_URL: database().url(name),
    EVIDENCE_BLOBS: 's3',
    EVIDENCE_S3_BUCKET: BUCKET,
    EVIDENCE_S3_PREFIX: `${name}/`,
    EVIDENCE_S3_ENDPOINT: service().ceph.endpoint,
    EVIDENCE_TSA: 'none',
    EVIDENCE_ANCHOR: 'none',
    ...CLIENT_ENV,
  })

  test('are made of a running server, and restored to another database and bucket, and to local stores', async (t) => {
    const keyring = join(await temporaryFor(t), 'checkpoint-keys.json')
    await generateCheckpointKey(keyring)
    const keys = { EVIDENCE_CHECKPOINT_KEYS: keyring }
    const [first, second] = [
      { ...environment('first'), ...keys },
      { ...environment('second'), ...keys },
    ]
    const registry = await RunningRegistry.start(t, undefined, first)
    for (let n = 0; n < 20; n += 1) await registry.create(`e-${n}`)
    const root = await temporaryFor(t)
    const backup = join(root, 'backup')
    assertSuccess(
      await registry.backup(backup),
      /, 20 files copied, 0 reused \(.*\): complete, but without the secrets .*--secrets\n$/,
    )
    await registry.create('after the backup')
    assert.equal((await runCli(['seal', '--data-dir', registry.directory], first)).code, 0)
    await registry.server.stop()
    // Of the time of the backup, as if the server had been stopped before.
    assertSuccess(await runCli(['backup', 'verify', backup]))
    const head = headOf(await folderOf(backup))

    assertUsageError(
      await runCli(['restore', '--from', backup, '--data-dir', join(root, 'x')], second),
      /needs --head FILE/,
    )
    assertUsageError(
      await runCli(['restore', '--from', backup, '--data-dir', join(root, 'x'), '--head', head], first),
      /name an empty store/,
    )

    const local = { ...OPERATOR_ENV, ...keys, EVIDENCE_TSA: 'none', EVIDENCE_ANCHOR: 'none' }
    for (const [name, env] of Object.entries({ shared: second, local })) {
      const target = join(root, name)
      assertSuccess(await runCli(['restore', '--from', backup, '--data-dir', target, '--head', head], env))
      await copyFile(join(registry.directory, 'secret'), join(target, 'secret'))
      const server = await RunningRegistry.start(t, target, env)
      for (let n = 0; n < 20; n += 1) assert.ok(await server.has(`e-${n}`), `${name}: e-${n}`)
      assert.ok(!(await server.has('after the backup')))
      await server.create('after the restore')
      assert.equal(await server.server.stop(), 0)
      assertSuccess(await runCli(['fsck', '--data-dir', target], env), /and 21 files checked: nothing differs/)
    }
  })

  test('restored after an erasure, have nothing of it in the database, the bucket or the directory', async (t) => {
    const keyring = join(await temporaryFor(t), 'checkpoint-keys.json')
    await generateCheckpointKey(keyring)
    const [erased, restored] = ['erased', 'restored'].map((name) => ({
      ...environment(name),
      EVIDENCE_CHECKPOINT_KEYS: keyring,
    }))
    const registry = await RunningRegistry.start(t, undefined, erased)
    const { directory } = registry
    const call = callAt(registry.url, OPERATOR_ENV.EVIDENCE_OPERATOR_KEY)
    const marked = await writeMarks(call)
    const root = await temporaryFor(t)
    const [backup, target] = [join(root, 'backup'), join(root, 'target')]
    assertSuccess(await registry.backup(backup))
    const inBucket = async (name: string): Promise<number> => {
      assert.deepEqual(await service().uploads(`${name}/`), [], 'their bytes cannot be read')
      return (await service().contents(`${name}/`)).filter(holdsMark).length
    }
    assert.ok((await inBucket('erased')) > 0)
    await assertNoneReadable(call, marked)
    assert.equal(await inBucket('erased'), 0)
    await registry.create('after the erasure')
    assertSuccess(await runCli(['seal', '--data-dir', directory], erased))
    await registry.server.stop()

    const head = join(root, 'signed-head.json')
    await copyFile(headOf(directory), head)
    const restore = ['restore', '--from', backup, '--data-dir', target, '--head', head]
    assertUsageError(await runCli(restore, restored), /there is no erasures\.jsonl beside --head/)
    const list = join(directory, 'erasures.jsonl')
    const without = /without what was erased of 3 evidences/
    assertSuccess(await runCli([...restore, '--erasures', list], restored), without)
    assert.equal(await inBucket('restored'), 0)
    assert.deepEqual(await markedFiles(target), [])
    const [{ oid } = {}] = await database().query("select oid from pg_database where datname = 'restored'")
    await database().query('checkpoint')
    assert.deepEqual(await markedFiles(join(database().directory, 'base', String(oid))), [])
    await copyFile(join(directory, 'secret'), join(target, 'secret'))
    const readOnly = await RunningRegistry.start(t, target, { ...restored, EVIDENCE_READ_ONLY: 'true' })
    assert.ok(await readOnly.has(marked[1]?.id ?? ''))
    assert.equal(await readOnly.server.stop(), 0)
  })
})
