import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { before, describe, it } from 'node:test'
import type { Bundle } from '../../../core/index.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { programArgs } from '../../support/repository.ts'
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
      /\/server\/(?:cli|client\/network-reason|file-digest|verdict-advice|startup\/ml-dsa|commands\/(?:dispatch|flags|terminal|verify[\w-]*))\.[jt]s$/
    const unexpected = few.filter((url) => !ownOrBuiltIn.test(url) && !command.test(url))
    assert.deepEqual(unexpected, [])
    const isParser = (url: string): boolean => url.includes('/pkijs/')
    assert.deepEqual([few.some(isParser), (await loadedBy('e-1.evidence.json')).some(isParser)], [false, true])
  })
  it('is one file, too, which needs nothing beside it and ends with the same code and text', async () => {
    const { proofs, log } = registry().registry
    await save('policy.json', await log.policy())
    await save(
      'forged.json',
      JSON.stringify(bundle)
        .replace('"salt":"', '"salt":"00')
        .replace(/00([0-9a-f]{62})../, '00$1'),
    )
    let exported = ''
    for await (const part of proofs.exportCompany(registry().scope)) exported += part
    await save('company.ndjson', exported)
    await save('original', 'an original')
    await mkdir(path('stranger'))
    await copyFile('dist/verify.mjs', path('stranger/verify.mjs'))
    const [pinned, evidence] = [['--policy', path('policy.json')], path('e-1.evidence.json')]
    for (const [code, args] of [
      [0, [evidence, ...pinned, '--file', path('original')]],
      [0, [evidence, ...pinned, '--json']],
      [0, ['--export', path('company.ndjson'), ...pinned]],
      [1, [path('forged.json'), ...pinned]],
      [2, [path('policy.json'), ...pinned]],
      [3, [evidence]],
      [0, ['--help']],
    ] as const) {
      const command = await ends(code, runCli(['verify', ...args]))
      const options = { cwd: path('stranger'), encoding: 'utf8' } as const
      const { status, stdout, stderr } = spawnSync(process.execPath, ['verify.mjs', ...args], options)
      assert.deepEqual({ code: status, stdout, stderr }, command)
    }
  })
  it('never ends with 1 because the output cannot be written', async () => {
    await save('policy.json', await registry().registry.log.policy())
    const proven = [path('e-1.evidence.json'), '--policy', path('policy.json')]
    const cli = programArgs('server/cli.ts')
    const run = (args: readonly string[], stdout: 'pipe' | number): ChildProcess =>
      spawn(process.execPath, args, { stdio: ['ignore', stdout, 'pipe'] })
    const outcomeOf = async (child: ChildProcess): Promise<readonly unknown[]> => {
      const stderr = child.stderr && textOf(child.stderr)
      const [code] = (await once(child, 'close')) as readonly unknown[]
      return [code, await stderr]
    }
    const unread = run([...cli, 'verify', ...proven], 'pipe')
    unread.stdout?.destroy()
    assert.deepEqual(await outcomeOf(unread), [0, ''])
    if (process.platform !== 'linux') return
    const full = await open('/dev/full', 'w')
    const why = 'evidence-registry: cannot write the output: ENOSPC: no space left on device, write\n'
    const programs = [
      [...cli, 'help'],
      ['dist/verify.mjs', ...proven],
    ]
    for (const args of programs) assert.deepEqual(await outcomeOf(run(args, full.fd)), [2, why])
    await full.close()
  })
})
