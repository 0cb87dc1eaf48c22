import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}
interface Job {
  readonly needs?: string | readonly string[]
  readonly permissions?: Readonly<Record<string, string>>
  readonly environment?: string
}

const text = readFileSync('.github/workflows/release.yml', 'utf8')
const { permissions, jobs }: Workflow = parse(text)

describe('the workflow of a release', () => {
  it('runs only actions that a commit names, and files that exist', () => {
    const uses = text.match(/uses: .*/g) ?? []
    assert.ok(uses.length > 8)
    for (const each of uses) assert.match(each, /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    for (const [path] of text.matchAll(/\.ci\/[\w.]+|server\/\w+/g)) assert.ok(existsSync(path), path)
  })

  it('makes everything in a job that can publish nothing', () => {
    assert.deepEqual([permissions, jobs['build']?.permissions], [{ contents: 'read' }, undefined])
    assert.ok(!JSON.stringify(jobs['build']).includes('secrets.'))
    for (const [name, { needs = [], environment }] of Object.entries(jobs))
      assert.ok(name === 'build' || ([needs].flat().includes('build') && environment === 'release'), name)
  })
})
