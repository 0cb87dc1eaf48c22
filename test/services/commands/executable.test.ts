import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { root } from '../../support/repository.ts'

const { bin } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly bin: Readonly<Record<string, string>>
}

const onWindows = process.platform === 'win32' && 'Windows has no permission to execute'
it('the build makes a command that can be executed', { skip: onWindows }, () => {
  const { stdout, stderr, status } = spawnSync(root + bin['evidence-registry'], ['--version'], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^\d+\.\d+\.\d+/)
})
