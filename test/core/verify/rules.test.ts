import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { VERIFICATION_RULES } from '../../../core/verify/index.ts'

describe('the rules of verification', () => {
  it('each have a line in the README, in the order of the code', () => {
    const page = readFileSync('core/verify/README.md', 'utf8')
    const documented = Array.from(page.matchAll(/^\| `([a-z]+\.[a-z-]+)` \|/gm), ([, rule]) => rule)
    assert.deepEqual(documented, [...VERIFICATION_RULES])
  })

  it('are each used', () => {
    const code = ['core', 'adapters', 'server/commands']
      .flatMap((folder) =>
        readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
      )
      .filter((path) => path.endsWith('.ts') && path !== 'core/rules.ts')
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n')
    const missing = VERIFICATION_RULES.filter((rule) => !code.includes(`'${rule}'`))
    assert.deepEqual(missing, [])
  })
})
