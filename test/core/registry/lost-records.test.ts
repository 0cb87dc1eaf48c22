import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryLevel } from 'memory-level'
import { LevelRecords } from '../../../adapters/level/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { listEntries, listedRecords } from '../../../core/store/read.ts'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { OPERATOR } from '../../../core/index.ts'
import { keys, keysUnder, lastPartOfKey } from '../../../core/store/keys.ts'
import { arrayOf } from '../../support/array-of.ts'
import { createMany, numbered } from '../../support/many-evidences.ts'
import { COMPANY, inCategory, it, openFixture, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'
import { logAppends } from '../../contract/record-store-pair.ts'

/** Removes a record, as a store that lost it. */
const lose = ({ stores }: Fixture, key: string): Promise<unknown> =>
  stores.records.commit({ writes: [{ key, value: null }] })

describe('a record that the store has lost', () => {
  it('is not left out of the files of an evidence', async (fixture) => {
    const { registry, scope, stage, evidence } = fixture
    const file = await stage()
    await evidence({ files: [file] })
    await lose(fixture, keys.file(file.id))
    await rejectsWith('CORRUPT', registry.evidences.files(scope, 'e-1'))
  })

  it('is not left out of the erasures', async (fixture) => {
    const { registry, scope, stores, evidence } = fixture
    await evidence()
    await registry.evidences.erase(scope, 'e-1', { fields: ['name'], reason: 'request' })
    for (const { key } of await listEntries(stores.records, keys.allErasures())) await lose(fixture, key)
    await rejectsWith('CORRUPT', registry.evidences.erasures(scope))
  })

  it('is not left out of a later page of a category', async (fixture) => {
    const { registry, scope, evidence } = fixture
    for (const externalId of ['e-1', 'e-2']) await evidence({ externalId })
    const { id, categoryId } = (await registry.evidences.get(scope, 'e-1')).evidence
    const { id: after } = (await registry.evidences.get(scope, 'e-2')).evidence
    await lose(fixture, keys.evidence(COMPANY, id))
    await rejectsWith('CORRUPT', registry.evidences.list(scope, { categoryId, after }))
  })

  it('is not left out of a category', async (fixture) => {
    const { registry, scope, evidence } = fixture
    await evidence()
    const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
    await lose(fixture, keys.category(COMPANY, stored.subcategoryId))
    await rejectsWith('CORRUPT', registry.categories.get(scope, { categoryId: stored.categoryId }))
    await rejectsWith('CORRUPT', registry.categories.list(scope))
  })

  it('is not missing for who asks for a category, or wants to use its name or its files', async (fixture) => {
    const { registry, scope, stage, evidence } = fixture
    const { categories, evidences, files } = registry
    await evidence()
    const { categoryId, subcategoryId, name } = (await evidences.get(scope, 'e-1')).evidence
    const path = { categoryId, subcategoryId }
    const [own] = [await stage()]
    await categories.update(scope, path, { files: [own] })
    const list = await categories.list(scope)
    const names = { category: list[0]?.name ?? '', subcategory: list[0]?.subcategories[0]?.name ?? '' }
    const again = { ...inCategory(names.category, names.subcategory), externalId: 'e-2', name }
    const reads: Readonly<Record<string, () => Promise<unknown>>> = {
      get: () => categories.get(scope, path),
      update: () => categories.update(scope, path, { description: 'd' }),
      'create by name': () => evidences.create(scope, again),
      'create by id': () => evidences.createMany(scope, { ...path, evidences: [{ externalId: 'e-2', name }] }),
    }
    const ofSubcategory = {
      list: () => evidences.list(scope, { subcategoryId }),
      'list of both': () => evidences.list(scope, path),
      'create by one id': () => evidences.create(scope, { ...again, category: {}, subcategory: { id: subcategoryId } }),
      name: () => categories.create(scope, { name: names.subcategory }, { parent: categoryId }),
      file: () => files.find(scope, { fileId: own.id }),
      'delete file': () => files.delete(scope, { fileId: own.id }),
    }
    const ofCategory = {
      list: () => evidences.list(scope, { categoryId }),
      name: () => categories.create(scope, { name: names.category }),
    }
    for (const [id, more] of [
      [categoryId, ofCategory],
      [subcategoryId, ofSubcategory],
    ] as const) {
      const [stored] = await fixture.stores.records.get([keys.category(COMPANY, id)])
      assert.ok(stored)
      await lose(fixture, stored.key)
      for (const [what, read] of Object.entries({ ...reads, ...more })) await rejectsWith('CORRUPT', read(), what)
      await fixture.stores.records.commit({ writes: [stored] })
    }
  })

  it('is not missing for who asks for a file of an owner', async (fixture) => {
    const { registry, scope, stage, evidence } = fixture
    const { categories, evidences, files, proofs } = registry
    const [first, later, ofCategory] = [await stage(), await stage(), await stage()]
    await evidence({ files: [first] })
    await evidences.update(scope, 'e-1', { files: [later] })
    const { categoryId } = (await evidences.get(scope, 'e-1')).evidence
    await categories.update(scope, { categoryId }, { files: [ofCategory] })
    for (const { id } of [first, later, ofCategory]) await lose(fixture, keys.file(id))
    for (const { id: fileId } of [first, later]) {
      await rejectsWith('CORRUPT', files.find(scope, { fileId, externalId: 'e-1' }))
      await rejectsWith('CORRUPT', proofs.file({ evidenceId: 'e-1', fileId }))
      await rejectsWith('CORRUPT', proofs.bundle(scope, { externalId: 'e-1', fields: 'all', files: [fileId] }))
    }
    await rejectsWith('CORRUPT', files.find(scope, { fileId: ofCategory.id, categoryId }))
    const unknown = { fileId: first.id.replace(/...$/, '000'), externalId: 'e-1', categoryId }
    await rejectsWith('FILE_NOT_FOUND', files.find(scope, unknown))
  })

  it('is not missing for a source system, or for the operator in its company', async (fixture) => {
    const { registry, scope, system } = fixture
    const { sourceSystems } = registry
    const { id, apiKey } = await system('R')
    const principal = await sourceSystems.authenticate({ companyId: COMPANY, apiKey })
    assert.ok(principal)
    const [{ name } = { name: '' }] = (await sourceSystems.list(scope)).filter((each) => each.id === id)
    await lose(fixture, keys.sourceSystem(COMPANY, id))
    await rejectsWith('CORRUPT', sourceSystems.self({ companyId: COMPANY, principal }))
    await rejectsWith('CORRUPT', sourceSystems.create(scope, { name }))
    await rejectsWith('SOURCE_SYSTEM_NOT_FOUND', sourceSystems.get(scope, id.replace(/...$/, '000')))
    await lose(fixture, keys.company(COMPANY))
    await rejectsWith('CORRUPT', registry.evidences.list({ companyId: COMPANY, principal: OPERATOR }))
    await rejectsWith('COMPANY_NOT_FOUND', registry.evidences.list({ companyId: 'others', principal: OPERATOR }))
  })

  it('is not left out of the candidates of an ambiguous proof', async (fixture) => {
    const { registry, scope, evidence } = fixture
    await evidence()
    const others = { companyId: 'others', principal: OPERATOR }
    await registry.sourceSystems.create(others, { name: 'first' })
    await registry.evidences.create(others, { ...inCategory('Tools', 'Drills'), externalId: 'e-1', name: 'x' })
    assert.equal((await registry.proofs.evidence({ evidenceId: 'e-1' })).status, 'ambiguous')
    const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
    await lose(fixture, keys.evidence(COMPANY, stored.id))
    await rejectsWith('CORRUPT', registry.proofs.evidence({ evidenceId: 'e-1' }))
    await rejectsWith('CORRUPT', registry.proofs.evidence({ evidenceId: 'e-1', txId: stored.txId }))
  })
})

describe('a list that has lost an entry', () => {
  // More than a page of `all`.
  const MANY = 501

  it('is damaged, each counted one', async (fixture) => {
    const { registry, scope, stage, evidence, stores, system } = fixture
    const { categories, evidences, sourceSystems } = registry
    await evidence({ files: [await stage()] })
    await evidence({ externalId: 'e-2' })
    await evidences.update(scope, 'e-1', { updateType: 'stolen' })
    await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: 'a-wrong-key-of-it' })
    const { categoryId, subcategoryId } = (await evidences.get(scope, 'e-1')).evidence
    await categories.update(scope, { categoryId }, { files: [await stage()] })
    await categories.update(scope, { categoryId, subcategoryId }, { files: [await stage()] })
    await system('R')
    await sourceSystems.audit(scope)
    const [path, whole] = [{ categoryId, subcategoryId }, { categoryId }]
    const readsOf: Readonly<Record<string, readonly (() => Promise<unknown>)[]>> = {
      ev: [() => evidences.list(scope), () => evidences.list(scope, { sort: 'updated' })],
      el: [{ subcategoryId }, whole].map((query) => () => evidences.list(scope, query)),
      stolen: [() => evidences.list(scope, { status: 'stolen' })],
      up: [() => evidences.list(scope, { sort: 'updated' })],
      cl: [() => categories.list(scope)],
      sub: [() => categories.list(scope), () => categories.get(scope, whole), () => evidences.list(scope, whole)],
      au: [() => sourceSystems.audit(scope)],
      fo: [() => evidences.files(scope, 'e-1')],
      fc: [() => categories.files(scope, path), () => categories.get(scope, path), () => categories.list(scope)],
    }
    const kindOf = (key: string): string => {
      if (key.startsWith('el/stolen/')) return 'stolen'
      if (key.startsWith(`cl/${COMPANY}/${categoryId}/`)) return 'sub'
      return key.startsWith(`fo/${COMPANY}/${subcategoryId}/`) ? 'fc' : key.slice(0, 2)
    }
    const seen = new Set<string>()
    for (const family of ['ev', 'el', 'up', 'cl', 'au', 'fo'])
      for (const entry of await listEntries(stores.records, keysUnder(family))) {
        const kind = kindOf(entry.key)
        seen.add(kind)
        await stores.records.commit({ writes: [{ key: entry.key, value: null }] })
        for (const [i, read] of (readsOf[kind] ?? []).entries())
          await rejectsWith('CORRUPT', read(), `${entry.key} ${i}`)
        await stores.records.commit({ writes: [entry] })
      }
    assert.deepEqual([...seen].sort(), Object.keys(readsOf).sort())
    for (const reads of Object.values(readsOf)) for (const read of reads) await read()
    const active = (await evidences.get(scope, 'e-2')).evidence
    await lose(fixture, keys.evidence(COMPANY, active.id))
    await rejectsWith('CORRUPT', evidences.list(scope, { status: 'active' }))
  })

  it('is damaged at its end if it has several pages, as is an export', async (fixture) => {
    const { registry, scope, evidence } = fixture
    const { id } = (await registry.evidences.get(scope, await evidence())).evidence
    await createMany(registry, scope, numbered('e', MANY))
    assert.equal((await arrayOf(registry.evidences.all(scope))).length, MANY + 1)
    await lose(fixture, keys.evidence(COMPANY, id))
    await rejectsWith('CORRUPT', arrayOf(registry.evidences.all(scope)))
    await rejectsWith('CORRUPT', arrayOf(registry.proofs.exportCompany(scope)))
  })
})

describe('a record of which the store returns an older state', () => {
  it('gets no event in place of a recorded one', async (fixture) => {
    const { registry, scope, stage, evidence, stores } = fixture
    const file = await stage()
    await evidence({ files: [file] })
    const { id } = (await registry.evidences.get(scope, 'e-1')).evidence
    const [older] = await stores.records.get([keys.evidence(COMPANY, id)])
    await registry.evidences.update(scope, 'e-1', { name: 'second' })
    await stores.records.commit({ writes: [{ key: older?.key ?? '', value: older?.value ?? null }] })
    const size = await stores.records.logSize()
    await rejectsWith('CORRUPT', registry.evidences.update(scope, 'e-1', { name: 'third' }))
    await rejectsWith('CORRUPT', registry.files.delete(scope, { fileId: file.id }))
    assert.equal(await stores.records.logSize(), size)
  })
})

describe('an evidence that is not found by its internal id', () => {
  const proofOf = ({ registry }: Fixture, evidenceId: string) => registry.proofs.evidence({ evidenceId })

  it('was lost if the log has its event, in whichever row', async (fixture) => {
    const { registry, scope, clock, evidence, stores } = fixture
    const ids: string[] = []
    for (let i = 0; i < 600; i++) {
      // Several in the same millisecond.
      if (i % 3 === 0) await clock.advance(1)
      const externalId = await evidence({ externalId: `e-${i}` })
      ids.push((await registry.evidences.get(scope, externalId)).evidence.id)
    }
    // A last row without events.
    await stores.records.commit({ append: logAppends(0, 257 - ((await stores.records.logSize()) % 256)) })
    for (const i of [0, 1, 254, 255, 256, 300, 511, 512, 599]) {
      const id = ids[i] ?? ''
      for (const key of [keys.evidence(COMPANY, id), keys.companyOf(id)]) {
        await lose(fixture, key)
        await rejectsWith('CORRUPT', proofOf(fixture, id), `evidence ${i}`)
      }
    }
    const { id } = (await registry.evidences.get(scope, await evidence({ externalId: 'after the searches' }))).evidence
    await lose(fixture, keys.companyOf(id))
    await rejectsWith('CORRUPT', proofOf(fixture, id))
  })

  it('never existed if the log has no event of it', async (fixture) => {
    const { registry, scope, evidence } = fixture
    const { id } = (await registry.evidences.get(scope, await evidence())).evidence
    const sameTimeAndEnd = id.replace(/....(.{8})$/, '0000$1')
    for (const other of [id.replace(/...$/, '000'), sameTimeAndEnd, `1${id.slice(1)}`, `f${id.slice(1)}`])
      assert.equal((await proofOf(fixture, other)).status, 'not_found')
    // It exists, but not in that company.
    const elsewhere = await registry.proofs.evidence({ evidenceId: id, companyId: 'others' })
    assert.equal(elsewhere.status, 'not_found')
  })

  test('may be under a damaged key beside its place', async (t) => {
    const db = new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })
    const records = await LevelRecords.open(db)
    const fixture = await openFixture({ t, registry: { records } })
    const { registry, scope, evidence } = fixture
    await evidence({ externalId: 'e-0' })
    await evidence()
    const [, entry] = await listEntries(records, keys.evidences())
    assert.ok(entry)
    // What a flipped bit of a key leaves: the same value, whose CRC-32 is that of the right key.
    const id = lastPartOfKey(entry.key)
    for (const key of [entry.key, keys.companyOf(id), keys.externalId(COMPANY, 'e-1'), keys.publicId('e-1', id)]) {
      await db.put(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`, (await db.get(key)) ?? new Uint8Array())
      await db.del(key)
    }
    await rejectsWith('CORRUPT', proofOf(fixture, id))
    await rejectsWith('CORRUPT', proofOf(fixture, 'e-1'))
    await rejectsWith('CORRUPT', registry.evidences.files(scope, 'e-1'))
  })
})

describe('the records of a listing', () => {
  test('are without one that was removed with its list entry meanwhile', async () => {
    const stored = new MemoryRecords()
    const [listed, record] = [keys.fileOf('acme', 'owner', 'a'), keys.file('a')]
    const value = new Uint8Array()
    await stored.commit({
      writes: [listed, record, keys.file('b'), keys.fileOf('acme', 'owner', 'b')].map((key) => ({ key, value })),
    })
    const listing = await listEntries(stored, keys.filesOf('acme', 'owner'))
    let isRemoved = false
    const records = decorateRecords(stored, {
      async get(wanted) {
        if (!isRemoved) await stored.commit({ writes: [listed, record].map((key) => ({ key, value: null })) })
        isRemoved = true
        return stored.get(wanted)
      },
    })
    const found = await listedRecords(records, listing, (key) => keys.file(key.slice(-1)))
    const foundKeys = found.map(({ key }) => key)
    assert.deepEqual(foundKeys, [keys.file('b')])
  })
})
