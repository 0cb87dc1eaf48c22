import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { moduleUrl, root } from '../../support/repository.ts'

/** The module that a package entry leads to. */
const moduleOf = (entry: string): string => moduleUrl(entry === '' ? 'core/index.ts' : `${entry}/index.ts`).href

/** The code of the docstring's example, as a module that imports what the tests run. */
function exampleOf(path: string): string {
  const [, example = ''] = /\* @example\n([\s\S]*?)\n \*\//.exec(readFileSync(root + path, 'utf8')) ?? []
  return example
    .replaceAll(/^ \* ?/gm, '')
    .replaceAll(/'evidence-registry\/?([^']*)'/g, (_, entry: string) => `'${moduleOf(entry)}'`)
}

describe('the example of openRegistry', () => {
  it('runs as it is printed', async (context) => {
    const log = context.mock.method(console, 'log', () => undefined)
    const code = exampleOf('core/registry/open.ts')
    assert.match(code, /proof\.merkle\.merkleRoot/)
    await import(`data:text/javascript,${encodeURIComponent(code)}`)
    assert.match(String(log.mock.calls[0]?.arguments[0]), /^[0-9a-f]{64}$/)
  })
})
