import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import type { EvidenceQuery, Scope } from '../../../core/index.ts'
import { keys, foldCase, hashOfOwner } from '../../../core/store/keys.ts'
import { codePoint } from '../../support/code-point.ts'
import { checkScenario, scenario } from '../../support/evidence-model.ts'
import { createMany, numbered } from '../../support/many-evidences.ts'
import { it } from '../../support/registry-fixture.ts'
import { arrayOf } from '../../support/array-of.ts'
import { keyedHashIn } from '../../support/whole-store.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const idsOf = ({ items }: { readonly items: readonly { readonly externalId: string }[] }): string[] =>
  items.map(({ externalId }) => externalId)

describe('filtered and sorted lists', () => {
  test('return the same as a slow reference, on pages of any length and at once, after any changes and a fault', () =>
    fc.assert(
      fc.asyncProperty(scenario, (each) => checkScenario(new MemoryRecords(), each)),
      { numRuns: 40 },
    ))

  it('have an evidence once, also if several of its words begin alike', async ({ evidences, scope, evidence }) => {
    const externalId = await evidence({ name: 'Drill, driller, drilling' })
    assert.deepEqual(idsOf(await evidences.list(scope, { words: 'dri' })), [externalId])
  })

  it('reject wrong filters, and positions that belong to another list', async ({ evidences, scope, evidence }) => {
    for (const externalId of ['a1', 'a2', 'b1']) await evidence({ externalId, owner: 'Ada' })
    const wrong: readonly object[] = [
      { externalIdPrefix: '' },
      { externalIdPrefix: 'a\n' },
      { externalIdPrefix: '\ud800' },
      { externalIdPrefix: 'x'.repeat(129) },
      { words: '' },
      { words: '-' },
      { words: 'x'.repeat(257) },
      { owner: '' },
      { owner: 7 },
      { status: 'lost' },
      { sort: 'created' },
      { createdFrom: '2026-01-01T00:00:00Z' },
      { createdTo: new Date(Number.NaN) },
      { owner: 'Ada', after: 'x' },
      { sort: 'updated', limit: 0 },
      { cursor: 'x' },
      { owner: 'Ada', cursor: '' },
      { owner: 'Ada', cursor: 'x' },
      { owner: 'Ada', cursor: Buffer.from('[]').toString('base64url') },
    ]
    for (const query of wrong) await rejectsWith('VALIDATION_ERROR', evidences.list(scope, query))
    const { next = '', items } = await evidences.list(scope, { owner: 'Ada', limit: 1 })
    assert.ok(next !== '')
    const others: readonly EvidenceQuery[] = [
      { owner: 'Bob', cursor: next },
      { owner: 'Ada', status: 'active', cursor: next },
      { owner: 'Ada', words: 'a1', cursor: next },
      { owner: 'Ada', sort: 'updated', cursor: next },
      { owner: 'Ada', categoryId: 'unknown', cursor: next },
      { owner: 'Ada', cursor: `${next}=` },
      { cursor: next },
      { owner: 'Ada', after: items[0]?.id ?? '' },
    ]
    for (const query of others) await rejectsWith('VALIDATION_ERROR', evidences.list(scope, query))
    assert.deepEqual(idsOf(await evidences.list(scope, { owner: 'ADA', limit: 5, cursor: next })), ['a2', 'a1'])
  })

  it('reject a forged position, and never show another company', async (fixture) => {
    const { evidences, sourceSystems, scope, evidence } = fixture
    const other: Scope = { ...scope, companyId: 'other' }
    await sourceSystems.create(other, { name: 'first' })
    for (const externalId of ['a1', 'a2', 'a3']) await evidence({ externalId, owner: 'Ada' })
    const { next = '' } = await evidences.list(scope, { owner: 'Ada', limit: 1 })
    const [hash, position, count, isMore] = JSON.parse(Buffer.from(next, 'base64url').toString()) as unknown[]
    const forge = (...parts: readonly unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url')
    for (const cursor of [
      forge(hash, `00000000000001/${String(position)}`, count, isMore),
      forge(hash, '../../co', count, isMore),
      forge(hash, position, -1, isMore),
      forge(hash, position, count),
      forge(hash, position, count, isMore, 1),
    ])
      await rejectsWith('VALIDATION_ERROR', evidences.list(scope, { owner: 'Ada', cursor }))
    assert.deepEqual(idsOf(await evidences.list(other, { owner: 'Ada' })), [])
    await rejectsWith('VALIDATION_ERROR', evidences.list(other, { owner: 'Ada', cursor: next }))
  })

  it('report an index entry without its evidence, or of an evidence with another value, as damage', async (fixture) => {
    const {
      evidences,
      scope,
      evidence,
      stores: { records },
    } = fixture
    await evidence({ externalId: 'a1', owner: 'Ada' })
    const [{ id, subcategoryId } = { id: '', subcategoryId: '' }] = (await evidences.list(scope)).items
    const missing = id.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
    const company = scope.companyId
    const hash = await keyedHashIn(records)
    const planted: readonly (readonly [key: string, query: EvidenceQuery, value?: string])[] = [
      [keys.ownerIndex(company, hashOfOwner(company, 'ada', hash), missing), { owner: 'Ada' }],
      [keys.ownerIndex(company, hashOfOwner(company, 'bob', hash), id), { owner: 'Bob' }],
      [keys.wordIndex(company, 'adam', missing), { words: 'ada' }],
      [keys.wordIndex(company, 'adam', id), { words: 'adam' }],
      [keys.evidenceIn(['stolen', company], missing), { status: 'stolen' }],
      [keys.evidenceIn(['stolen', company], id), { status: 'stolen' }],
      [keys.externalId(company, 'b1'), { externalIdPrefix: 'b' }, missing],
      [keys.externalId(company, 'b1'), { externalIdPrefix: 'b' }, id],
      [keys.evidenceIn(['sub', company, subcategoryId], missing), { subcategoryId, createdTo: new Date(8e15) }],
      [keys.updateIndex(company, 7, missing), { sort: 'updated' }],
      [keys.updateIndex(company, 7, id), { sort: 'updated' }],
    ]
    for (const [key, query, value = ''] of planted) {
      await records.commit({ writes: [{ key, value: Buffer.from(value) }] })
      await rejectsWith('CORRUPT', evidences.list(scope, query), key)
      await records.commit({ writes: [{ key, value: null }] })
      await evidences.list(scope, query)
    }
  })

  it('leave out an evidence that changes between the reads of its index and of its record', async (fixture) => {
    const { evidences, scope, evidence, process, clock } = fixture
    for (const externalId of ['a1', 'a2']) await evidence({ externalId, owner: 'Ada' })
    const list = process.records.list.bind(process.records)
    let changes = 0
    const change = async (externalId: string) => {
      if (changes++ > 0) return
      await evidences.update(scope, externalId, { owner: 'Bob', updateType: 'stolen' })
    }
    process.records.list = async function* (range) {
      const entries = await arrayOf(list(range))
      if (range.reverse === true) await change('a1')
      yield* entries
    }
    assert.deepEqual(idsOf(await evidences.list(scope, { owner: 'Ada' })), ['a2'])
    assert.deepEqual(idsOf(await evidences.list(scope, { owner: 'Bob' })), ['a1'])
    changes = 0
    // The time of its last event moves a1 to the front, which was read before. The counter shows that one is missing.
    await clock.advance(1)
    assert.deepEqual(idsOf(await evidences.list(scope, { sort: 'updated' })), ['a1', 'a2'])
  })

  it('include creations from createdFrom, and exclude those from createdTo', async (fixture) => {
    const { evidences, scope, evidence, clock } = fixture
    for (const externalId of ['a', 'b', 'c']) {
      await evidence({ externalId })
      await clock.advance(1_000)
    }
    const [c, b, a] = (await evidences.list(scope)).items.map(({ createdAt }) => createdAt)
    assert.ok(a && b && c)
    const between = async (query: EvidenceQuery) => idsOf(await evidences.list(scope, query))
    assert.deepEqual(await between({ createdFrom: b }), ['c', 'b'])
    assert.deepEqual(await between({ createdTo: b }), ['a'])
    assert.deepEqual(await between({ createdFrom: a, createdTo: c }), ['b', 'a'])
    assert.deepEqual(await between({ createdFrom: a, createdTo: c, sort: 'updated' }), ['b', 'a'])
    assert.deepEqual(await between({ createdFrom: c, createdTo: a }), [])
    for (const time of [-8e15, 8e15]) {
      const from = await between({ createdFrom: new Date(time) })
      assert.deepEqual(from, time < 0 ? ['c', 'b', 'a'] : [])
    }
  })

  it('stop counting at 10,000, and read at most as many entries of an index for a page', async (fixture) => {
    const { registry, scope, evidence } = fixture
    const ofAda = (name: string, count: number) => numbered(name, count, { name: 'x', owner: 'Ada' })
    const seed = { externalId: 'seed', name: 'x' }
    await createMany(registry, scope, [seed, ...ofAda('older', 10), ...ofAda('old', 1_000), ...ofAda('x', 10_000)])
    await evidence({ externalId: 'old-last', owner: 'Bob' })
    const { evidences } = registry
    const countOf = async (query: EvidenceQuery) => {
      const { count, countIsMore } = await evidences.list(scope, { limit: 1, ...query })
      return [count, countIsMore]
    }
    assert.deepEqual(await countOf({}), [11_012, false])
    assert.deepEqual(await countOf({ sort: 'updated' }), [10_000, true])
    assert.deepEqual(await countOf({ status: 'active' }), [10_000, true])
    assert.deepEqual(await countOf({ status: 'stolen' }), [0, false])
    assert.deepEqual(await countOf({ owner: 'ada' }), [10_000, true])
    assert.deepEqual(await countOf({ externalIdPrefix: 'x' }), [10_000, false])
    assert.deepEqual(await countOf({ words: 'x' }), [10_000, true])
    assert.deepEqual(await countOf({ words: 'old' }), [1_011, false])
    // An index that is not in the order of the list is read only if it has at most 10,000 matches. Otherwise the list
    // of the company is read.
    await evidence({ externalId: 'x-last' })
    assert.deepEqual(await countOf({ externalIdPrefix: 'x' }), [10_000, true])
    assert.deepEqual(await countOf({ externalIdPrefix: 'x', status: 'active' }), [9_999, true])
    // Each of two words may have half as many matches.
    assert.deepEqual(await countOf({ words: 'x old' }), [1_010, false])
    assert.deepEqual(idsOf(await evidences.list(scope, { words: 'ada x999', limit: 3 })), ['x9999', 'x9998', 'x9997'])
    const broad = await evidences.list(scope, { externalIdPrefix: 'x', limit: 3 })
    assert.deepEqual(idsOf(broad), ['x-last', 'x9999', 'x9998'])
    const nextBroad = await evidences.list(scope, { externalIdPrefix: 'x', limit: 2, cursor: broad.next ?? '' })
    assert.deepEqual([idsOf(nextBroad), nextBroad.count], [['x9997', 'x9996'], 10_000])
    // The oldest evidences are behind 10,000 others in the index of the update times.
    const query = { sort: 'updated', owner: 'ADA', externalIdPrefix: 'old' } as const
    const first = await evidences.list(scope, query)
    assert.deepEqual([idsOf(first), first.count, first.countIsMore, first.hasMore], [[], 0, true, true])
    const second = await evidences.list(scope, { ...query, limit: 1_000, cursor: first.next ?? '' })
    assert.deepEqual([second.items.length, second.hasMore], [1_000, true])
    assert.equal((await arrayOf(evidences.all(scope, query))).length, 1_010)
    const bobs = await evidences.list(scope, { sort: 'updated', owner: 'bob' })
    assert.deepEqual([idsOf(bobs), bobs.count, bobs.countIsMore], [['old-last'], 1, true])
  })
})

describe('foldCase', () => {
  test('makes texts equal that differ in case only', () => {
    for (const [a, b] of [
      ['Ada', 'aDA'],
      ['Straße', 'STRASSE'],
      ['ẞ', 'ss'],
      ['ΟΔΟΣ', 'οδος'],
      ['É', 'é'],
      ['\u212a', 'k'],
      // The same characters, composed in two ways, and with white space around them.
      ['J\u00f6rg', ' jo\u0308rg\n'],
    ] as const)
      assert.equal(foldCase(a), foldCase(b))
    assert.notEqual(foldCase('Ada'), foldCase('Adá'))
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => assert.equal(foldCase(foldCase(text)), foldCase(text))),
    )
  })
})
