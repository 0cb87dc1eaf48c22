import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFor } from '../support/temporary.ts'
import { moduleUrl, nodeFlags } from '../support/repository.ts'

describe('the server of a benchmark', () => {
  it('that a signal ends while it starts is an error', async (t) => {
    const directory = await temporaryFor(t)
    const module = join(directory, 'killed.mjs')
    await writeFile(module, "process.kill(process.pid, 'SIGKILL')\n")
    const program = `
      import { startServer } from ${JSON.stringify(moduleUrl('bench/run/child.ts').href)}
      await startServer(${JSON.stringify({ directory, module })})`
    const args = [...nodeFlags, '--input-type=module', '--eval', program]
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })
    assert.equal(status, 1)
    assert.match(stderr, /the child ended with SIGKILL/)
  })
})
