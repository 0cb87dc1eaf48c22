import assert from 'node:assert/strict'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { restoreBackup } from '../../../server/backup/restore.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { OPERATOR_ENV as ENV, RunningRegistry } from '../../support/running-registry.ts'
import { runCli, ServerProcess, type Outcome } from '../../support/server-process.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

it('a restore that was interrupted or has found problems is not started, not even read-only', async (t) => {
  const registry = await RunningRegistry.start(t)
  await registry.create('one', 'content')
  const root = await temporaryFor(t)
  const [backup, target] = [join(root, 'backup'), join(root, 'target')]
  const passphrase = join(root, 'passphrase')
  await writeFile(passphrase, 'correct horse battery staple')
  const secrets = ['--secrets', '--passphrase-file', passphrase]
  assert.equal((await registry.backup(backup, ...secrets)).code, 0)
  await registry.server.stop()
  const restore = () => runCli(['restore', '--from', backup, '--data-dir', target, ...secrets], ENV)
  const assertRefused = async (): Promise<void> => {
    const server = new ServerProcess(target, { ...ENV, EVIDENCE_READ_ONLY: 'true' })
    assert.equal(await server.ended(), 2)
    assert.match(server.stderr, /was interrupted, or has found problems: empty this directory/)
    const again = await restore()
    assert.equal(again.code, 2)
    assert.match(again.stderr, /was interrupted, or has found problems: empty this directory/)
  }

  const content = join(backup, 'blobs', 'content')
  const [name = ''] = await filesBelow(content)
  const bytes = await readFile(join(content, name))
  await writeFile(join(content, name), 'damaged')
  const damaged = await restore()
  assert.equal(damaged.code, 1)
  assert.match(damaged.stdout, /NOT restored/)
  await assertRefused()

  await writeFile(join(content, name), bytes)
  await rm(target, { recursive: true })
  const config = loadConfig({ args: ['--data-dir', target], env: {} })
  const interrupted = restoreBackup(
    { from: backup, config, head: undefined, passphrase: undefined },
    {
      onProblem: (message) => assert.fail(message),
      onProgress(stage) {
        if (stage === 'files') throw new Error('interrupted')
      },
    },
  )
  await assert.rejects(interrupted, /interrupted/)
  await assertRefused()

  await rm(target, { recursive: true })
  assert.equal((await restore()).code, 0)
  const server = new ServerProcess(target, { ...ENV, EVIDENCE_READ_ONLY: 'true' })
  t.after(() => server.stop('SIGKILL'))
  await server.ready()
})

it('a file that the registry itself had lost does not keep its backup from being restored', async (t) => {
  const registry = await RunningRegistry.start(t)
  await registry.create('one', 'content')
  await registry.create('two', 'other content')
  await registry.server.stop()
  const root = await temporaryFor(t)
  const [backup, target] = [join(root, 'backup'), join(root, 'target')]
  const content = join(registry.directory, 'blobs', 'content')
  const [lost = ''] = await filesBelow(content)
  await rm(join(content, lost))
  const backedUp = await registry.backup(backup)
  assert.equal(backedUp.code, 1)
  assert.match(backedUp.stdout, /1 problems in the registry itself, see above/)
  const verified = await runCli(['backup', 'verify', backup], ENV)
  assert.equal(verified.code, 1)
  assert.match(verified.stdout, /2 files: 1 of them were missing or damaged before the backup\n$/)
  const head = join(registry.directory, 'signed-head.json')
  const restore = (): Promise<Outcome> =>
    runCli(['restore', '--from', backup, '--data-dir', target, '--head', head], ENV)
  const restored = await restore()
  assert.equal(restored.code, 1)
  assert.match(restored.stdout, /restored and verified, but 1 of them were missing.*\n.*Start the server/)
  assert.deepEqual(await readFile(join(target, 'signed-head.json')), await readFile(head))
  assert.ok(!(await filesBelow(target)).includes('restore.unfinished'))

  // Any other file is another matter.
  const [other = ''] = await filesBelow(join(backup, 'blobs', 'content'))
  await rm(join(backup, 'blobs', 'content', other))
  await rm(target, { recursive: true })
  const damaged = await restore()
  assert.equal(damaged.code, 1)
  assert.match(damaged.stdout, /NOT restored/)
})

it('a head that is older than the backup does not count as the newest one', async (t) => {
  const registry = await RunningRegistry.start(t)
  const root = await temporaryFor(t)
  const [backup, target, older] = [join(root, 'backup'), join(root, 'target'), join(root, 'older.json')]
  const head = join(registry.directory, 'signed-head.json')
  await writeFile(older, await readFile(head))
  await registry.create('one', 'content')
  await eventually(async () => !(await readFile(head)).equals(await readFile(older)) || undefined)
  assert.equal((await registry.backup(backup)).code, 0)
  const restore = (...args: readonly string[]): Promise<Outcome> =>
    runCli(['restore', '--from', backup, '--data-dir', target, ...args], ENV)
  const refused = await restore('--head', older)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /--head is older than the backup, or of another registry: /)
  await assert.rejects(stat(target), { code: 'ENOENT' })
  await registry.server.stop()
  const restored = await restore('--head', head)
  assert.match(restored.stdout, /restored and verified/)
})
