// Own process: it loads the machine for minutes, and needs nothing that the other files start.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { directoryWith } from '../../support/configured-registry.ts'
import { eventually } from '../../support/eventually.ts'
import { programArgs } from '../../support/repository.ts'
import { OPERATOR_ENV as ENV, OPERATOR_HEADERS as HEADERS, RunningRegistry } from '../../support/running-registry.ts'
import { runCli, ServerProcess, ends } from '../../support/server-process.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'
import { assertSuccess, backUp, folderOf, headOf, withSecrets } from '../../support/backups.ts'

it('a backup under load is restored with every write that was acknowledged before it', async (t) => {
  const registry = await RunningRegistry.start(t)
  const root = await temporaryFor(t)
  const [backup, restored] = [join(root, 'backup'), join(root, 'restored')]
  const secrets = await withSecrets(t)
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
  assert.match(
    made.stdout,
    /^\d+ log entries \(\d+ sealed\), \d+ files copied, 0 reused \(small files are in the records\): complete\n$/,
  )
  const verified = await runCli(['backup', 'verify', backup])
  assertSuccess(await runCli(['backup', 'verify', '--quick', backup]))
  assertSuccess(verified)
  assert.match(verified.stdout, /nothing differs\n$/)

  // The server went on: its newest head is larger than the tree in the backup.
  assertSuccess(await runCli(['seal', '--data-dir', registry.directory], ENV))
  await registry.server.stop('SIGKILL')
  const newestHead = headOf(registry.directory)
  const { stdout } = await ends(
    0,
    runCli(['restore', '--from', backup, '--data-dir', restored, '--head', newestHead, ...secrets], ENV),
  )
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

it('a backup that is killed leaves the earlier one, and none looks complete before its end', async (t) => {
  const ids = Array.from({ length: 30 }, (_, n) => `e-${n}`)
  const directory = await directoryWith(t, ids, 'x'.repeat(200_000))
  const root = await temporaryFor(t)
  const backup = join(root, 'backup')
  const cli = programArgs('server/cli.ts')
  let killedBefore = 0
  for (let delay = 0; delay < 4; delay += 1) {
    const child = spawn(process.execPath, [...cli, 'backup', '--to', backup, '--data-dir', directory], {
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
    const refused = await ends(2, runCli(['restore', '--from', backup, '--data-dir', join(root, 'target')], ENV))
    assert.match(refused.stderr, /There is no complete backup/)
  }
  assert.ok(killedBefore > 0, 'every backup was complete before it was killed')
  assertSuccess(await backUp(directory, backup))
  assertSuccess(await runCli(['backup', 'verify', backup]))

  // A later backup that is cut short, with its folder half written.
  const folder = await folderOf(backup)
  const half = join(backup, '20990101T000000Z-0123abcd')
  await cp(folder, half, { recursive: true })
  await rm(join(half, 'records'))
  assertSuccess(await runCli(['backup', 'verify', backup]))
  assertSuccess(await backUp(directory, backup))
  await assert.rejects(stat(half), { code: 'ENOENT' })
  await assert.rejects(stat(folder), { code: 'ENOENT' })
})
