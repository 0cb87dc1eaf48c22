import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseCommand } from '../../bench/run/options.ts'
import { root } from '../support/repository.ts'
import { runBench } from './run-bench.ts'

const resultFiles = (): readonly string[] => readdirSync(join(root, 'bench/results'))

describe('npm run bench', () => {
  it('lists a benchmark for every recorded result', () => {
    const { status, stdout } = runBench(['--list'])
    assert.equal(status, 0)
    for (const name of resultFiles()) assert.match(stdout, new RegExp(`^${name.replace(/\.\w+$/, '')}: `, 'm'))
  })

  const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['--only', 'sealing,fast'], /^Unknown benchmark: fast\. Known benchmarks: sealing, growth\./],
    [['--fast'], /Unknown option '--fast'.*--help/],
    [['--against', '/', '--only', 'growth'], /Unknown benchmark: growth\. Known benchmarks: http\./],
    [['--only', 'growth', '--evidences', '10'], /--evidences must be a whole number from 1000, got 10\./],
  ]
  for (const [args, expected] of wrong)
    it(`says in one line what is wrong with ${args.join(' ')}`, () => {
      const known = { cases: ['sealing', 'growth'], standard: 'sealing', comparisons: ['http'] }
      const command = parseCommand(args, known)
      assert.ok(command.kind === 'error' && !command.message.includes('\n'))
      assert.match(command.message, expected)
    })

  it('ends with 2 and one line if it cannot begin', () => {
    const { status, errorLines } = runBench(['--against', '/nowhere'])
    assert.deepEqual([status, errorLines.length], [2, 1])
    assert.match(errorLines[0] ?? '', /\/nowhere has no build: run/)
  })

  it('measures sealing, and with --quick says that the figures mean nothing and saves nothing', () => {
    const times = (): readonly number[] =>
      resultFiles().map((name) => statSync(join(root, 'bench/results', name)).mtimeMs)
    const before = times()
    const { status, stdout } = runBench(['--quick'])
    assert.equal(status, 0)
    assert.match(stdout, /figures mean nothing/)
    assert.match(stdout, /this library: sealing, LevelDB to signed checkpoint/)
    assert.match(stdout, /Sealing, .* events per second: .* merkletreejs \(.* cores, Node .*\)\./)
    assert.deepEqual(times(), before)
  })
})
