import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Bundle } from '../../../core/index.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { ofSuite } from '../../support/of-suite.ts'

/** `--import` of a program that writes the URL of each module that Node loads to a file. */
function recordModules(file: string): string {
  const moduleOf = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`
  const hooks = `import { appendFileSync } from 'node:fs'
    export async function load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + '\\n')
      return next(url, context)
    }`
  const program = `import { register } from 'node:module'\nregister(${JSON.stringify(moduleOf(hooks))})`
  return `--import ${moduleOf(program)}`
}

describe('evidence-registry verify', () => {
  const directory = temporaryOfSuite()
  let bundle: Bundle
  const path = (name: string): string => join(directory, name)
  const save = (name: string, value: unknown): Promise<void> =>
    writeFile(path(name), typeof value === 'string' ? value : JSON.stringify(value))
  const registry = ofSuite(() => openBundleRegistry({ directory, anchor: 'evm' }))
  before(async () => {
    await registry().evidence({ owner: 'Ada\u202e', files: [await registry().stage('an original', 'a.txt')] })
    await registry().settle()
    bundle = await registry().history()
    await save('e-1.evidence.json', bundle)
  })

  it('loads nothing but the verifier, and the token checks only for a bundle with tokens', async () => {
    const loadedBy = async (name: string): Promise<readonly string[]> => {
      const modules = path(`${name}.modules`)
      await ends(3, runCli(['verify', path(name)], { NODE_OPTIONS: recordModules(modules) }))
      return (await readFile(modules, 'utf8')).trim().split('\n')
    }
    const without = { ...bundle, checkpoints: bundle.checkpoints.map((each) => ({ ...each, tokens: [] })) }
    await save('without.evidence.json', without)
    const few = await loadedBy('without.evidence.json')
    const ownOrBuiltIn =
      /^node:|\/@noble\/|\/core\/(?:verify|commitment|log|platform)\/|\/core\/(?:bytes|errors|rules)\.[jt]s$/
    const command =
      /\/server\/(?:cli|file-digest|verdict-advice|commands\/(?:dispatch|flags|terminal|verify[\w-]*))\.[jt]s$/
    const unexpected = few.filter((url) => !ownOrBuiltIn.test(url) && !command.test(url))
    assert.deepEqual(unexpected, [])
    const isParser = (url: string): boolean => url.includes('/pkijs/')
    assert.deepEqual([few.some(isParser), (await loadedBy('e-1.evidence.json')).some(isParser)], [false, true])
  })
})
