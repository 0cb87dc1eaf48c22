import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
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
    [['--only', 'sealing,fast'], /^Unknown benchmark: fast\. Known benchmarks: throughput, /],
    [['--fast'], /Unknown option '--fast'.*--help/],
    [['--against', '/', '--only', 'growth'], /Unknown benchmark: growth\. Known benchmarks: http, ingest, sealing\./],
    [['--only', 'growth', '--evidences', '10'], /--evidences must be a whole number from 1000, got 10\./],
    [['--against', '/nowhere'], /\/nowhere has no build: run/],
  ]
  for (const [args, message] of wrong)
    it(`rejects ${args.join(' ')} with one line`, () => {
      const { status, errorLines } = runBench(args)
      assert.deepEqual([status, errorLines.length], [2, 1])
      assert.match(errorLines[0] ?? '', message)
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
