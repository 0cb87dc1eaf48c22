import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readHighWaterMark } from '../../../adapters/level/directory.ts'
import { eventually } from '../../support/eventually.ts'
import { programArgs } from '../../support/repository.ts'
import { runCli, ServerProcess, ends } from '../../support/server-process.ts'
import { assertHolds, importFixture, lineOf, linesOf } from '../../support/import-fixture.ts'

const COUNT = 1_600

describe('evidence-registry import', () => {
  it('continues after it was killed, without creating an evidence twice', async (t) => {
    const { directory, file, run } = await importFixture(t, linesOf(COUNT))
    const args = programArgs('server/cli.ts')
    for (const reached of [1, 600]) {
      const options = ['--company', 'acme', '--data-dir', directory, '-']
      const child = spawn(process.execPath, [...args, 'import', ...options], { stdio: ['pipe', 'ignore', 'inherit'] })
      const closed = once(child, 'close')
      // Its stdin stays open, so it cannot end by itself.
      child.stdin.on('error', () => undefined).write(linesOf(COUNT))
      const mark = join(directory, 'records/witness')
      const logSize = (): number => {
        const head = readHighWaterMark(mark)
        return head === undefined || head === 'unreadable' ? 0 : head.logSize
      }
      // The log also holds the entry of its key.
      await eventually(
        () => child.exitCode === null && logSize() > reached + 1,
        () => `the log has ${logSize()} entries, exit code ${child.exitCode}`,
      )
      child.kill('SIGKILL')
      await closed
    }
    const { stdout } = await ends(0, run(file))
    const [, created, present] = /^(\d+) evidences created, (\d+) present before, 0 lines refused$/m.exec(stdout) ?? []
    assert.equal(Number(created) + Number(present), COUNT)
    assert.ok(Number(present) >= 600, stdout)
    await assertHolds(directory, COUNT)
    await ends(0, runCli(['fsck', '--data-dir', directory]))
  })

  it('stops in one line if a server has the data directory, or there is no company', async (t) => {
    const { directory, file, run } = await importFixture(t, lineOf(1))
    const unknown = await ends(1, runCli(['import', '--company', 'other', '--data-dir', directory, file]))
    assert.match(unknown.stderr, /^evidence-registry import: The company other does not exist[^\n]*\n$/)
    const server = new ServerProcess(directory)
    t.after(() => server.stop())
    await server.ready()
    const locked = await ends(1, run(file))
    assert.match(locked.stderr, /^evidence-registry import: [^\n]*(in use|another process)[^\n]*\n$/)
    await server.stop()
    assert.equal((await run(file)).code, 0)
  })
})
