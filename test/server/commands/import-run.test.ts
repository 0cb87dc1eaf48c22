import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Evidence } from '../../../core/index.ts'
import { importLines, type ImportCounts } from '../../../server/commands/import-run.ts'
import { inCategory, it, type Fixture } from '../../support/registry-fixture.ts'
import { settle } from '../../support/manual-clock.ts'
import { arrayOf } from '../../support/array-of.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

interface Outcome extends ImportCounts {
  /** `LINE CODE` of each refused line. */
  readonly lines: readonly string[]
}

async function runImport(fixture: Fixture, lines: readonly (object | string)[], isDryRun = false): Promise<Outcome> {
  const { registry, scope } = fixture
  const refused: string[] = []
  const content = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  const counts = await importLines(chunksOf(content), {
    registry,
    scope,
    isDryRun,
    onRefused: (number, { code }) => refused.push(`${number} ${code}`),
  })
  assert.equal(counts.refused, refused.length)
  return { ...counts, lines: refused }
}

async function* chunksOf(content: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(content)
  for (let at = 0; at < bytes.length; at += 4_096) yield bytes.subarray(at, at + 4_096)
}

/** A line in the category Tools/Drills. */
const lineOf = (externalId: string, more: object = {}) => ({
  externalId,
  name: `Name of ${externalId}`,
  categoryName: 'Tools',
  subcategoryName: 'Drills',
  ...more,
})

const linesOf = (count: number, more?: object): readonly object[] =>
  Array.from({ length: count }, (_, i) => lineOf(`e-${i}`, more))

const allEvidences = async ({ registry, scope }: Fixture): Promise<readonly string[]> =>
  (await arrayOf(registry.evidences.all(scope))).map(({ externalId }) => externalId)

const evidence = async ({ registry, scope }: Fixture, externalId: string): Promise<Evidence> =>
  (await registry.evidences.get(scope, externalId)).evidence

describe('an import', () => {
  it('creates one evidence per line, with all values', async (fixture) => {
    const values = { owner: 'Ada', description: 'two\nlines', summary: 's', meta: { b: 1, a: ['x'] } }
    const { created, present, refused } = await runImport(fixture, [lineOf('a', values), '', lineOf('b')])
    assert.deepEqual({ created, present, refused }, { created: 2, present: 0, refused: 0 })
    const { owner, description, summary, meta, name } = await evidence(fixture, 'a')
    assert.deepEqual({ owner, description, summary, meta }, values)
    assert.equal(name, 'Name of a')
    assert.equal((await evidence(fixture, 'b')).owner, undefined)
  })

  it('creates many evidences of several categories, and the categories that do not exist', async (fixture) => {
    await fixture.registry.evidences.create(fixture.scope, {
      ...inCategory('Tools', 'Saws'),
      externalId: 'before',
      name: 'b',
    })
    const lines = Array.from({ length: 2_500 }, (_, i) => lineOf(`e-${i}`, { subcategoryName: `Sub ${i % 2}` }))
    const { created } = await runImport(fixture, lines)
    assert.equal(created, 2_500)
    assert.equal((await allEvidences(fixture)).length, 2_501)
    const [category, ...others] = await fixture.registry.categories.list(fixture.scope)
    assert.deepEqual(others, [])
    const counts = category?.subcategories.map(({ name, evidenceCount }) => [name, evidenceCount]).toSorted()
    assert.deepEqual(counts, [
      ['Saws', 1],
      ['Sub 0', 1_250],
      ['Sub 1', 1_250],
    ])
  })

  it('accepts categories by id, and an id with its name', async (fixture) => {
    await runImport(fixture, [lineOf('a')])
    const { categoryId, subcategoryId } = await evidence(fixture, 'a')
    const ids = { categoryId, subcategoryId, categoryName: undefined, subcategoryName: undefined }
    const { created } = await runImport(fixture, [
      lineOf('b', ids),
      lineOf('c', { ...ids, categoryName: 'Tools' }),
      lineOf('d', { ...ids, categoryId: undefined, categoryName: 'Tools' }),
    ])
    assert.equal(created, 3)
    for (const externalId of ['b', 'c', 'd'])
      assert.equal((await evidence(fixture, externalId)).subcategoryId, subcategoryId)
  })

  it('reports each refused line with its number and code, and creates the others', async (fixture) => {
    await runImport(fixture, [lineOf('taken')])
    const { categoryId } = await evidence(fixture, 'taken')
    const unknownId = '00000000-0000-7000-8000-000000000000'
    const lines = [
      lineOf('a'),
      'no JSON',
      lineOf('b', { name: '' }),
      lineOf('taken', { owner: 'Eve' }),
      lineOf('c'),
      lineOf('d', { categoryName: undefined, categoryId: unknownId }),
      lineOf('e', { categoryId, categoryName: 'Weapons' }),
      lineOf('f', { subcategoryId: unknownId }),
      lineOf('g'),
    ]
    const outcome = await runImport(fixture, lines)
    assert.deepEqual(outcome.lines.toSorted(), [
      '2 VALIDATION_ERROR',
      '3 VALIDATION_ERROR',
      '4 EXTERNAL_ID_EXISTS',
      '6 CATEGORY_NOT_FOUND',
      '7 CATEGORY_MISMATCH',
      '8 SUBCATEGORY_NOT_FOUND',
    ])
    assert.equal(outcome.created, 3)
    assert.deepEqual((await allEvidences(fixture)).toSorted(), ['a', 'c', 'g', 'taken'])
  })

  it('refuses lines of an inactive category', async (fixture) => {
    await runImport(fixture, [lineOf('a')])
    const { categoryId } = await evidence(fixture, 'a')
    await fixture.registry.categories.update(fixture.scope, { categoryId }, { status: 'inactive' })
    for (const isDryRun of [true, false])
      assert.deepEqual((await runImport(fixture, [lineOf('b'), lineOf('c')], isDryRun)).lines, [
        '1 CATEGORY_INACTIVE',
        '2 CATEGORY_INACTIVE',
      ])
  })

  it('compares names of categories as the registry does, also in a dry run', async (fixture) => {
    const [composed, decomposed] = ['Caf\u00e9', ' Cafe\u0301 ']
    const lines = [composed, decomposed, composed].map((name, i) =>
      lineOf(i === 0 ? 'a' : 'b', { categoryName: name, subcategoryName: name }),
    )
    const expected = { created: 2, present: 1, refused: 0, lines: [] }
    for (const isDryRun of [true, false]) assert.deepEqual(await runImport(fixture, lines, isDryRun), expected)
    for (const isDryRun of [true, false])
      assert.deepEqual(await runImport(fixture, lines, isDryRun), { ...expected, created: 0, present: 3 })
    const { categoryId } = await evidence(fixture, 'a')
    await fixture.registry.categories.update(fixture.scope, { categoryId }, { status: 'inactive' })
    const line = lineOf('c', { categoryName: decomposed })
    for (const isDryRun of [true, false])
      assert.deepEqual((await runImport(fixture, [line], isDryRun)).lines, ['1 CATEGORY_INACTIVE'])
  })

  it('creates nothing twice if it runs again, also after evidences were changed', async (fixture) => {
    const lines = linesOf(1_200, { owner: 'Ada', meta: { a: 1 } })
    await runImport(fixture, lines)
    await fixture.registry.evidences.update(fixture.scope, 'e-7', { owner: 'Grace', name: 'Other' })
    const size = await fixture.stores.records.logSize()
    const outcome = await runImport(fixture, [...lines, lineOf('new')])
    assert.deepEqual(outcome, { created: 1, present: 1_200, refused: 0, lines: [] })
    assert.equal((await allEvidences(fixture)).length, 1_201)
    assert.equal(await fixture.stores.records.logSize(), size + 1)
  })

  it('refuses a line whose external id is in use for an evidence with any other value', async (fixture) => {
    const values = { owner: 'Ada', description: 'd', summary: 's', meta: { a: 1 } }
    await runImport(fixture, [lineOf('a', values), lineOf('in another', { subcategoryName: 'Saws' })])
    const others = [
      { name: 'Other' },
      { owner: 'Grace' },
      { owner: '' },
      { description: undefined },
      { summary: 'S' },
      { meta: { a: 2 } },
      { meta: undefined },
      { subcategoryName: 'Saws' },
      { subcategoryName: 'New' },
    ]
    for (const other of others) {
      const { lines, created } = await runImport(fixture, [lineOf('a', { ...values, ...other })])
      assert.deepEqual({ lines, created }, { lines: ['1 EXTERNAL_ID_EXISTS'], created: 0 }, JSON.stringify(other))
    }
    assert.equal((await runImport(fixture, [lineOf('a', values)])).present, 1)
  })

  it('finds the category of a subcategory that a line gives by its id alone', async (fixture) => {
    await runImport(fixture, [lineOf('first'), lineOf('other', { categoryName: 'Vehicles', subcategoryName: 'Cars' })])
    const { subcategoryId } = await evidence(fixture, 'other')
    const line = lineOf('a', { categoryName: undefined, subcategoryName: undefined, subcategoryId })
    assert.deepEqual((await runImport(fixture, [line])).lines, [])
    assert.equal((await runImport(fixture, [line])).present, 1)
    assert.equal((await evidence(fixture, 'a')).categoryId, (await evidence(fixture, 'other')).categoryId)
  })

  it('creates the first of several lines with one external id', async (fixture) => {
    const lines = [
      lineOf('first'),
      lineOf('a', { owner: 'Ada' }),
      lineOf('b'),
      lineOf('a', { owner: 'Ada' }),
      lineOf('a', { owner: 'Grace' }),
      lineOf('a', { owner: 'Grace', subcategoryName: 'Saws' }),
    ]
    const outcome = await runImport(fixture, lines)
    assert.deepEqual(outcome.lines, ['5 EXTERNAL_ID_EXISTS', '6 EXTERNAL_ID_EXISTS'])
    assert.deepEqual([outcome.created, outcome.present], [3, 1])
    assert.equal((await evidence(fixture, 'a')).owner, 'Ada')
  })

  it('writes nothing in a dry run, and says what would be refused', async (fixture) => {
    await runImport(fixture, [lineOf('taken'), lineOf('present')])
    const before = await allEvidences(fixture)
    const lines = [
      lineOf('a'),
      lineOf('present'),
      lineOf('taken', { owner: 'Eve' }),
      lineOf('b', { categoryName: 'New' }),
      lineOf('a'),
      lineOf('b', { categoryName: 'New' }),
      lineOf('c', { subcategoryId: 'none', subcategoryName: undefined }),
      '{}',
    ]
    const outcome = await runImport(fixture, lines, true)
    assert.deepEqual(outcome.lines.toSorted(), ['3 EXTERNAL_ID_EXISTS', '7 CATEGORY_NOT_FOUND', '8 VALIDATION_ERROR'])
    assert.deepEqual([outcome.created, outcome.present], [2, 3])
    assert.deepEqual(await allEvidences(fixture), before)
    assert.equal((await fixture.registry.categories.list(fixture.scope)).length, 1)
  })

  it('says in a dry run what the import says about lines with one external id', async (fixture) => {
    await runImport(fixture, [lineOf('present'), lineOf('taken')])
    const { categoryId } = await evidence(fixture, 'present')
    const byId = { categoryName: undefined, categoryId }
    const lines = [
      ...['present', 'present'].map((id) => lineOf(id)),
      ...['Eve', 'Eve'].map((owner) => lineOf('taken', { owner })),
      ...['Ada', 'Ada', 'Grace'].map((owner) => lineOf('a', { owner, meta: { b: 1, a: 2 } })),
      lineOf('a', { owner: 'Ada', meta: { a: 2, b: 1 }, ...byId }),
      lineOf('a', { owner: 'Ada', subcategoryName: 'New' }),
      lineOf('b', { categoryName: 'New' }),
      lineOf('b', { categoryName: 'New', owner: '' }),
      lineOf('b', { categoryName: 'New', subcategoryName: 'Saws' }),
      lineOf('b'),
      lineOf('c', { subcategoryName: 'New' }),
      lineOf('c', { subcategoryName: 'New', ...byId }),
    ]
    const sorted = ({ lines: refused, ...counts }: Outcome) => ({ ...counts, lines: refused.toSorted() })
    const dry = sorted(await runImport(fixture, lines, true))
    assert.deepEqual(dry, sorted(await runImport(fixture, lines)))
    assert.deepEqual([dry.created, dry.present, dry.refused], [3, 6, 6])
  })

  it('creates nothing from a file of another format, and says how to convert it', async (fixture) => {
    const object = JSON.stringify(lineOf('a'))
    const files: readonly (readonly [string, RegExp])[] = [
      [`[\n${object},\n${object}\n]`, /seems to be a JSON array\. Convert it, for example with jq/],
      [`\n{\n"externalId": "a",\n${object}`, /seems to be JSON over several lines/],
      [`externalId,name\n${object}`, /seems to be CSV/],
      [`{\0"\0}\0\n${object}`, /seems to be text in UTF-16/],
      [`evidences\n${object}`, /^The first line is not a JSON object$/],
    ]
    for (const [file, message] of files)
      await assert.rejects(runImport(fixture, file.split('\n')), { code: 'CONFIG_ERROR', message })
    assert.deepEqual(await allEvidences(fixture), [])
  })

  it('refuses a first line with a value that JSON cannot hold exactly, and creates the others', async (fixture) => {
    const line = JSON.stringify(lineOf('a', { meta: { a: 1 } }))
    for (const value of ['1e400', '-0', '12345678901234567890', '1,"a":2', String.raw`"\ud800"`])
      for (const isDryRun of [true, false]) {
        const { lines } = await runImport(fixture, [line.replace(':1}', `:${value}}`), lineOf('b')], isDryRun)
        assert.deepEqual(lines, ['1 VALIDATION_ERROR'], value)
      }
    assert.deepEqual(await allEvidences(fixture), ['b'])
  })

  it('stops at a failure that is not about a line', async (fixture) => {
    await runImport(fixture, [lineOf('a')])
    fixture.process.fail(1, 'before')
    await rejectsWith('UNAVAILABLE', runImport(fixture, linesOf(10)))
    const { created, present } = await runImport(fixture, linesOf(10))
    assert.equal(created + present, 10)
  })

  it('begins no line after such a failure', async (fixture) => {
    fixture.process.fail(1, 'before')
    await rejectsWith('UNAVAILABLE', runImport(fixture, linesOf(2_000)))
    // What has begun goes on.
    for (let before = -1; before !== fixture.process.steps; await settle()) before = fixture.process.steps
    assert.ok((await allEvidences(fixture)).length < 1_000)
  })
})
