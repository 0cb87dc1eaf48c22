import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { Level } from 'level'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { sha256, toBase64, toHex } from '../../../core/bytes.ts'
import { type EvidenceErasure, type RecordEraser, type RecordStore } from '../../../core/index.ts'
import { eventInRecord } from '../../../core/store/evidence.ts'
import { createInstruments } from '../../../server/index.ts'
import { endErasures, finishErasures, hasErasuresToFinish } from '../../../core/registry/erasure/pending.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { keys } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import { bodyOf, type Fixture, inCategory, it, openFixture, Stores } from '../../support/registry-fixture.ts'
import { present } from '../../support/present.ts'
import { eventually } from '../../support/eventually.ts'
import { isOnDisk, temporaryFor } from '../../support/temporary.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

async function openOverLevel(t: TestContext, directory: string) {
  const records = await openLevelRecords(directory, {
    database: (folder) =>
      new Level<string, Uint8Array>(folder, { keyEncoding: 'utf8', valueEncoding: 'view', compression: false }),
  })
  // As the server does it: a wrapper must not lose the eraser.
  const observed = createInstruments().observeRecords(records)
  const { registry, scope, clock } = await openFixture({ t, registry: { records: observed, smallFileBytes: 4_096 } })
  t.after(() => records.close())
  return { registry, records, scope, clock }
}

/** The seed of an event's salts, hex. */
async function seedOf(records: RecordStore, key: string): Promise<string> {
  const [entry] = await records.get([key])
  const { salts } = eventInRecord(present(entry))
  return typeof salts === 'string' ? salts : assert.fail('there is no seed')
}

describe('the erasure of a deleted file', () => {
  test('removes its name, hash, seed and small content from the disk, of an evidence and of a category', async (t) => {
    const directory = await temporaryFor(t)
    const { registry, records, scope, clock } = await openOverLevel(t, directory)
    const stage = (name: string) =>
      registry.files.stage(
        scope,
        { name, mimeType: 'text/plain', body: bodyOf(`content of ${name}`) },
        { maxBytes: 99 },
      )
    const names = ['created-Zq8Kw2.txt', 'added-Xv5Rt9.txt', 'icon-Pm3Ls7.txt', 'removed-Hc9Bn2.txt', 'kept-Jd6Fy4.txt']
    const [created, added, icon, removed, kept] = await Promise.all(names.map(stage))
    const { id } = await registry.evidences.create(scope, {
      ...inCategory('Tools', 'Drills'),
      externalId: 'e-1',
      name: 'A drill',
      files: [present(created)],
    })
    await registry.evidences.update(scope, 'e-1', { files: [present(added), present(kept)] })
    const category = await registry.categories.create(scope, { name: 'With icon', image: present(icon) })
    const toRemove = await registry.categories.create(scope, { name: 'To remove', image: present(removed) })
    const seeds = [
      await seedOf(records, keys.event(scope.companyId, id, 1)),
      await seedOf(records, keys.event(scope.companyId, id, 2)),
    ]
    const hashes = names.map((name) => toHex(sha256(Buffer.from(`content of ${name}`))))
    const contents = names.map((name) => toBase64(Buffer.from(`content of ${name}`)))
    const erased = [...names, ...hashes, ...contents].filter((_, i) => i % 5 < 4).concat(seeds)
    for (const text of erased) assert.ok(await isOnDisk(directory, text), `${text} is there before`)

    const evidence = { externalId: 'e-1' }
    await registry.files.delete(scope, { ...evidence, fileId: present(created).id })
    await registry.files.delete(scope, { ...evidence, fileId: present(added).id })
    await registry.files.delete(scope, { categoryId: category.id, fileId: present(icon).id })
    await registry.categories.remove(scope, { categoryId: toRemove.id })
    await eventually(async () => {
      await clock.advance(60_000)
      return (await listEntries(records, keys.pendingErasures())).length === 0
    })
    for (const text of erased) assert.ok(!(await isOnDisk(directory, text)), `${text} is erased`)
    assert.ok(await isOnDisk(directory, present(names[4])))
    assert.ok(await isOnDisk(directory, present(hashes[4])))
    assert.ok(await isOnDisk(directory, present(contents[4])))
  })

  /** Notes its calls, and does as it is told. */
  class Eraser implements RecordEraser {
    readonly calls: (readonly string[])[] = []
    outcome: boolean | Error = true

    async eraseHistory(changed: readonly string[]): Promise<boolean> {
      this.calls.push(changed)
      if (this.outcome instanceof Error) throw this.outcome
      return this.outcome
    }
  }

  test('comes within minutes if the deletion was applied, but its outcome is not known', async (t) => {
    const eraser = new Eraser()
    const fixture = await openFixture({ t, records: { eraser } })
    const file = await fixture.stage('content', 'a.txt')
    await fixture.evidence({ files: [file] })
    fixture.process.fail(1, 'after')
    const selector = { externalId: 'e-1', fileId: file.id }
    await rejectsWith('UNKNOWN_OUTCOME', fixture.registry.files.delete(fixture.scope, selector))
    await fixture.clock.advance(660_000)
    assert.equal(eraser.calls.length, 1)
    assert.deepEqual(await fixture.stores.keysOf('pe'), [])
  })

  test('collects deletions and runs at most once a minute, until the store is done', async (t) => {
    const eraser = new Eraser()
    const stores = new Stores()
    const fixture = await openFixture({ stores, records: { eraser } })
    const { registry, clock } = fixture
    const files = await Promise.all(Array.from({ length: 5 }, (_, i) => fixture.stage('content', `${i}.txt`)))
    await fixture.evidence({ files })
    const remove = (index: number) =>
      registry.files.delete(fixture.scope, { externalId: 'e-1', fileId: present(files[index]).id })
    await clock.advance(3_600_000)
    assert.equal(eraser.calls.length, 0, 'nothing was deleted')

    await remove(0)
    await clock.advance(60_000)
    assert.equal(eraser.calls.length, 1)
    assert.ok(eraser.calls[0]?.some((key) => key.startsWith('fi/')))
    assert.ok(eraser.calls[0]?.some((key) => key.startsWith('ev/')))
    eraser.outcome = false
    await remove(1)
    await remove(2)
    await clock.advance(59_000)
    assert.equal(eraser.calls.length, 1, 'not within a minute')
    await clock.advance(1_000)
    assert.equal(eraser.calls.length, 2)
    assert.equal((await stores.keysOf('pe')).length, 2, 'both are collected, and not done')
    eraser.outcome = new Error('injected')
    await clock.advance(60_000)
    assert.equal(eraser.calls.length, 3)
    assert.deepEqual(eraser.calls[2], eraser.calls[1])
    await fixture.close()

    eraser.outcome = true
    const again = await openFixture({ t, stores, records: { eraser } })
    await again.clock.advance(60_000)
    assert.equal(eraser.calls.length, 4, 'the next start continues')
    assert.deepEqual(await stores.keysOf('pe'), [])
  })

  for (const [how, eraser] of [
    ['when the store is opened again', new Eraser()],
    ['at once, if the store can do that', Object.assign(new Eraser(), { eraseKeys: async () => undefined })],
  ] as const)
    test(`ends for keys with text behind the old values of its own record: ${how}`, async (t) => {
      const stores = new Stores()
      const { clock, close, evidence, evidences, scope } = await openFixture({ stores, records: { eraser } })
      const disk = async (registry: Pick<Fixture, 'evidences'> = { evidences }) =>
        ((await registry.evidences.erasures(scope)).items as readonly EvidenceErasure[])[0]?.disk
      await evidence({ name: 'Zq8Kw' })
      await evidences.erase(scope, 'e-1', { fields: ['name'], reason: 'request' })
      const [pending] = await stores.keysOf('pe')
      await clock.advance(60_000)
      assert.ok(eraser.calls[0]?.some((key) => key.startsWith('wo/acme/zq8kw/')))
      assert.equal(await disk(), 'pending')
      await clock.advance(180_000)
      assert.deepEqual(eraser.calls.slice(1), [[pending]])
      assert.equal(await disk(), 'eraseKeys' in eraser ? 'done' : 'pending')
      await close()
      const again = await openFixture({ t, stores, records: { eraser } })
      assert.equal(await disk(again), 'done')
      assert.deepEqual(await stores.keysOf('pe'), [])
    })

  test('does at most 4,096 at once, and ends none whose keys could not be erased', async () => {
    const stores = new Stores()
    const eraser = Object.assign(new Eraser(), { eraseKeys: () => Promise.reject(new Error('injected')) })
    const records = decorateRecords(stores.records, { eraser })
    const pending = (id: string, changed: string[]) => putRecord(keys.pendingErasure(id), { at: 0, keys: changed })
    await records.commit({ writes: Array.from({ length: 4_097 }, (_, i) => pending(`${i}`, [`k/${i}`])) })
    await records.commit({ writes: [pending('of-keys', [])] })
    assert.equal(await hasErasuresToFinish(records), false, 'they have no text in keys')
    const steps: number[] = []
    await assert.rejects(
      finishErasures(records, (count) => steps.push(count)),
      /injected/,
    )
    assert.deepEqual(steps, [4_096, 1])
    assert.equal(await endErasures(records), 0)
    assert.deepEqual(await stores.keysOf('pe'), [keys.pendingErasure('of-keys')])
  })

  it('is not recorded for a store that keeps no old values', async (fixture) => {
    const file = await fixture.stage()
    await fixture.evidence({ files: [file] })
    await fixture.registry.files.delete(fixture.scope, { externalId: 'e-1', fileId: file.id })
    assert.deepEqual(await fixture.stores.keysOf('pe'), [])
  })
})
