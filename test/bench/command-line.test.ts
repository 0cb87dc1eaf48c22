import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { programArgs, root } from '../support/repository.ts'

const MAX_COLUMNS = 100

function runBench(...args: readonly string[]) {
  // From another folder, so that no path depends on the working directory.
  const { status, stdout, stderr } = spawnSync(process.execPath, [...programArgs('bench/main.ts'), ...args], {
    encoding: 'utf8',
    cwd: '/',
  })
  return { status, stdout, errorLines: stderr.split('\n').filter((line) => line !== '') }
}

const tooWide = (text: string): readonly string[] => text.split('\n').filter((line) => line.length > MAX_COLUMNS)

/** The names and times of the recorded results. */
function listResults(): readonly string[] {
  const folder = join(root, 'bench/results')
  return readdirSync(folder).map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`)
}

describe('npm run bench', () => {
  it('explains its options', () => {
    const { status, stdout } = runBench('--help')
    assert.equal(status, 0)
    for (const option of ['--all', '--only', '--list', '--quick', '--no-save', '--against', '--rounds', '--evidences'])
      assert.match(stdout, new RegExp(`^ +${option}\\b`, 'm'))
    assert.deepEqual(tooWide(stdout), [])
  })

  it('lists a benchmark for every recorded result', () => {
    const { status, stdout } = runBench('--list')
    assert.equal(status, 0)
    assert.deepEqual(tooWide(stdout), [])
    const recorded = readdirSync(join(root, 'bench/results')).filter((name) => name.endsWith('.json'))
    assert.ok(recorded.length > 0)
    for (const name of recorded) assert.match(stdout, new RegExp(`^${name.replace('.json', '')} `, 'm'))
  })

  it('rejects an unknown benchmark with one line that lists the known ones', () => {
    const { status, errorLines } = runBench('--only', 'sealing,fast')
    assert.equal(status, 2)
    assert.equal(errorLines.length, 1)
    assert.match(errorLines[0] ?? '', /^Unknown benchmark: fast\. Known benchmarks: throughput, .*servers\.$/)
  })

  const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['--fast'], /Unknown option '--fast'.*--help/],
    [['engine'], /Unexpected argument 'engine'.*--help/],
    [['--only'], /--only.*--help/],
    [['--all', '--only', 'http'], /not both/],
    [['--against', '/', '--rounds', '0'], /--rounds must be a whole number from 1, got 0/],
    [['--against', '/', '--evidences', '10'], /--evidences must be a whole number from 1000, got 10/],
    [['--against', '/', '--only', 'sealing'], /Unknown benchmark: sealing\. Known benchmarks: http, ingest, engine\./],
    [['--against', '/nowhere'], /\/nowhere has no build: run/],
  ]
  for (const [args, message] of wrong)
    it(`rejects ${args.join(' ')} with one line`, () => {
      const { status, errorLines } = runBench(...args)
      assert.equal(status, 2)
      assert.equal(errorLines.length, 1)
      assert.match(errorLines[0] ?? '', message)
    })

  it('measures sealing, and with --quick says that the figures mean nothing and saves nothing', () => {
    const before = listResults()
    const { status, stdout } = runBench('--quick')
    assert.equal(status, 0)
    assert.match(stdout, /figures mean nothing/)
    assert.match(stdout, /^this library: sealing, LevelDB to signed checkpoint +16,384 /m)
    assert.match(stdout.replaceAll('\n', ' '), /Sealing, .* events per second: .* merkletreejs \(.* cores, Node .*\)\./)
    assert.deepEqual(tooWide(stdout), [])
    assert.deepEqual(listResults(), before)
  })
})

describe('the recorded results', () => {
  const names = readdirSync(join(root, 'bench/results')).filter((name) => name.endsWith('.json'))
  for (const name of names)
    it(`name the machine in ${name}`, () => {
      const { bench, machine, rows } = JSON.parse(readFileSync(join(root, 'bench/results', name), 'utf8')) as {
        readonly bench: string
        readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string }
        readonly rows: readonly object[]
      }
      assert.equal(`${bench}.json`, name)
      assert.ok(machine.cpu.length > 0 && machine.cores > 0 && machine.node.length > 0)
      assert.ok(rows.length > 0)
    })
})
