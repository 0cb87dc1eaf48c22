import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCli, ends } from '../../support/server-process.ts'
import { assertHolds, importFixture, lineOf, linesOf } from '../../support/import-fixture.ts'

const COUNT = 300

describe('evidence-registry import', () => {
  it('creates the evidences of a file, and nothing when it runs again', async (t) => {
    const { directory, file, run } = await importFixture(t, linesOf(COUNT))
    const dryRun = await ends(0, run('--check', file))
    assert.match(dryRun.stdout, /^300 evidences can be created, 0 present before, 0 lines refused$/m)
    const first = await ends(0, run(file))
    assert.match(first.stdout, /^300 evidences created, 0 present before, 0 lines refused$/m)
    const second = await ends(0, run(file))
    assert.match(second.stdout, /^0 evidences created, 300 present before, 0 lines refused$/m)
    await assertHolds(directory, COUNT)
  })

  it('prints line, code and message of each refused line, and ends with 1', async (t) => {
    const lines = [lineOf(1), 'no JSON', lineOf(2), `{"externalId":"e-3","na\\u001bme":"x"}`, lineOf(4)]
    const { directory, file, run } = await importFixture(t, lines.join('\n'))
    const { stdout } = await ends(1, run(file))
    assert.match(stdout, /^2 VALIDATION_ERROR The text is not JSON$/m)
    assert.match(stdout, /^4 VALIDATION_ERROR "na\\u001bme" is not a known field$/m)
    assert.match(stdout, /^3 evidences created, 0 present before, 2 lines refused$/m)
    await assertHolds(directory, 3)
  })

  it('stops in one line at a file that it cannot use', async (t) => {
    const { file, run } = await importFixture(t, Buffer.alloc(3 * 1024 * 1024).toString('latin1'))
    const binary = await ends(1, run(file))
    assert.match(binary.stderr, /^evidence-registry import: Line 1 has more than 1 MiB: [^\n]*\n$/)
    const missing = await ends(2, run(`${file}.missing`))
    assert.match(
      missing.stderr,
      /: The file \S+\.missing cannot be read: it does not exist: correct the path \(ENOENT\)\n$/,
    )
    const folder = await ends(2, run(join(file, '..')))
    assert.match(folder.stderr, /is a folder/)
  })

  it('explains its exit codes, and needs a company and one file', async () => {
    for (const args of [['a.ndjson'], ['--company', 'acme', 'a', 'b']])
      assert.equal((await runCli(['import', ...args])).code, 2, args.join(' '))
    const { stdout } = await runCli(['import', '--help'])
    assert.match(stdout, /^Exit codes: 0 every line is in the registry; 1 lines were refused, or the import stopped; /m)
  })
})

describe('evidence-registry import of a CSV file', () => {
  const rows = [
    'External ID;Name;Category;Subcategory;meta.Serial',
    'b-1;"Bike; blue";Tools;Drills;NL7',
    '',
    'b-2;;Tools;Drills;',
  ]

  it('creates the evidences of its rows, and prints the numbers of those that are refused', async (t) => {
    const { directory, file, run } = await importFixture(t, rows.join('\r\n'), 'inventory.csv')
    const { stdout } = await ends(1, run(file))
    assert.match(stdout, /^4 VALIDATION_ERROR name is required/m)
    assert.match(stdout, /^1 evidences created, 0 present before, 1 lines refused$/m)
    await assertHolds(directory, 1)
  })

  it('stops before it creates anything if a column is not a field', async (t) => {
    const { directory, file, run } = await importFixture(t, 'externalId,name,Remarks\n1,a,b\n', 'inventory.csv')
    assert.match((await ends(2, run(file))).stderr, /The column "Remarks" is not externalId, /)
    await assertHolds(directory, 0)
  })
})
