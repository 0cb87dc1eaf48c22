// Own process: it loads the machine for minutes, and needs nothing that the other files start.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { programArgs } from '../../support/repository.ts'
import { OPERATOR_ENV as ENV, OPERATOR_HEADERS as HEADERS, RunningRegistry } from '../../support/running-registry.ts'
import { runCli, ServerProcess, type Outcome } from '../../support/server-process.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

const PASSPHRASE = 'correct horse battery staple'

const headOf = (directory: string): string => join(directory, 'signed-head.json')

function assertSuccess({ code, stdout, stderr }: Outcome): void {
  assert.equal(code, 0, stdout + stderr)
}

/** The folder of the current backup in a directory. */
async function folderOf(backup: string): Promise<string> {
  const { folder } = JSON.parse(await readFile(join(backup, 'backup.json'), 'utf8')) as { readonly folder: string }
  return join(backup, folder)
}

async function passphraseFile(t: TestContext, passphrase = PASSPHRASE): Promise<string> {
  const file = join(await temporaryFor(t), 'passphrase')
  await writeFile(file, `${passphrase}\n`)
  return file
}

it('a backup under load is restored with every write that was acknowledged before it', async (t) => {
  const registry = await RunningRegistry.start(t)
  const root = await temporaryFor(t)
  const [backup, restored] = [join(root, 'backup'), join(root, 'restored')]
  const secrets = ['--secrets', '--passphrase-file', await passphraseFile(t)]
  const acknowledged: string[] = []
  const load = { isRunning: true }
  const writers = ['a', 'b', 'c'].map(async (writer) => {
    for (let n = 0; load.isRunning; n += 1) {
      await registry.create(`${writer}-${n}`)
      acknowledged.push(`${writer}-${n}`)
    }
  })
  await eventually(
    () => acknowledged.length > 60 || undefined,
    () => 'no load',
  )
  const before = [...acknowledged]
  const made = await registry.backup(backup, ...secrets)
  load.isRunning = false
  await Promise.all(writers)
  assertSuccess(made)
  assert.match(made.stdout, /^\d+ log entries \(\d+ sealed\), \d+ files copied, 0 reused: complete\n$/)
  const verified = await runCli(['backup', 'verify', backup])
  assertSuccess(await runCli(['backup', 'verify', '--quick', backup]))
  assertSuccess(verified)
  assert.match(verified.stdout, /nothing differs\n$/)

  // The server went on: its newest head is larger than the tree in the backup.
  assertSuccess(await runCli(['seal', '--data-dir', registry.directory], ENV))
  await registry.server.stop('SIGKILL')
  const newestHead = headOf(registry.directory)
  const { code, stdout, stderr } = await runCli(
    ['restore', '--from', backup, '--data-dir', restored, '--head', newestHead, ...secrets],
    ENV,
  )
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /A tree of \d+ entries was signed, the backup holds \d+: start .* EVIDENCE_READ_ONLY=true/)
  assert.match(stdout, /Or --head is of another registry/)
  const refused = new ServerProcess(restored, ENV)
  t.after(() => refused.stop('SIGKILL'))
  assert.equal(await refused.ended(), 1)
  assert.match(refused.stderr, /The record store was set back or replaced/)

  const readOnly = new ServerProcess(restored, { ...ENV, EVIDENCE_READ_ONLY: 'true' })
  t.after(() => readOnly.stop('SIGKILL'))
  const url = await readOnly.ready()
  for (const externalId of before) {
    const response = await fetch(`${url}/api/v1/evidences/acme/evidence/${externalId}`, { headers: HEADERS })
    assert.equal(response.status, 200, externalId)
    const { images } = (await response.json()) as { readonly images?: unknown }
    assert.ok(JSON.stringify(images ?? '').length > 0)
  }
  assert.equal(await readOnly.stop(), 0)
})

it('a stopped registry moves to another directory by backup and restore, and continues there', async (t) => {
  const registry = await RunningRegistry.start(t)
  for (let n = 0; n < 5; n += 1) await registry.create(`e-${n}`)
  assertSuccess(await runCli(['seal', '--data-dir', registry.directory], ENV))
  await registry.server.stop()
  const root = await temporaryFor(t)
  const [backup, moved] = [join(root, 'backup'), join(root, 'moved')]
  const secrets = ['--secrets', '--passphrase-file', await passphraseFile(t)]
  assertSuccess(await registry.backup(backup, ...secrets))
  assert.deepEqual(
    (await filesBelow(backup)).filter((name) => name.includes('secret') && !name.endsWith('/secrets')),
    [],
  )
  const head = headOf(registry.directory)
  const restored = await runCli(['restore', '--from', backup, '--data-dir', moved, '--head', head, ...secrets], ENV)
  assertSuccess(restored)
  assert.match(restored.stdout, /It holds everything that was signed up to --head\. Start the server\n$/)
  assertSuccess(await runCli(['fsck', '--data-dir', moved], ENV))
  const again = await runCli(['restore', '--from', backup, '--data-dir', moved, '--head', head], ENV)
  assert.equal(again.code, 2)
  assert.match(again.stderr, /is not empty/)

  const server = await RunningRegistry.start(t, moved)
  for (let n = 0; n < 5; n += 1) assert.ok(await server.has(`e-${n}`), `e-${n}`)
  await server.create('after the move')
  assertSuccess(await runCli(['seal', '--data-dir', moved], ENV))
  assert.equal(await server.server.stop(), 0)
  assertSuccess(await runCli(['fsck', '--data-dir', moved], ENV))
})

it('a later backup copies only new files, drops deleted ones, and replaces the earlier one at its end', async (t) => {
  const registry = await RunningRegistry.start(t)
  const backup = join(await temporaryFor(t), 'backup')
  for (let n = 0; n < 4; n += 1) await registry.create(`e-${n}`)
  const first = await registry.backup(backup)
  assertSuccess(first)
  assert.match(first.stdout, /, 4 files copied, 0 reused: complete\n$/)
  const folder = await folderOf(backup)
  await registry.create('e-4')
  const listed = await fetch(`${registry.url}/api/v1/evidences/acme/evidence/e-0/files`, { headers: HEADERS })
  const { dt } = (await listed.json()) as { readonly dt: readonly { readonly overlayId: string }[] }
  const deleted = dt[0]?.overlayId
  assert.ok(deleted)
  const removal = await fetch(`${registry.url}/api/v1/evidences/acme/file?fileId=${deleted}`, {
    method: 'DELETE',
    headers: HEADERS,
  })
  assert.ok(removal.ok, await removal.text())
  const second = await registry.backup(backup)
  assertSuccess(second)
  assert.match(second.stdout, /, 1 files copied, 3 reused: complete\n$/)
  assert.notEqual(await folderOf(backup), folder)
  await assert.rejects(stat(folder), { code: 'ENOENT' })
  const blobs = (await filesBelow(join(backup, 'blobs', 'content'))).map((name) => name.split('/').at(-1))
  assert.equal(blobs.length, 4)
  assert.ok(!blobs.includes(deleted))
  assertSuccess(await runCli(['backup', 'verify', backup]))
})

it('a file that an interrupted backup has torn is copied again', async (t) => {
  const registry = await RunningRegistry.start(t)
  const backup = join(await temporaryFor(t), 'backup')
  await registry.create('e-0')
  assertSuccess(await registry.backup(backup))
  const complete = new Set(await filesBelow(join(backup, 'blobs')))
  await registry.create('e-1')
  assertSuccess(await registry.backup(backup))
  const torn = (await filesBelow(join(backup, 'blobs'))).find((name) => !complete.has(name)) ?? ''
  // As if the power had failed in the second backup, before its manifest: the file has its size, but not its bytes.
  const path = join(backup, 'blobs', torn)
  const bytes = await readFile(path)
  await writeFile(path, Buffer.alloc(bytes.length))
  await rm(join(backup, 'backup.json'))
  const repeated = await registry.backup(backup)
  assertSuccess(repeated)
  assert.match(repeated.stdout, /, 1 files copied, 1 reused: complete\n$/)
  assert.deepEqual(await readFile(path), bytes)
  assertSuccess(await runCli(['backup', 'verify', backup]))
})

it('a flipped byte in any file of a backup is refused with the name of the file', async (t) => {
  const registry = await RunningRegistry.start(t)
  await registry.create('e-0')
  assertSuccess(await runCli(['seal', '--data-dir', registry.directory], ENV))
  const root = await temporaryFor(t)
  const backup = join(root, 'backup')
  const file = await passphraseFile(t)
  assertSuccess(await registry.backup(backup, '--secrets', '--passphrase-file', file))
  await registry.server.stop()
  const names = (await filesBelow(backup)).filter((name) => !name.startsWith('owner') && !name.includes('/staging/'))
  assert.ok(names.length >= 10, names.join())
  for (const name of names) {
    const path = join(backup, name)
    const bytes = await readFile(path)
    const damaged = Buffer.from(bytes)
    const at = Math.floor(bytes.length / 2)
    damaged[at] = (damaged[at] ?? 0) ^ 0x10
    await writeFile(path, damaged)
    const isBlob = name.startsWith('blobs/')
    const shown = isBlob ? name.split('/').at(-1) : name
    const { code, stdout, stderr } = await runCli(['backup', 'verify', backup])
    assert.equal(code, 1, name)
    assert.ok((stdout + stderr).includes(shown ?? name), `${name}: ${stdout}${stderr}`)
    const target = join(root, 'target')
    const restored = await runCli(['restore', '--from', backup, '--data-dir', target], ENV)
    assert.notEqual(restored.code, 0, name)
    assert.ok((restored.stdout + restored.stderr).includes(shown ?? name), name)
    await rm(target, { recursive: true, force: true })
    await writeFile(path, bytes)
  }
  assertSuccess(await runCli(['backup', 'verify', backup, '--passphrase-file', file]))
})

it('secrets need the right passphrase, and are not in a backup that was made without', async (t) => {
  const registry = await RunningRegistry.start(t)
  const root = await temporaryFor(t)
  const [backup, plain] = [join(root, 'backup'), join(root, 'plain')]
  assertSuccess(await registry.backup(backup, '--secrets', '--passphrase-file', await passphraseFile(t)))
  assertSuccess(await registry.backup(plain))
  const secret = await readFile(join(registry.directory, 'secret'))
  for (const name of await filesBelow(root)) assert.ok(!(await readFile(join(root, name))).includes(secret), name)
  const wrong = await passphraseFile(t, 'correct horse battery stable')
  const target = join(root, 'target')
  const restore = (from: string, file: string) =>
    runCli(['restore', '--from', from, '--data-dir', target, '--secrets', '--passphrase-file', file], ENV)
  const refused = await restore(backup, wrong)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /The passphrase is not the one of these secrets/)
  assert.ok(!refused.stderr.includes('stable'))
  await assert.rejects(stat(target), { code: 'ENOENT' })
  const none = await restore(plain, await passphraseFile(t))
  assert.equal(none.code, 2)
  assert.match(none.stderr, /This backup has no secrets/)
  const short = await registry.backup(backup, '--secrets', '--passphrase-file', await passphraseFile(t, 'short'))
  assert.equal(short.code, 2)
  assert.match(short.stderr, /at least 8 characters/)
  const missing = await registry.backup(backup, '--secrets')
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /--passphrase-file/)

  // Without the secrets, the operator puts them there.
  const head = headOf(registry.directory)
  await registry.server.stop()
  const restored = await runCli(['restore', '--from', plain, '--data-dir', target, '--head', head], ENV)
  assertSuccess(restored)
  assert.match(restored.stdout, /The secrets were not restored/)
  const names = ['secret', 'checkpoint-keys.json', 'tsa/ca.key', 'tsa/tsa.pem', 'ledger/ledger.key']
  for (const name of names) await copyFile(join(registry.directory, name), join(target, name))
  const server = await RunningRegistry.start(t, target)
  await server.create('with secrets')
})

it('a backup that is killed leaves the earlier one, and none looks complete before its end', async (t) => {
  const registry = await RunningRegistry.start(t)
  for (let n = 0; n < 30; n += 1) await registry.create(`e-${n}`, 'x'.repeat(200_000))
  await registry.server.stop()
  const root = await temporaryFor(t)
  const backup = join(root, 'backup')
  const cli = programArgs('server/cli.ts')
  let killedBefore = 0
  for (let delay = 0; delay < 4; delay += 1) {
    const child = spawn(process.execPath, [...cli, 'backup', '--to', backup, '--data-dir', registry.directory], {
      env: { PATH: process.env['PATH'] ?? '', ...ENV },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    // Killed as soon as so many files are in the backup.
    await eventually(
      async () =>
        (await filesBelow(backup).catch(() => [])).length >= delay * 9 || child.exitCode !== null || undefined,
      () => 'the backup does not begin',
    )
    child.kill('SIGKILL')
    await ended
    const isComplete = (await readdir(backup).catch(() => [''])).includes('backup.json')
    if (isComplete) break
    killedBefore += 1
    const refused = await runCli(['restore', '--from', backup, '--data-dir', join(root, 'target')], ENV)
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /There is no complete backup/)
  }
  assert.ok(killedBefore > 0, 'every backup was complete before it was killed')
  assertSuccess(await registry.backup(backup))
  assertSuccess(await runCli(['backup', 'verify', backup]))

  // A later backup that is cut short, with its folder half written.
  const folder = await folderOf(backup)
  const half = join(backup, '20990101T000000Z-0123abcd')
  await cp(folder, half, { recursive: true })
  await rm(join(half, 'records'))
  assertSuccess(await runCli(['backup', 'verify', backup]))
  assertSuccess(await registry.backup(backup))
  await assert.rejects(stat(half), { code: 'ENOENT' })
  await assert.rejects(stat(folder), { code: 'ENOENT' })
})

it('says what is wrong with a directory or a flag', async (t) => {
  const registry = await RunningRegistry.start(t)
  const other = await RunningRegistry.start(t)
  const root = await temporaryFor(t)
  const backup = join(root, 'backup')
  assertSuccess(await other.backup(backup))
  const foreign = await registry.backup(backup)
  assert.match(foreign.stderr, /holds a backup of another registry/)
  await mkdir(join(root, 'pictures'))
  await writeFile(join(root, 'pictures', 'cat.png'), '')
  const full = await registry.backup(join(root, 'pictures'))
  assert.match(full.stderr, /holds something that is not part of a backup \(cat\.png\)/)
  const inside = await registry.backup(registry.directory)
  assert.match(inside.stderr, /must not be in the data directory .+: name another directory/)
  const cat = join(root, 'pictures', 'cat.png')
  const asFile = await registry.backup(cat)
  assert.match(asFile.stderr, /cat\.png cannot be used: a file with this name exists; .*choose another name \(EEXIST\)/)
  const noHead = await runCli(['restore', '--from', backup, '--data-dir', join(root, 'new'), '--head', cat])
  assert.deepEqual(
    [noHead.code, noHead.stderr.includes('is not a signed-head.json, or is damaged: name the')],
    [2, true],
  )
  const noData = await runCli(['backup', '--to', join(root, 'other'), '--data-dir', cat])
  assert.deepEqual([noData.code, noData.stderr.includes('There is no registry in ')], [2, true], noData.stderr)
  for (const { code } of [foreign, full, inside]) assert.equal(code, 2)
})
