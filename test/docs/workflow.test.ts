import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'

const text = readFileSync('.github/workflows/release.yml', 'utf8')

describe('the workflow of a release', () => {
  it('runs only actions that a commit names, and files that exist', () => {
    const uses = text.match(/uses: .*/g) ?? []
    assert.ok(uses.length > 8)
    for (const each of uses) assert.match(each, /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    for (const [path] of text.matchAll(/\.ci\/[\w.]+|server\/\w+/g)) assert.ok(existsSync(path), path)
  })

  it('makes everything in a job that can publish nothing', () => {
    const { permissions, jobs } = parse(text)
    const { build, ...others } = jobs
    assert.deepEqual([permissions, build.permissions], [{ contents: 'read' }, undefined])
    assert.ok(!JSON.stringify(build).includes('secrets.'))
    for (const [name, job] of Object.entries<Record<string, unknown>>(others))
      assert.deepEqual([[job['needs']].flat()[0], job['environment']], ['build', 'release'], name)
  })
})
