import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFor } from '../support/temporary.ts'

/** The top of the repository. The tests run from `dist/test/`, and the program from `dist/bench/`. */
const root = join(dirname(fileURLToPath(import.meta.url)), '../../..')

describe('the server of a benchmark', () => {
  it('that a signal ends while it starts is an error', async (t) => {
    const directory = await temporaryFor(t)
    const module = join(directory, 'killed.mjs')
    await writeFile(module, "process.kill(process.pid, 'SIGKILL')\n")
    const program = `
      import { startServer } from ${JSON.stringify(join(root, 'dist/bench/run/child.js'))}
      await startServer(${JSON.stringify({ directory, module })})`
    const args = ['--input-type=module', '--eval', program]
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })
    assert.equal(status, 1)
    assert.match(stderr, /the child ended with SIGKILL/)
  })
})
