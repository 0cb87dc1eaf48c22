import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryLevel } from 'memory-level'
import { LevelRecords } from '../../../adapters/level/index.ts'
import { listEntries, listedRecords, decorateRecords } from '../../../core/store/read.ts'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { OPERATOR } from '../../../core/index.ts'
import { keys, lastPartOfKey } from '../../../core/store/keys.ts'
import { COMPANY, it, openFixture, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

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

  it('is not left out of a category', async (fixture) => {
    const { registry, scope, evidence } = fixture
    await evidence()
    const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
    await lose(fixture, keys.category(COMPANY, stored.subcategoryId))
    await rejectsWith('CORRUPT', registry.categories.get(scope, { categoryId: stored.categoryId }))
    await rejectsWith('CORRUPT', registry.categories.list(scope))
  })

  it('is not left out of the candidates of an ambiguous proof', async (fixture) => {
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
    await lose(fixture, keys.evidence(COMPANY, stored.id))
    await rejectsWith('CORRUPT', registry.proofs.evidence({ evidenceId: 'e-1' }))
  })
})

describe('an evidence that is not found by its internal id', () => {
  const proofOf = ({ registry }: Fixture, evidenceId: string) => registry.proofs.evidence({ evidenceId })

  it('was lost if the log has its event, in whichever row', async (fixture) => {
    const { registry, scope, clock, evidence } = fixture
    const ids: string[] = []
    for (let i = 0; i < 600; i++) {
      // Several in the same millisecond.
      if (i % 3 === 0) await clock.advance(1)
      const externalId = await evidence({ externalId: `e-${i}` })
      ids.push((await registry.evidences.get(scope, externalId)).evidence.id)
    }
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
