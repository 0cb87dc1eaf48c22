import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Evidence, EvidenceQuery, NewEvidence, Scope } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { recompute, slotOf } from '../../support/commitment-reference.ts'
import { createMany, numbered } from '../../support/many-evidences.ts'
import { inCategory, it, withStatus, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const named = (name: string) => ({ externalId: name, name })

describe('creating evidences', () => {
  it('returns the id and the create event, and stores every field', async (fixture) => {
    const { evidences, categories, scope, stage, clock } = fixture
    const [image, file] = [await stage('png', 'a.png', 'image/png'), await stage()]
    const input = {
      category: { name: 'Tools' },
      subcategory: { name: 'Drills' },
      externalId: 'drill/47 11',
      name: 'Drill',
      owner: 'Zoë',
      description: 'a\nb',
      summary: 's',
      meta: { a: [1, null] },
    }
    const created = await evidences.create(scope, { ...input, image, files: [file] })
    const { evidence: stored, events: history, lastVersion, hasMore } = await evidences.get(scope, 'drill/47 11')
    const [category] = await categories.list(scope)
    const subcategory = category?.subcategories[0]
    assert.ok(category && subcategory)
    const expected: Evidence = {
      id: created.id,
      categoryId: category.id,
      subcategoryId: subcategory.id,
      externalId: 'drill/47 11',
      createdAt: new Date(clock.now()),
      name: 'Drill',
      status: 'active',
      description: 'a\nb',
      image: { id: image.id, mimeType: 'image/png', size: image.size },
      summary: 's',
      owner: 'Zoë',
      txId: created.txId,
      meta: { a: [1, null] },
      version: 1,
      lastTxId: created.txId,
    }
    assert.deepEqual(stored, expected)
    assert.equal(created.version, 1)
    assert.deepEqual(history, [
      {
        recordedAt: stored.createdAt,
        owner: 'Zoë',
        type: 'create',
        txId: stored.txId,
        version: 1,
        meta: { a: [1, null] },
        batch: null,
      },
    ])
    assert.deepEqual([lastVersion, hasMore], [1, false])
    const { evidence: files } = await evidences.files(scope, 'drill/47 11')
    const shown = files.map(({ id, eventVersion, mimeType }) => [id, eventVersion, mimeType])
    assert.deepEqual(shown, [
      [image.id, 1, 'image/png'],
      [file.id, 1, 'text/plain'],
    ])
  })

  it('omits fields that were omitted or are empty', async ({ evidences, scope, evidence }) => {
    await evidence({ owner: '', description: '', summary: '' })
    const { evidence: stored, events } = await evidences.get(scope, 'e-1', { disclose: true })
    assert.deepEqual(Object.keys(stored).sort(), [
      'categoryId',
      'createdAt',
      'externalId',
      'id',
      'lastTxId',
      'name',
      'status',
      'subcategoryId',
      'txId',
      'version',
    ])
    assert.equal(events[0]?.owner, '')
    assert.deepEqual(Object.keys(events[0]?.disclosure?.fields ?? {}).sort(), [
        'action', 'actor', 'categoryId', 'company', 'evidence', 'externalId', 'name', 'slotKey', 'subcategoryId',
      ]) // prettier-ignore
  })

  it('accepts an external id once in its company, compared exactly', async ({
    evidences,
    evidence,
    stores,
    system,
  }) => {
    for (const externalId of ['e-1', 'E-1', 'e-1 ', 'e\u0301', '\u00e9']) await evidence({ externalId })
    const size = await stores.records.logSize()
    await rejectsWith('EXTERNAL_ID_EXISTS', evidence({ name: 'another' }))
    assert.equal(await stores.records.logSize(), size)
    const { scope: foreign } = await system('I', 'other')
    await evidences.create(foreign, { ...named('e-1'), ...inCategory('C', 'S') })
  })

  it('rejects invalid input, never throws synchronously, and changes nothing', async ({ evidences, scope, stores }) => {
    const names = inCategory('C', 'S')
    const bad = [
      { ...names, name: 'no id' },
      { ...names, externalId: '.', name: 'n' },
      { ...names, externalId: 'x', name: 'n', unknown: 1 },
      { ...names, externalId: 'x', name: 'n', meta: { a: -0 } },
      { ...names, externalId: 'x', name: 'n', meta: JSON.parse('{"__proto__":1}') as object },
      { externalId: 'x', name: 'n' },
      { externalId: 'x', name: 'n', category: { name: 'C' } },
      { externalId: 'x', name: 'n', subcategory: { name: 'S' } },
      { externalId: 'x', name: 'n', category: { name: '' }, subcategory: { name: '' } },
    ]
    for (const input of bad) {
      const request = evidences.create(scope, input as NewEvidence)
      await rejectsWith('VALIDATION_ERROR', request, JSON.stringify(input))
    }
    for (const inputs of [[], [{ externalId: 'x' }], numbered('x', 1_001)])
      await rejectsWith(
        'VALIDATION_ERROR',
        evidences.createMany(scope, { categoryId: 'c', subcategoryId: 's', evidences: inputs as never }),
      )
    assert.equal((await evidences.list(scope)).count, 0)
    assert.deepEqual(await stores.keysOf('ca'), [])
  })
})

describe('the category of a new evidence', () => {
  /** C1 with S1 and S2; C2 with T1. */
  async function createCategories({ categories, scope }: Fixture) {
    const [c1, c2] = [await categories.create(scope, { name: 'C1' }), await categories.create(scope, { name: 'C2' })]
    const sub = async (category: string, name: string) =>
      (await categories.create(scope, { name: name }, { parent: category })).id
    return { c1: c1.id, c2: c2.id, s1: await sub(c1.id, 'S1'), s2: await sub(c1.id, 'S2'), t1: await sub(c2.id, 'T1') }
  }
  const none = '01890000-0000-7000-8000-000000000000'

  // Category id and name, subcategory id and name, and the expected category or error.
  const cases: readonly [string | undefined, string | undefined, string | undefined, string | undefined, string][] = [
    ['c1', undefined, 's1', undefined, 'c1/s1'],
    ['c1', 'C1', 's1', 'S1', 'c1/s1'],
    ['c1', undefined, undefined, 'S2', 'c1/s2'],
    [undefined, 'C1', 's1', undefined, 'c1/s1'],
    [undefined, 'C1', undefined, 'S1', 'c1/s1'],
    ['c1', '', undefined, 'S1', 'VALIDATION_ERROR'],
    ['', 'C2', 't1', undefined, 'CATEGORY_NOT_FOUND'],
    ['c1', undefined, undefined, 'T1', 'c1/new'],
    [undefined, 'C2', undefined, 'S1', 'c2/new'],
    [undefined, 'C3', undefined, 'S1', 'new/new'],
    ['c1', 'C2', 's1', undefined, 'CATEGORY_MISMATCH'],
    ['c1', 'nowhere', 's1', undefined, 'CATEGORY_MISMATCH'],
    ['c1', undefined, 's1', 'S2', 'CATEGORY_MISMATCH'],
    ['c1', undefined, 's1', 'nowhere', 'CATEGORY_MISMATCH'],
    ['c1', undefined, 't1', undefined, 'CATEGORY_MISMATCH'],
    [undefined, 'C2', 's1', undefined, 'CATEGORY_MISMATCH'],
    [undefined, 'C3', 's1', undefined, 'CATEGORY_MISMATCH'],
    [undefined, 'C3', 'none', undefined, 'SUBCATEGORY_NOT_FOUND'],
    ['c1', undefined, 'none', undefined, 'SUBCATEGORY_NOT_FOUND'],
    ['none', undefined, 's1', undefined, 'CATEGORY_NOT_FOUND'],
    ['none', 'C1', undefined, 'S1', 'CATEGORY_NOT_FOUND'],
    ['s1', undefined, 's1', undefined, 'CATEGORY_NOT_FOUND'],
    ['c1', undefined, 'c1', undefined, 'SUBCATEGORY_NOT_FOUND'],
    ['c1', undefined, undefined, undefined, 'VALIDATION_ERROR'],
    [undefined, undefined, 's1', undefined, 'c1/s1'],
    [undefined, undefined, 't1', 'T1', 'c2/t1'],
    [undefined, undefined, 's1', 'S2', 'CATEGORY_MISMATCH'],
    [undefined, undefined, 'c1', undefined, 'SUBCATEGORY_NOT_FOUND'],
    [undefined, undefined, undefined, 'S1', 'VALIDATION_ERROR'],
    [undefined, undefined, undefined, undefined, 'VALIDATION_ERROR'],
  ]
  for (const [categoryId, categoryName, subcategoryId, subcategoryName, expected] of cases)
    it(`${String([categoryId, categoryName, subcategoryId, subcategoryName])} is ${expected}`, async (fixture) => {
      const { evidences, categories, scope } = fixture
      const ids: Record<string, string> = { ...(await createCategories(fixture)), none, '': '' }
      const before = JSON.stringify(await categories.list(scope))
      const selector = (id: string | undefined, name: string | undefined) => ({
        ...(id !== undefined && { id: ids[id] ?? '' }),
        ...(name !== undefined && { name }),
      })
      const create = evidences.create(scope, {
        ...named('x'),
        category: selector(categoryId, categoryName),
        subcategory: selector(subcategoryId, subcategoryName),
      })
      if (!expected.includes('/')) {
        await assert.rejects(create, { code: expected })
        assert.equal(JSON.stringify(await categories.list(scope)), before)
        return
      }
      await create
      const { evidence: stored } = await evidences.get(scope, 'x')
      const name = (id: string): string => Object.keys(ids).find((each) => ids[each] === id) ?? 'new'
      assert.equal(`${name(stored.categoryId)}/${name(stored.subcategoryId)}`, expected)
      const { name: category } = await categories.get(scope, { categoryId: stored.categoryId })
      if (categoryName !== undefined && categoryName !== '') assert.equal(category, categoryName)
    })

  it('is shared by creates that race with the same new name', async ({ evidences, categories, scope }) => {
    const creates = Array.from({ length: 12 }, (_, i) =>
      evidences.create(scope, { ...named(`x${i}`), ...inCategory(`C${i % 2}`, `S${i % 3}`) }),
    )
    await Promise.all(creates)
    const made = await categories.list(scope)
    assert.equal(made.length, 2)
    const shown = made.map(({ evidenceCount, subcategories }) => [evidenceCount, subcategories.length])
    assert.deepEqual(shown, [
      [6, 3],
      [6, 3],
    ])
  })

  it('belongs to the same company', async (fixture) => {
    const { evidences, system } = fixture
    const { c1, s1 } = await createCategories(fixture)
    const { scope: foreign } = await system('I', 'other')
    await rejectsWith(
      'CATEGORY_NOT_FOUND',
      evidences.create(foreign, { ...named('x'), category: { id: c1 }, subcategory: { id: s1 } }),
    )
    await rejectsWith(
      'CATEGORY_NOT_FOUND',
      evidences.createMany(foreign, { categoryId: c1, subcategoryId: s1, evidences: [named('x')] }),
    )
  })

  it('is checked in the same way in bulk', async (fixture) => {
    const { evidences, scope } = fixture
    const { c1, c2, s1 } = await createCategories(fixture)
    for (const [categoryId, subcategoryId, code] of [
      [none, s1, 'CATEGORY_NOT_FOUND'],
      [c1, none, 'SUBCATEGORY_NOT_FOUND'],
      [c2, s1, 'SUBCATEGORY_NOT_FOUND'],
    ] as const)
      await rejectsWith(code, evidences.createMany(scope, { categoryId, subcategoryId, evidences: [named('x')] }))
  })
})

describe('creating evidences in bulk', () => {
  async function createCategory({ categories, scope }: Fixture) {
    const { id: categoryId } = await categories.create(scope, { name: 'C' })
    const { id: subcategoryId } = await categories.create(scope, { name: 'S' }, { parent: categoryId })
    return { categoryId, subcategoryId }
  }

  it('returns the created evidences in the order of the input', async (fixture) => {
    const { evidences, scope } = fixture
    const target = await createCategory(fixture)
    const many = await evidences.createMany(scope, { ...target, evidences: ['a', 'b', 'c'].map(named) })
    const versions = many.map(({ version }) => version)
    assert.deepEqual(versions, [1, 1, 1])
    const one = await evidences.createMany(scope, { ...target, evidences: [named('d')] })
    assert.equal(one.length, 1)
    for (const [i, name] of ['a', 'b', 'c'].entries()) {
      const { evidence: stored } = await evidences.get(scope, name)
      assert.deepEqual({ id: stored.id, type: 'create', txId: stored.txId, version: 1 }, many[i])
    }
  })

  it('creates all of them or none', async (fixture) => {
    const { evidences, scope, stores, evidence } = fixture
    const target = await createCategory(fixture)
    await evidence({ externalId: 'taken' })
    const before = await stores.records.logSize()
    const bulks = [
      [named('a'), named('taken'), named('b')],
      [named('a'), named('b'), named('a')],
      [named('a'), { ...named('b'), meta: { x: -0 } }],
    ]
    for (const inputs of bulks) await assert.rejects(evidences.createMany(scope, { ...target, evidences: inputs }))
    assert.equal(await stores.records.logSize(), before)
    assert.equal((await evidences.list(scope)).count, 1)
    await evidences.createMany(scope, { ...target, evidences: numbered('n', 1_000) })
    assert.equal((await evidences.list(scope)).count, 1_001)
  })

  it('accepts files for a single evidence only', async (fixture) => {
    const { evidences, files, scope, stage } = fixture
    const target = await createCategory(fixture)
    const file = await stage()
    await rejectsWith(
      'VALIDATION_ERROR',
      evidences.createMany(scope, { ...target, evidences: [named('a'), named('b')], files: [file] }),
    )
    const image = await stage('png', 'a.png', 'image/png')
    for (const [externalId, one] of Object.entries({ a: image, b: file })) {
      await evidences.createMany(scope, { ...target, evidences: [named(externalId)], image: one })
      const { evidence } = await evidences.get(scope, externalId)
      assert.equal(evidence.image?.id, one === image ? one.id : undefined, 'a text is a file, and no image')
      assert.equal((await files.find(scope, { fileId: one.id, externalId })).id, one.id)
    }
  })
})

describe('listing evidences', () => {
  // What lists have, in which order and on which pages, is tested with random queries in search.test.ts.
  it('rejects an `after` of another company and limits out of range, is empty in a wrong category', async (fixture) => {
    const { evidences, scope, evidence, system } = fixture
    for (const externalId of ['a', 'b']) await evidence({ externalId, ...inCategory(externalId, 'S') })
    const { scope: foreign } = await system('I', 'other')
    await evidences.create(foreign, { ...named('g'), ...inCategory('a', 'S') })
    const [b, a] = (await evidences.list(scope)).items
    const [g] = (await evidences.list(foreign)).items
    assert.ok(a && b && g)
    for (const after of [g.id, 'nothing', '', '01890000-0000-7000-8000-000000000000', a.categoryId])
      await rejectsWith('VALIDATION_ERROR', evidences.list(scope, { after }), after)
    for (const limit of [0, -1, 1_001, 1.5]) await rejectsWith('VALIDATION_ERROR', evidences.list(scope, { limit }))
    await rejectsWith('VALIDATION_ERROR', evidences.list(scope, { sort: 'name' } as never))
    const wrong: readonly EvidenceQuery[] = [
      { categoryId: b.categoryId, subcategoryId: a.subcategoryId },
      { categoryId: a.subcategoryId },
      { subcategoryId: a.categoryId },
      { categoryId: g.categoryId },
      { subcategoryId: g.subcategoryId },
      { subcategoryId: '' },
      { categoryId: 'x'.repeat(5_000) },
    ]
    const nothing = { items: [], count: 0, countIsMore: false, hasMore: false }
    for (const query of wrong) assert.deepEqual(await evidences.list(scope, query), nothing)
    // A page can start after an evidence that the filter excludes.
    assert.equal((await evidences.list(scope, { categoryId: a.categoryId, after: b.id })).items[0]?.externalId, 'a')
  })

  it('has 100 items by default', async ({ registry, evidences, scope }) => {
    await createMany(registry, scope, numbered('x', 101))
    const { items, hasMore, count } = await evidences.list(scope)
    assert.deepEqual([items.length, hasMore, count], [100, true, 101])
  })
})

describe('getting an evidence', () => {
  it('pages its events from version 1', async ({ evidences, scope, evidence }) => {
    await evidence()
    for (let i = 2; i <= 61; i++) await evidences.update(scope, 'e-1', { description: `${i}` })
    const page = async (query: Parameters<typeof evidences.get>[2]) => {
      const { events, lastVersion, hasMore } = await evidences.get(scope, 'e-1', query)
      return [events.map(({ version }) => version).join(), lastVersion, hasMore]
    }
    const upTo = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, i) => from + i).join()
    assert.deepEqual(await page({}), [upTo(1, 50), 50, true])
    assert.deepEqual(await page({ after: 50 }), [upTo(51, 61), 61, false])
    assert.deepEqual(await page({ after: 3, limit: 2 }), ['4,5', 5, true])
    assert.deepEqual(await page({ after: 59, limit: 2 }), ['60,61', 61, false])
    for (const after of [61, 70]) assert.deepEqual(await page({ after }), ['', 61, false])
    assert.deepEqual(await page({ limit: 500 }), [upTo(1, 61), 61, false])
    for (const query of [{ limit: 0 }, { limit: 501 }, { after: -1 }, { after: 0.5 }])
      await rejectsWith('VALIDATION_ERROR', evidences.get(scope, 'e-1', query))
  })

  it('finds evidences of the same company only', async ({ evidences, evidence, scope, system }) => {
    await evidence()
    const { id } = (await evidences.get(scope, 'e-1')).evidence
    const { scope: foreign } = await system('A', 'other')
    const requests: readonly ((each: Scope, name: string) => Promise<unknown>)[] = [
      (each, name) => evidences.get(each, name),
      (each, name) => evidences.files(each, name),
      (each, name) => evidences.update(each, name, { description: 'x' }),
    ]
    for (const request of requests) {
      await rejectsWith('EVIDENCE_NOT_FOUND', request(foreign, 'e-1'))
      await rejectsWith('EVIDENCE_NOT_FOUND', request(scope, id), 'by its external id, not by its id')
      await rejectsWith('EVIDENCE_NOT_FOUND', request(scope, 'E-1'))
      await rejectsWith('VALIDATION_ERROR', request(scope, 'a\0'))
    }
  })

  it('contains the batch and its status after sealing', async ({ registry, scope, evidence }) => {
    await evidence()
    await registry.sealNow()
    await registry.evidences.update(scope, 'e-1', { description: 'later' })
    const { events } = await registry.evidences.get(scope, 'e-1')
    const proof = await registry.proofs.transaction(events[0]?.txId ?? '')
    const { batchId: id } = withStatus(proof, 'ok')
    const batches = events.map(({ batch }) => batch)
    assert.deepEqual(batches, [{ id, sendStatus: 'P' }, null])
  })
})

describe('damaged records', () => {
  it('make every operation that reads them throw CORRUPT', async ({ evidences, proofs, scope, evidence, stores }) => {
    await evidence()
    const { id } = (await evidences.get(scope, 'e-1')).evidence
    for (const bytes of ['{', 'null', '7', '\xff']) {
      const value = Buffer.from(bytes, 'latin1')
      await stores.records.commit({ writes: [{ key: keys.evidence(scope.companyId, id), value }] })
      await rejectsWith('CORRUPT', evidences.get(scope, 'e-1'))
      await rejectsWith('CORRUPT', evidences.list(scope))
      await rejectsWith('CORRUPT', evidences.update(scope, 'e-1', { owner: 'x' }))
      await rejectsWith('CORRUPT', proofs.evidence({ evidenceId: 'e-1' }))
    }
  })

  it('are CORRUPT, not unknown, if another record refers to one that is missing', async (fixture) => {
    const { evidences, files, proofs, scope, evidence, stage, stores } = fixture
    const file = await stage('1')
    await evidence({ files: [file] })
    const { id } = (await evidences.get(scope, 'e-1')).evidence
    await stores.records.commit({ writes: [{ key: keys.evidence(scope.companyId, id), value: null }] })
    await rejectsWith('CORRUPT', evidences.get(scope, 'e-1'))
    await rejectsWith('CORRUPT', evidences.update(scope, 'e-1', { owner: 'x' }))
    await rejectsWith('CORRUPT', proofs.evidence({ evidenceId: 'e-1' }))
    await rejectsWith('CORRUPT', files.find(scope, { fileId: file.id, externalId: 'e-1' }))
    await rejectsWith('CORRUPT', files.delete(scope, { fileId: file.id }))
  })
})

describe('disclosed events', () => {
  it('lead to their txIds, slots and chain by the slow reference implementation', async (fixture) => {
    const { registry, scope, stage, evidence, clock, system } = fixture
    const { evidences } = registry
    const files = [await stage('1'), await stage('2', '../x/nöte.txt')]
    await evidence({
      owner: 'Ada',
      meta: { 10: 1, 9: { a: 0.5 } },
      files,
      image: await stage('i', 'i.png', 'image/png'),
    })
    await clock.advance(5)
    const { scope: own, id: actor } = await system('U')
    const changes = {
      description: 'd',
      owner: 'Grace',
      persona: 'P',
      eventDescription: 'E',
      meta: { z: 'ü' },
    }
    await evidences.update(own, 'e-1', { ...changes, files: [await stage('3')] })
    await evidences.update(scope, 'e-1', { updateType: 'stolen', updateDescription: 'gone' })
    await registry.files.delete(scope, { fileId: files[0]?.id as string })
    const { evidence: stored, events } = await evidences.get(scope, 'e-1', { disclose: true })
    const opened = events.map(({ disclosure }) => recompute(disclosure as NonNullable<typeof disclosure>))
    const slotKey = opened[0]?.values['slotKey'] as string
    assert.equal(slotKey.length, 64)
    for (const [i, event] of events.entries()) {
      const { txId, time, slot, header, values } = opened[i] as (typeof opened)[number]
      assert.equal(txId, event.txId)
      assert.equal(time, event.recordedAt.getTime())
      assert.equal(slot, slotOf(slotKey, i + 1))
      assert.deepEqual([header.log, header.v, header.version], [registry.log.origin, 1, event.version])
      assert.deepEqual([header.first, header.prev], i === 0 ? [null, null] : [stored.txId, events[i - 1]?.txId])
      assert.deepEqual(Object.keys(header.fields).sort(), Object.keys(values).sort(), 'every field is disclosed')
      const action = { type: event.type, ...(event.updateType && { updateType: event.updateType }) }
      assert.deepEqual(values['action'], action)
      assert.deepEqual([values['evidence'], values['company'], values['externalId']], [stored.id, 'acme', 'e-1'])
    }
    const shown = opened.map(({ values }) => values['actor'])
    assert.deepEqual(shown, ['operator', actor, actor, actor, 'operator', 'operator'])
    assert.deepEqual(opened[0]?.values['meta'], { 9: { a: 0.5 }, 10: 1 })
    assert.deepEqual(
      [opened[1]?.values['description'], opened[2]?.values['owner'], opened[4]?.values['status']],
      ['d', 'Grace', 'stolen'],
    )
    assert.equal(opened[4]?.values['updateDescription'], 'gone')
  })

  it('have different salts, so that equal values have different hashes', async ({ evidences, scope, evidence }) => {
    await evidence({ externalId: 'a' })
    await evidence({ externalId: 'b' })
    await evidences.update(scope, 'a', { updateType: 'custom' })
    await evidences.update(scope, 'a', { updateType: 'custom' })
    const seen = new Set<string>()
    let hashes = 0
    for (const name of ['a', 'b'])
      for (const { disclosure } of (await evidences.get(scope, name, { disclose: true })).events) {
        const { header } = recompute(disclosure as NonNullable<typeof disclosure>)
        for (const hash of Object.values(header.fields)) {
          seen.add(hash)
          hashes++
        }
        for (const { salt } of Object.values(disclosure?.fields ?? {})) {
          seen.add(salt)
          hashes++
        }
        seen.add(disclosure?.filesSalt as string)
        hashes++
      }
    assert.equal(seen.size, hashes)
  })
})

describe('the external id of an evidence', () => {
  it('is looked up once, and only in its company', async ({ evidences, sourceSystems, scope, evidence, process }) => {
    await evidence({ externalId: 'a' })
    const lookUps: string[] = []
    const get = process.records.get.bind(process.records)
    process.records.get = (read) => {
      lookUps.push(...read.filter((key) => key === keys.externalId(scope.companyId, 'a')))
      return get(read)
    }
    const first = await evidences.get(scope, 'a')
    assert.deepEqual(await evidences.get(scope, 'a'), first)
    assert.equal(lookUps.length, 1)
    const elsewhere = { ...scope, companyId: 'other' }
    await sourceSystems.create(elsewhere, { name: 'first' })
    await rejectsWith('EVIDENCE_NOT_FOUND', evidences.get(elsewhere, 'a'))
  })
})
