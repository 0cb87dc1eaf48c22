import assert from 'node:assert/strict'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { it } from 'node:test'
import { OPERATOR } from '../../../core/index.ts'
import { restoreBackup } from '../../../server/backup/restore.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import {
  addEvidence,
  changeDirectory,
  copySecrets,
  directoryWith,
  openDirectory,
} from '../../support/configured-registry.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'
import { collect } from '../../contract/blob-bodies.ts'
import { backUp, headOf } from '../../support/backups.ts'

const READ_ONLY = { EVIDENCE_READ_ONLY: 'true' }

it('a restore that was interrupted or has found problems is not started, not even read-only', async (t) => {
  const directory = await directoryWith(t, ['one'])
  const root = await temporaryFor(t)
  const [backup, target] = [join(root, 'backup'), join(root, 'target')]
  assert.equal((await backUp(directory, backup)).code, 0)
  const restore = () => runCli(['restore', '--from', backup, '--data-dir', target])
  const assertRefused = async (): Promise<void> => {
    const message = /was interrupted, or has found problems: empty this directory/
    await assert.rejects(openDirectory(target, READ_ONLY), { code: 'CONFIG_ERROR', message })
    const again = await ends(2, restore())
    assert.match(again.stderr, message)
  }

  // The folder is missing: these are not single files that were damaged.
  await rename(join(backup, 'blobs'), join(root, 'blobs'))
  const damaged = await ends(1, restore())
  assert.match(damaged.stdout, /NOT restored/)
  await assertRefused()

  await rename(join(root, 'blobs'), join(backup, 'blobs'))
  await rm(target, { recursive: true })
  const interrupted = restoreBackup(
    {
      from: backup,
      config: loadConfig({ args: ['--data-dir', target], env: {} }),
      head: undefined,
      passphrase: undefined,
      erasures: undefined,
    },
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
  await copySecrets(directory, target)
  await (await openDirectory(target, READ_ONLY)).registry.close()
})

it('a file that the registry itself had lost does not keep its backup from being restored', async (t) => {
  const directory = await directoryWith(t, ['one', 'two'])
  const root = await temporaryFor(t)
  const [backup, target] = [join(root, 'backup'), join(root, 'target')]
  const content = join(directory, 'blobs', 'content')
  const [lost = ''] = await filesBelow(content)
  await rm(join(content, lost))
  const backedUp = await ends(1, backUp(directory, backup))
  assert.match(backedUp.stdout, /1 problems in the registry itself, see above/)
  const verified = await ends(1, runCli(['backup', 'verify', backup]))
  assert.match(verified.stdout, /2 files: the bytes of 1 of them are missing or damaged, all else can be restored\n$/)
  const head = headOf(directory)
  const restore = () => runCli(['restore', '--from', backup, '--data-dir', target, '--head', head])
  const restored = await ends(1, restore())
  assert.match(restored.stdout, /restored and verified, but the bytes of 1 of them are lost.*\n.*Start the server/)
  assert.deepEqual(await readFile(join(target, 'signed-head.json')), await readFile(head))
  assert.ok(!(await filesBelow(target)).includes('restore.unfinished'))
})

it('a file that is damaged in the backup is named, and everything else is restored and starts', async (t) => {
  const directory = await directoryWith(t, ['one', 'two'])
  const root = await temporaryFor(t)
  const [backup, target] = [join(root, 'backup'), join(root, 'target')]
  assert.equal((await backUp(directory, backup)).code, 0)
  const content = join(backup, 'blobs', 'content')
  const [name = '', other = ''] = await filesBelow(content)
  const [damaged, right] = [basename(name), basename(other)]
  const bytes = await readFile(join(content, name))
  await writeFile(join(content, name), bytes.with(3, (bytes[3] ?? 0) ^ 1))
  const quick = await ends(0, runCli(['backup', 'verify', backup, '--quick']))
  assert.match(quick.stdout, /2 files \(their bytes were not read\): nothing differs\n$/)
  const verified = await ends(1, runCli(['backup', 'verify', backup]))
  const restored = await ends(
    1,
    runCli(['restore', '--from', backup, '--data-dir', target, '--head', headOf(directory)]),
  )
  for (const { stdout } of [verified, restored]) assert.equal(stdout.split(`blob/${damaged}: `).length, 2, stdout)
  assert.match(verified.stdout, /the bytes of 1 of them are missing or damaged, all else can be restored\n$/)
  assert.match(restored.stdout, /restored and verified, but the bytes of 1 of them are lost.*\n.*Start the server/)

  await copySecrets(directory, target)
  const { registry } = await openDirectory(target)
  t.after(() => registry.close())
  const scope = { companyId: 'acme', principal: OPERATOR }
  const read = async (fileId: string) => registry.files.read(await registry.files.find(scope, { fileId }))
  await assert.rejects(read(damaged), { code: 'CORRUPT' })
  assert.match(new TextDecoder().decode(await collect(await read(right))), /^content of /)
})

it('a head that is older than the backup does not count as the newest one', async (t) => {
  const directory = await directoryWith(t, [])
  const root = await temporaryFor(t)
  const [backup, target, older] = [join(root, 'backup'), join(root, 'target'), join(root, 'older.json')]
  const head = headOf(directory)
  await writeFile(older, await readFile(head))
  await changeDirectory(directory, (registry) => addEvidence(registry, 'one'))
  assert.notDeepEqual(await readFile(head), await readFile(older))
  assert.equal((await backUp(directory, backup)).code, 0)
  const restore = (path: string) => runCli(['restore', '--from', backup, '--data-dir', target, '--head', path])
  const refused = await ends(2, restore(older))
  assert.match(refused.stderr, /--head is older than the backup, or of another registry: /)
  // Nothing was written, but a server must not begin a new registry there.
  assert.deepEqual(await readdir(target), ['restore.unfinished'])
  await assert.rejects(openDirectory(target), { code: 'CONFIG_ERROR' })
  assert.match((await restore(head)).stdout, /restored and verified/)
})
