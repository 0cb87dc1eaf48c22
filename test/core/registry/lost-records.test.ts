import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listEntries, listedRecords, decorateRecords } from '../../../core/store/read.ts'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { OPERATOR } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { COMPANY, withCode, withRegistry, type Fixture } from '../../support/registry-fixture.ts'

/** Removes a record, as a store that lost it. */
const lose = ({ stores }: Fixture, key: string): Promise<unknown> =>
  stores.records.commit({ writes: [{ key, value: null }] })

describe('a record that the store has lost', () => {
  it('is not left out of the files of an evidence', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, stage, evidence } = fixture
      const file = await stage()
      await evidence({ files: [file] })
      await lose(fixture, keys.file(file.id))
      await assert.rejects(registry.evidences.files(scope, 'e-1'), withCode('CORRUPT'))
    }))

  it('is not left out of a category', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, evidence } = fixture
      await evidence()
      const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
      await lose(fixture, keys.category(COMPANY, stored.subcategoryId))
      await assert.rejects(registry.categories.get(scope, { categoryId: stored.categoryId }), withCode('CORRUPT'))
      await assert.rejects(registry.categories.list(scope), withCode('CORRUPT'))
    }))

  it('is not left out of the candidates of an ambiguous proof', () =>
    withRegistry(async (fixture) => {
      const { registry, scope, evidence } = fixture
      await evidence()
      const others = { companyId: 'others', principal: OPERATOR }
      await registry.sourceSystems.create(others, { name: 'first' })
      await registry.evidences.create(others, {
        externalId: 'e-1',
        name: 'x',
        category: { name: 'Tools' },
        subcategory: { name: 'Drills' },
      })
      assert.equal((await registry.proofs.evidence({ evidenceId: 'e-1' })).status, 'ambiguous')
      const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
      await lose(fixture, keys.evidence(stored.id))
      await assert.rejects(registry.proofs.evidence({ evidenceId: 'e-1' }), withCode('CORRUPT'))
    }))
})

describe('the records of a listing', () => {
  it('are without one that was removed with its list entry meanwhile', async () => {
    const stored = new MemoryRecords()
    const [listed, record] = [keys.fileOf('owner', 'a'), keys.file('a')]
    const value = new Uint8Array()
    await stored.commit({
      writes: [listed, record, keys.file('b'), keys.fileOf('owner', 'b')].map((key) => ({ key, value })),
    })
    const listing = await listEntries(stored, keys.filesOf('owner'))
    let isRemoved = false
    const records = decorateRecords(stored, {
      async get(wanted) {
        if (!isRemoved) await stored.commit({ writes: [listed, record].map((key) => ({ key, value: null })) })
        isRemoved = true
        return stored.get(wanted)
      },
    })
    const found = await listedRecords(records, listing, (key) => keys.file(key.slice(-1)))
    assert.deepEqual(
      found.map(({ key }) => key),
      [keys.file('b')],
    )
  })
})
