import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { EvidenceQuery } from '../../../core/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import { putRecord } from '../../../core/store/read.ts'
import { countLists, fillRegistry, openSealedRegistry, type SealedRegistry } from '../../support/sealed-registry.ts'
import { temporaryFor } from '../../support/temporary.ts'

async function openFilled(t: TestContext): Promise<SealedRegistry> {
  const sealed = await openSealedRegistry(await temporaryFor(t))
  t.after(() => sealed.registry.close())
  await fillRegistry(sealed)
  await sealed.settle()
  return sealed
}

describe('a page of a list of texts', () => {
  it('is kept from the second time on, and read again only if the log or an anchor changed', async (t) => {
    const sealed = await openFilled(t)
    const { records, registry, scope, settle } = sealed
    const listTexts = registry.evidences.texts(JSON.stringify)
    const count = countLists(sealed)
    const isRead = async (query?: EvidenceQuery): Promise<boolean> => {
      count.lists = 0
      await listTexts(scope, query)
      return count.lists > 0
    }
    const readings = async () => [
      await isRead(),
      await isRead(),
      await isRead({ limit: 1 }),
      await isRead({ limit: 1 }),
    ]
    const once = [true, false, true, false]
    assert.deepEqual(await readings(), [true, true, true, true])
    assert.deepEqual(await readings(), [false, false, false, false])
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    assert.deepEqual(await readings(), once)
    await settle()
    assert.deepEqual(await readings(), once)
    await records.commit({ writes: [putRecord(logKeys.anchorHead(), await new LogReader(records).anchorHead())] })
    assert.deepEqual(await readings(), once)
  })

  it('is that of the company and of the query', async (t) => {
    const { registry, scope } = await openFilled(t)
    const other = { ...scope, companyId: 'other' }
    await registry.sourceSystems.create(other, { name: 'warehouse' })
    const listTexts = registry.evidences.texts(JSON.stringify)
    const total = async (of: typeof scope, query?: EvidenceQuery) => (await listTexts(of, query)).items.length
    assert.deepEqual([await total(scope), await total(other), await total(scope)], [2, 0, 2])
    const times = [new Date(0), new Date(1e15)].map((createdTo) => total(scope, { createdTo }))
    assert.deepEqual(await Promise.all(times), [0, 2])
  })

  it('is not kept for a query that is not valid', async (t) => {
    const { registry, scope } = await openFilled(t)
    const listTexts = registry.evidences.texts(JSON.stringify)
    const createdTo = new Date(1e15)
    await listTexts(scope, { createdTo })
    await assert.rejects(listTexts(scope, { createdTo: createdTo.toISOString() as unknown as Date }), {
      code: 'VALIDATION_ERROR',
    })
  })

  it('is not kept beyond the limit', async (t) => {
    const sealed = await openFilled(t)
    const { registry, scope } = sealed
    const listTexts = registry.evidences.texts(JSON.stringify, { maxKeptChars: 1_000 })
    await listTexts(scope)
    const count = countLists(sealed)
    await listTexts(scope)
    assert.ok(count.lists > 0)
  })

  it('counts for the limit also without items', async (t) => {
    const sealed = await openFilled(t)
    const listTexts = sealed.registry.evidences.texts(JSON.stringify, { maxKeptChars: 500 })
    const count = countLists(sealed)
    const isRead = async (number: number): Promise<boolean> => {
      count.lists = 0
      const { items } = await listTexts(sealed.scope, { owner: `unknown-${number}` })
      assert.deepEqual(items, [])
      return count.lists > 0
    }
    assert.deepEqual([await isRead(0), await isRead(0), await isRead(0)], [true, true, false])
    for (let number = 1; number < 20; number++) for (let use = 0; use < 3; use++) await isRead(number)
    assert.equal(await isRead(0), true)
  })
})
