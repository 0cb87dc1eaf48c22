import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { OPERATOR, type Logger } from '../../../core/index.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { runCli } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

const scope = { companyId: 'acme', principal: OPERATOR }
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const COUNT = 4_000

const openRegistryIn = async (directory: string) =>
  (await openConfiguredRegistry(loadConfig({ args: ['--data-dir', directory], env: {} }), silent)).registry

interface Fixture {
  readonly directory: string
  readonly file: string
  /** Runs the command with the data directory. */
  readonly run: (...args: readonly string[]) => ReturnType<typeof runCli>
}

/** A data directory with the company `acme`, and a file beside it. */
async function fixtureFor(t: TestContext, content = linesOf(COUNT)): Promise<Fixture> {
  const folder = await temporaryFor(t)
  const directory = join(folder, 'data')
  const registry = await openRegistryIn(directory)
  await registry.sourceSystems.create(scope, { name: 'warehouse' })
  await registry.close()
  const file = join(folder, 'evidences.ndjson')
  await writeFile(file, content)
  return {
    directory,
    file,
    run: (...args) => runCli(['import', '--company', 'acme', '--data-dir', directory, ...args]),
  }
}

const lineOf = (number: number): string =>
  JSON.stringify({ externalId: `e-${number}`, name: 'Drill', categoryName: 'Tools', subcategoryName: 'Drills' })

const linesOf = (count: number): string => Array.from({ length: count }, (_, i) => `${lineOf(i)}\n`).join('')

async function assertHolds(directory: string, count: number): Promise<void> {
  const registry = await openRegistryIn(directory)
  const ids = new Set<string>()
  let evidences = 0
  for await (const { externalId } of registry.evidences.all(scope)) {
    ids.add(externalId)
    evidences += 1
  }
  await registry.close()
  assert.deepEqual([evidences, ids.size], [count, count])
}

describe('evidence-registry import', () => {
  it('creates the evidences of a file, and nothing when it runs again', async (t) => {
    const { directory, file, run } = await fixtureFor(t)
    const dryRun = await run('--check', file)
    assert.equal(dryRun.code, 0, dryRun.stderr)
    assert.match(dryRun.stdout, /^4000 evidences can be created, 0 present before, 0 lines refused$/m)
    const first = await run(file)
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stdout, /^4000 evidences created, 0 present before, 0 lines refused$/m)
    const second = await run(file)
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stdout, /^0 evidences created, 4000 present before, 0 lines refused$/m)
    await assertHolds(directory, COUNT)
  })

  it('prints line, code and message of each refused line, and ends with 1', async (t) => {
    const lines = [lineOf(1), 'no JSON', lineOf(2), `{"externalId":"e-3","na\\u001bme":"x"}`, lineOf(4)]
    const { directory, file, run } = await fixtureFor(t, lines.join('\n'))
    const { code, stdout } = await run(file)
    assert.equal(code, 1)
    assert.match(stdout, /^2 VALIDATION_ERROR The text is not JSON$/m)
    assert.match(stdout, /^4 VALIDATION_ERROR "na\\u001bme" is not a known field$/m)
    assert.match(stdout, /^3 evidences created, 0 present before, 2 lines refused$/m)
    await assertHolds(directory, 3)
  })

  it('stops in one line at a file that it cannot use', async (t) => {
    const { file, run } = await fixtureFor(t, Buffer.alloc(3 * 1024 * 1024).toString('latin1'))
    const binary = await run(file)
    assert.equal(binary.code, 1)
    assert.match(binary.stderr, /^evidence-registry import: Line 1 has more than 1 MiB: [^\n]*\n$/)
    const missing = await run(`${file}.missing`)
    assert.equal(missing.code, 2)
    assert.match(
      missing.stderr,
      /: The file \S+\.missing cannot be read: it does not exist: correct the path \(ENOENT\)\n$/,
    )
    const folder = await run(join(file, '..'))
    assert.equal(folder.code, 2)
    assert.match(folder.stderr, /is a folder/)
  })

  it('explains its arguments', async () => {
    for (const args of [['--company', 'acme'], ['a.ndjson'], ['--company', 'acme', 'a', 'b'], ['--nothing', 'a']]) {
      const { code, stderr } = await runCli(['import', ...args])
      assert.equal(code, 2, args.join(' '))
      assert.match(stderr, /--help/)
    }
    const { code, stdout } = await runCli(['import', '--help'])
    assert.equal(code, 0)
    assert.match(stdout, /^Usage: evidence-registry import --company ID /)
    assert.match(stdout, /^Exit codes: 0 every line is in the registry; 1 lines were refused, or the import stopped; /m)
  })
})
