import assert from 'node:assert/strict'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { OPERATOR } from '../../../core/index.ts'
import {
  addEvidence,
  changeDirectory,
  copySecrets,
  directoryWith,
  evidencesIn,
} from '../../support/configured-registry.ts'
import { runCli, type Outcome, ends } from '../../support/server-process.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'
import { assertSuccess, assertUsageError, backUp, folderOf, headOf, withSecrets } from '../../support/backups.ts'

const restore = (from: string, target: string, ...flags: readonly string[]): Promise<Outcome> =>
  runCli(['restore', '--from', from, '--data-dir', target, ...flags])

const verifyWith = (backup: string, file: string): Promise<Outcome> =>
  runCli(['backup', 'verify', backup, '--passphrase-file', file])

it('a stopped registry moves to another directory by backup and restore, and continues there', async (t) => {
  const ids = ['a', 'b', 'c']
  const directory = await directoryWith(t, ids)
  const root = await temporaryFor(t)
  const [backup, moved, head] = [join(root, 'backup'), join(root, 'moved'), headOf(directory)]
  const secrets = await withSecrets(t)
  assertSuccess(await backUp(directory, backup, ...secrets))
  const named = (await filesBelow(backup)).filter((name) => name.includes('secret') && !name.endsWith('/secrets'))
  assert.deepEqual(named, [])
  const next = /It holds everything that was signed up to --head\. Start the server\n$/
  assertSuccess(await restore(backup, moved, '--head', head, ...secrets), next)
  assertSuccess(await runCli(['fsck', '--data-dir', moved]))
  assertUsageError(await restore(backup, moved, '--head', head), /is not empty/)

  await changeDirectory(moved, (registry) => addEvidence(registry, 'after the move'))
  assert.deepEqual(await evidencesIn(moved), [...ids, 'after the move'])
  assertSuccess(await runCli(['fsck', '--data-dir', moved]))
})

it('a later backup copies only new files, drops deleted ones, and replaces the earlier one at its end', async (t) => {
  const directory = await directoryWith(t, ['a', 'b', 'c'])
  const backup = join(await temporaryFor(t), 'backup')
  assertSuccess(
    await backUp(directory, backup),
    /, 3 files copied, 0 reused \(.*\): complete, but without the secrets .*--secrets\n$/,
  )
  const folder = await folderOf(backup)
  let deleted = ''
  await changeDirectory(directory, async (registry) => {
    const scope = { companyId: 'acme', principal: OPERATOR }
    await addEvidence(registry, 'd')
    const [file] = (await registry.evidences.files(scope, 'a')).evidence
    deleted = file?.id ?? ''
    await registry.files.delete(scope, { fileId: deleted })
  })
  assertSuccess(
    await backUp(directory, backup),
    /, 1 files copied, 2 reused \(.*\): complete, but without the secrets .*--secrets\n$/,
  )
  assert.notEqual(await folderOf(backup), folder)
  await assert.rejects(stat(folder), { code: 'ENOENT' })
  const blobs = (await filesBelow(join(backup, 'blobs', 'content'))).map((name) => name.split('/').at(-1))
  assert.equal(blobs.length, 3)
  assert.ok(!blobs.includes(deleted))
  assertSuccess(await runCli(['backup', 'verify', backup]))
})

it('a flipped byte in any file of a backup is refused with the name of the file', async (t) => {
  const directory = await directoryWith(t, ['a'])
  const root = await temporaryFor(t)
  const [backup, secrets] = [join(root, 'backup'), await withSecrets(t)]
  assertSuccess(await backUp(directory, backup, ...secrets))
  const names = (await filesBelow(backup)).filter((name) => !name.startsWith('lock/'))
  assert.ok(names.length >= 10, names.join())
  for (const name of names) {
    const path = join(backup, name)
    const bytes = await readFile(path)
    const at = Math.floor(bytes.length / 2)
    // The list of erasures is empty.
    await writeFile(path, bytes.length === 0 ? '\n' : bytes.with(at, (bytes[at] ?? 0) ^ 0x10))
    const shown = (name.startsWith('blobs/') ? name.split('/').at(-1) : name) ?? name
    const target = join(root, 'target')
    const verified = await ends(1, runCli(['backup', 'verify', backup]))
    const restored = await restore(backup, target)
    assert.notEqual(restored.code, 0, name)
    for (const { stdout, stderr } of [verified, restored])
      assert.ok((stdout + stderr).includes(shown), `${name}: ${stdout}${stderr}`)
    await rm(target, { recursive: true, force: true })
    await writeFile(path, bytes)
  }
  assertSuccess(await runCli(['backup', 'verify', backup, ...secrets.slice(1)]))
})

it('secrets need the right passphrase, and are not in a backup that was made without', async (t) => {
  const directory = await directoryWith(t, ['a'])
  const root = await temporaryFor(t)
  const [backup, plain, target] = [join(root, 'backup'), join(root, 'plain'), join(root, 'target')]
  assertSuccess(await backUp(directory, backup, ...(await withSecrets(t))))
  assertSuccess(await backUp(directory, plain))
  const secret = await readFile(join(directory, 'secret'))
  for (const name of await filesBelow(root)) assert.ok(!(await readFile(join(root, name))).includes(secret), name)
  const wrong = await restore(backup, target, ...(await withSecrets(t, 'correct horse battery stable')))
  assertUsageError(wrong, /The passphrase is not the one of these secrets/)
  assert.ok(!wrong.stderr.includes('stable'))
  assertUsageError(await restore(plain, target, ...(await withSecrets(t))), /This backup has no secrets/)
  assertUsageError(await backUp(directory, backup, ...(await withSecrets(t, 'short'))), /at least 8 characters/)
  assertUsageError(await backUp(directory, backup, '--secrets'), /--passphrase-file/)
  const ansi = join(root, 'ansi')
  await writeFile(ansi, Buffer.from('öäüßÖÄÜéñ', 'latin1'))
  for (const run of [backUp(directory, backup, '--secrets', '--passphrase-file', ansi), verifyWith(backup, ansi)])
    assertUsageError(await run, /--passphrase-file: the file that it names cannot be read \(it is not text in UTF-8/)

  // Without the secrets, the operator puts them there.
  assertSuccess(await restore(plain, target, '--head', headOf(directory)), /The secrets were not restored/)
  await copySecrets(directory, target)
  await changeDirectory(target, (registry) => addEvidence(registry, 'with secrets'))
})

it('says what is wrong with a directory', async (t) => {
  const [directory, other] = [await directoryWith(t, ['a']), await directoryWith(t, ['b'])]
  const root = await temporaryFor(t)
  const [backup, file] = [join(root, 'backup'), join(root, 'file')]
  assertSuccess(await backUp(other, backup))
  assertUsageError(await backUp(directory, backup), /holds a backup of another registry/)
  await writeFile(file, '')
  const used = await backUp(directory, file)
  assert.match(used.stderr, /file cannot be used: a file with this name exists; .*choose another name \(EEXIST\)/)
  await mkdir(join(root, 'new'))
  const noHead = await restore(backup, join(root, 'new'), '--head', file)
  assertUsageError(noHead, /is not a signed-head\.json, or is damaged: name the/)
  assertUsageError(await backUp(file, join(root, 'other')), /There is no registry in /)
})
