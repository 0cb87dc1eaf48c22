import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Level } from 'level'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { decodeUtf8, encodeUtf8, fromHex, toHex } from '../../../core/bytes.ts'
import { entryOf } from '../../../core/commitment/log-entry.ts'
import { erasureOpening, receiptHash } from '../../../core/commitment/receipt.ts'
import type { ErasureInput, EvidenceErasure, HistoryEvent } from '../../../core/index.ts'
import { FAMILIES } from '../../../core/ops/check/families.ts'
import { endErasures } from '../../../core/registry/erasure/pending.ts'
import { PLACES } from '../../../core/registry/erasure/places.ts'
import { evidenceText } from '../../../core/store/evidence-form.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { withPosition } from '../../../core/store/commit-plan.ts'
import { keys, type StoredRecord } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import type { ErasureRecord, EvidenceRecord } from '../../../core/store/records.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'
import { eventually } from '../../support/eventually.ts'
import { present } from '../../support/present.ts'
import { assertIntact, type Fixture, inCategory, it, openFixture } from '../../support/registry-fixture.ts'
import { isOnDisk, temporaryFor } from '../../support/temporary.ts'
import { differencesIn, entriesOf } from '../../support/whole-store.ts'

/** Begins every text of the evidence, and is one word of the search. */
const MARK = 'Zq8Kw2'
const EXTERNAL_ID = `${MARK}-id`
const mark = (name: string): string => `${MARK} ${name}`

/** Writes the mark through every field and route: a creation, two updates, files, links, idempotency keys. */
async function writeMarks({ evidences, registry, scope, stage }: Fixture): Promise<{ id: string; txIds: string[] }> {
  const [image, note] = [await stage(mark('image'), `${MARK}.png`, 'image/png'), await stage(mark('n'), `${MARK}.txt`)]
  const texts = { description: mark('d'), summary: mark('s'), meta: { [mark('key')]: mark('value') } }
  const input = { externalId: EXTERNAL_ID, name: mark('name'), owner: mark('owner'), ...texts, image }
  const filed = { category: { name: 'Tools' }, subcategory: { name: 'Drills' } }
  const { id } = await evidences.create(scope, { ...input, ...filed }, { idempotencyKey: `create-${EXTERNAL_ID}` })
  const change = { name: mark('name 2'), owner: mark('owner 2'), meta: { [mark('key 2')]: 1 }, files: [note] }
  const remarks = { updateDescription: mark('ud'), eventDescription: mark('ed'), persona: mark('p') }
  await evidences.update(scope, EXTERNAL_ID, { ...change, ...remarks }, { idempotencyKey: `update-${MARK}` })
  await evidences.update(scope, EXTERNAL_ID, { updateType: 'stolen' })
  const share = { fields: ['name', 'externalId', 'owner'], files: 'all' } as const
  await registry.shares.create(scope, EXTERNAL_ID, share, { idempotencyKey: `share-${MARK}` })
  const { events } = await evidences.get(scope, EXTERNAL_ID)
  return { id, txIds: events.map(({ txId }) => txId) }
}

/** Every key and value with the mark, as it is, in base64 or percent-encoded. Values are read as Latin-1. */
async function marked({ stores: { records } }: Pick<Fixture, 'stores'>): Promise<readonly string[]> {
  const encoded = Buffer.from(MARK).toString('base64').slice(0, 7)
  const texts = (await entriesOf(records)).map(({ key, value }) => `${key} ${Buffer.from(value).toString('latin1')}`)
  const payloads = await records.readPayloads(0, await records.logSize())
  return [...texts, ...payloads.map((payload) => Buffer.from(payload).toString('latin1'))].filter((text) =>
    [MARK, MARK.toLowerCase(), encoded].some((form) => text.includes(form)),
  )
}

const shown = ({ version, owner, erased = [] }: HistoryEvent) => [version, owner, erased.map(({ field }) => field)]

const erasuresIn = async ({ stores: { records } }: Pick<Fixture, 'stores'>): Promise<readonly ErasureRecord[]> =>
  (await listEntries(records, keys.allErasures())).map((entry) => decodeRecord(entry))

const CONTENT: ErasureInput = { content: true, reason: 'request', note: 'asked by letter' }

describe('erasing the content of an evidence', () => {
  it('leaves nothing of it in the store, and every txId as it was', async (fixture) => {
    const { evidences, registry, scope, stores } = fixture
    const { id, txIds } = await writeMarks(fixture)
    const { files: before } = await stores.blobState()
    assert.equal(before.length, 2)
    const { erased, receipt, disk } = await evidences.erase(scope, EXTERNAL_ID, CONTENT)
    assert.equal(disk, 'done')
    assert.deepEqual(await marked(fixture), [])
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [], stored: [] })

    await rejectsWith('EVIDENCE_NOT_FOUND', evidences.get(scope, EXTERNAL_ID))
    const page = await evidences.get(scope, id, { disclose: true })
    assert.deepEqual([page.evidence.externalId, page.evidence.name, page.evidence.status], [id, '', 'stolen'])
    assert.deepEqual(page.evidence.erased?.map(({ field }) => field).toSorted(), [
      'description',
      'externalId',
      'meta',
      'name',
      'owner',
      'summary',
    ])
    assert.deepEqual(
      page.events.map(({ txId }) => txId),
      txIds,
    )
    for (const { disclosure, txId } of page.events)
      assert.equal(toHex(entryOf(present(fromHex(present(disclosure).opening)))), txId)
    assert.equal(erased.filter(({ field }) => field === 'externalId').length, page.events.length)
    assert.deepEqual((await evidences.files(scope, id)).evidence, [])
    for (const words of [MARK, 'owner']) assert.equal((await evidences.list(scope, { words })).count, 0)
    assert.equal((await evidences.list(scope, { externalIdPrefix: id })).count, 1)

    const [record] = await erasuresIn(fixture)
    const { salt, text, txId, note } = present(record)
    assert.equal(txId, receipt?.txId)
    assert.equal(toHex(entryOf(erasureOpening(receiptHash(present(fromHex(salt)), text)))), txId)
    assert.ok(note === 'asked by letter' && !text.includes(note))
    await registry.sealNow()
    await assertIntact(fixture)
  })

  it('frees the external id, also for who has cached it', async (fixture) => {
    const { evidences, scope, stores } = fixture
    await fixture.evidence({ externalId: 'e-1', name: 'first' })
    const other = await openFixture({ stores })
    await other.evidences.get(scope, 'e-1')
    await evidences.erase(scope, 'e-1', CONTENT)
    await rejectsWith('EVIDENCE_NOT_FOUND', other.evidences.get(scope, 'e-1'))
    await other.evidence({ externalId: 'e-1', name: 'second' })
    for (const one of [evidences, other.evidences]) assert.equal((await one.get(scope, 'e-1')).evidence.name, 'second')
    await other.close()
    await assertIntact(fixture)
  })

  it('gives no proof under an external id that it frees meanwhile', async (fixture) => {
    const { stores, system } = fixture
    const erase = (scope: Fixture['scope']) => fixture.evidences.erase(scope, 'e-1', CONTENT)
    const racing: Fixture['scope'][] = []
    const get: Fixture['stores']['records']['get'] = async (wanted) => {
      if (wanted.some((key) => key.startsWith('ev/'))) await Promise.all(racing.splice(0).map(erase))
      return stores.records.get(wanted)
    }
    const other = await openFixture({ stores, records: { get } })
    const filed = { category: { name: 'Tools' }, subcategory: { name: 'Drills' }, externalId: 'e-1', name: 'x' }
    const { scope: foreign } = await system('A', 'other')
    const statuses: string[] = []
    for (const scopes of [[fixture.scope], [fixture.scope, foreign]]) {
      for (const scope of scopes) await fixture.evidences.create(scope, filed)
      racing.push(fixture.scope)
      statuses.push((await other.proofs.evidence({ evidenceId: 'e-1' })).status)
    }
    assert.deepEqual(statuses, ['not_found', 'pending'])
    await other.close()
  })

  it('goes on with the internal id as the external one, and erases again what is new', async (fixture) => {
    const { evidences, scope } = fixture
    await fixture.evidence({ name: 'first', owner: 'Ada' })
    const { evidence } = await evidences.get(scope, 'e-1')
    await evidences.erase(scope, 'e-1', CONTENT)
    await evidences.update(scope, evidence.id, { name: 'second' })
    const { evidence: named } = await evidences.get(scope, evidence.id)
    assert.deepEqual(
      [named.name, named.erased?.map(({ field }) => field).toSorted()],
      ['second', ['externalId', 'owner']],
    )
    await assertIntact(fixture)
    const { erased } = await evidences.erase(scope, evidence.id, CONTENT)
    assert.deepEqual(erased, [{ version: 2, field: 'name' }])
    await assertIntact(fixture)
  })

  it('keeps what an idempotency key has returned', async ({ evidences, scope }) => {
    const input = { ...inCategory('Tools', 'Drills'), externalId: EXTERNAL_ID, name: 'A drill' }
    const options = { idempotencyKey: `create-${EXTERNAL_ID}` }
    const { id } = await evidences.create(scope, input, options)
    await evidences.erase(scope, EXTERNAL_ID, CONTENT)
    assert.equal((await evidences.create(scope, input, options)).id, id)
  })

  it('is refused while another evidence has its internal id as external id', async (fixture) => {
    const { evidences, scope } = fixture
    await fixture.evidence()
    const { id } = (await evidences.get(scope, 'e-1')).evidence
    await fixture.evidence({ externalId: id })
    await rejectsWith('EXTERNAL_ID_EXISTS', evidences.erase(scope, 'e-1', CONTENT))
    await evidences.erase(scope, id, CONTENT)
    await evidences.erase(scope, 'e-1', CONTENT)
    await assertIntact(fixture)
  })

  test('removes old values from the files of LevelDB, and keys of indexes when it is opened again', async (t) => {
    const directory = await temporaryFor(t)
    const database = (folder: string) =>
      new Level<string, Uint8Array>(folder, { keyEncoding: 'utf8', valueEncoding: 'view', compression: false })
    const records = await openLevelRecords(directory, { database })
    t.after(() => records.close())
    const fixture = await openFixture({ t, registry: { records, smallFileBytes: 4_096 } })
    const { evidences, scope, clock } = fixture
    const inKeys = ['zq8kwname', 'zq8kwid']
    const [description, persona, content] = ['Zq8KwDescription', 'Zq8KwPersona', 'Zq8KwContent']
    const file = await fixture.stage(content, 'Zq8KwFile')
    await fixture.evidence({
      externalId: 'zq8kwid',
      name: 'zq8kwname',
      owner: 'Zq8KwOwner',
      description,
      files: [file],
    })
    await evidences.update(scope, 'zq8kwid', { persona, meta: { text: 'Zq8KwMeta' } })
    const texts = [
      description,
      persona,
      'Zq8KwFile',
      'Zq8KwMeta',
      'Zq8KwOwner',
      Buffer.from(content).toString('base64'),
    ]
    for (const text of texts) assert.ok(await isOnDisk(directory, text), `${text} is there before`)
    assert.equal((await evidences.erase(scope, 'zq8kwid', CONTENT)).disk, 'pending')
    await eventually(async () => {
      await clock.advance(60_000)
      return (await listEntries(records, keys.pendingErasures())).every(
        (entry) => decodeRecord(entry).keys.length === 0,
      )
    })
    for (const text of texts) assert.ok(!(await isOnDisk(directory, text)), `${text} is erased`)
    const { items } = await evidences.erasures(scope)
    const [erasure] = items as readonly EvidenceErasure[]
    assert.equal(erasure?.disk, 'pending')
    for (const text of inKeys) assert.ok(await isOnDisk(directory, text), `${text} is in LOG and the manifest`)

    await fixture.close()
    const again = await openLevelRecords(directory, { database })
    for (const text of inKeys) assert.ok(!(await isOnDisk(directory, text)), `${text} is erased`)
    assert.equal(await endErasures(again), 1)
    assert.deepEqual(await listEntries(again, keys.pendingErasures()), [])
    await again.close()
  })

  test('has a place for every family of records that holds text', () => {
    const families = new Set(FAMILIES.map(({ range }) => range.gte.slice(0, 2)))
    // A family that holds text of evidences joins `PLACES`, and any other one this list.
    const without = [...families].filter((family) => !PLACES.has(family)).toSorted()
    assert.deepEqual(without, FAMILIES_WITHOUT_TEXT)
    for (const family of PLACES.keys()) assert.ok(families.has(family), family)
  })
})

const FAMILIES_WITHOUT_TEXT = (
  'ac ah an at au ba bd bi br bs bx ca cc cl cn co cp cs cu ec ef ej el er es fc fo ie ik it lc le lg ln lu lv op pe ' +
  'sh sk sl sn sp sr ss st te th ti up wi'
).split(' ')

describe('erasing fields of an evidence', () => {
  /** Three owners: of the creation, and of two transfers with another event between them. */
  async function withOwners({ evidence, evidences, scope }: Fixture): Promise<void> {
    await evidence({ owner: 'Ada', summary: 'a drill' })
    await evidences.update(scope, 'e-1', { eventDescription: 'looked at' })
    await evidences.update(scope, 'e-1', { owner: 'Bo', persona: 'Eve' })
    await evidences.update(scope, 'e-1', { owner: 'Cy' })
  }

  it('erases an owner with its name on the events up to the next owner', async (fixture) => {
    const { evidences, scope } = fixture
    await withOwners(fixture)
    const { erased } = await evidences.erase(scope, 'e-1', { fields: ['owner'], versions: [1], reason: 'mistake' })
    assert.deepEqual(erased, [{ version: 1, field: 'owner' }])
    const { events, evidence } = await evidences.get(scope, 'e-1')
    assert.deepEqual(events.map(shown), [
      [1, '', ['owner']],
      [2, '', ['owner']],
      [3, 'Bo', []],
      [4, 'Cy', []],
    ])
    assert.deepEqual([evidence.owner, evidence.erased], ['Cy', undefined])
    await assertIntact(fixture)

    await evidences.erase(scope, 'e-1', { fields: ['owner', 'personaName'], reason: 'court' })
    const { events: later, evidence: after } = await evidences.get(scope, 'e-1')
    assert.deepEqual(
      later.map(({ owner, persona }) => [owner, persona]),
      Array.from({ length: 4 }, () => ['', undefined]),
    )
    assert.deepEqual(
      [after.owner, after.summary, after.erased?.map(({ field }) => field)],
      [undefined, 'a drill', ['owner']],
    )
    assert.equal((await evidences.list(scope, { owner: 'Cy' })).count, 0)
    await assertIntact(fixture)
  })

  it('keeps the times of later owners that were erased before', async (fixture) => {
    const { clock, evidences, scope } = fixture
    await withOwners(fixture)
    const shownAfter = async (versions: number[]) => {
      await evidences.erase(scope, 'e-1', { fields: ['owner'], versions, reason: 'court' })
      return evidences.get(scope, 'e-1')
    }
    const before = await shownAfter([3, 4])
    await clock.advance(1_000)
    const after = await shownAfter([1])
    assert.deepEqual([after.evidence, after.events.slice(2)], [before.evidence, before.events.slice(2)])
    await assertIntact(fixture)
  })

  it('does nothing if all was erased before, and changes nothing for what is not there', async (fixture) => {
    const { evidences, scope, stores } = fixture
    await withOwners(fixture)
    const input: ErasureInput = { fields: ['summary'], reason: 'retention' }
    await evidences.erase(scope, 'e-1', input)
    const before = await stores.records.logSize()
    assert.deepEqual(await evidences.erase(scope, 'e-1', input), { erased: [], disk: 'done' })
    const refused: readonly (readonly [object, field: string])[] = [
      [{ fields: ['description'] }, 'fields'],
      [{ fields: ['summary'], versions: [2] }, 'fields'],
      [{ fields: ['summary'], versions: [9] }, 'versions'],
      [{ fields: ['status'] }, 'fields[0]'],
      [{ files: [scope.companyId] }, 'files[0]'],
      [{ files: ['0192f1a0-7c3e-7abc-8def-0123456789ab'] }, 'files'],
      [{ content: true, versions: [1] }, 'versions'],
    ]
    for (const [parts, field] of refused)
      await assert.rejects(evidences.erase(scope, 'e-1', { reason: 'other', ...parts }), {
        code: 'VALIDATION_ERROR',
        field,
      })
    const both = { fields: ['name'], content: true, reason: 'other' } as const
    for (const wrong of [both, { reason: 'other' } as const])
      await rejectsWith('VALIDATION_ERROR', evidences.erase(scope, 'e-1', wrong))
    await rejectsWith('VERSION_CONFLICT', evidences.erase(scope, 'e-1', CONTENT, { ifVersion: 1 }))
    const { scope: updater } = await fixture.system('U')
    await rejectsWith('FORBIDDEN', evidences.erase(updater, 'e-1', CONTENT))
    assert.equal(await stores.records.logSize(), before)
  })

  it('erases a file and the image, without an event', async (fixture) => {
    const { evidences, files, scope, stores, registry } = fixture
    const [image, note] = [await fixture.stage('a', 'a.png', 'image/png'), await fixture.stage('b', 'b.txt')]
    await fixture.evidence({ image, files: [note] })
    const { erased } = await evidences.erase(scope, 'e-1', { files: [image.id.toUpperCase()], reason: 'request' })
    assert.deepEqual(erased, [{ version: 1, field: 'files', file: image.id }])
    const { evidence, events } = await evidences.get(scope, 'e-1')
    assert.deepEqual([evidence.image, evidence.version], [undefined, 1])
    assert.deepEqual(
      present(events[0]).erased?.map(({ file }) => file),
      [image.id],
    )
    assert.deepEqual((await stores.blobState()).stored, [note.id])
    await rejectsWith('FILE_NOT_FOUND', files.find(scope, { fileId: image.id }))
    await rejectsWith('FILE_NOT_FOUND', files.delete(scope, { externalId: 'e-1', fileId: image.id }))
    await files.delete(scope, { externalId: 'e-1', fileId: note.id })
    await registry.sealNow()
    assert.equal((await registry.proofs.file({ evidenceId: 'e-1', fileId: image.id })).status, 'ok')
    const bundle = await registry.proofs.publicBundle({ evidenceId: 'e-1', fileId: image.id })
    assert.equal(bundle.status, 'ok')
    await assertIntact(fixture)
  })

  it('only says what would go in a dry run', async (fixture) => {
    const { evidences, scope, stores } = fixture
    const files = [await fixture.stage(), await fixture.stage()]
    await fixture.evidence({ owner: 'Ada', files: files.toReversed() })
    const { version: before } = present((await entriesOf(stores.records)).find(({ key }) => key.startsWith('ev/')))
    const { erased, receipt } = await evidences.erase(scope, 'e-1', { ...CONTENT, dryRun: true })
    assert.deepEqual(
      [erased.map(({ field, file }) => file ?? field), receipt],
      [['externalId', 'name', 'owner', ...files.map(({ id }) => id)], undefined],
    )
    assert.equal((await entriesOf(stores.records)).find(({ key }) => key.startsWith('ev/'))?.version, before)
    assert.equal((await stores.blobState()).stored.length, 2)
    await assertIntact(fixture)
  })

  it('is listed, newest first', async (fixture) => {
    const { evidences, scope } = fixture
    await withOwners(fixture)
    for (const field of ['summary', 'owner', 'eventDescription'] as const)
      await evidences.erase(scope, 'e-1', { fields: [field], reason: 'retention', note: field })
    const first = await evidences.erasures(scope, { limit: 2 })
    const rest = await evidences.erasures(scope, { after: present(first.items[1]).id })
    assert.deepEqual([first.hasMore, rest.hasMore], [true, false])
    const items = [...first.items, ...rest.items]
    assert.deepEqual(
      items.map(({ note }) => note),
      ['eventDescription', 'owner', 'summary'],
    )
    const { id } = (await evidences.get(scope, 'e-1')).evidence
    const [{ evidenceId, reason, by, disk, erased }] = rest.items as [EvidenceErasure]
    assert.deepEqual([evidenceId, reason, by, disk], [id, 'retention', 'operator', 'done'])
    assert.deepEqual(erased, [{ version: 1, field: 'summary' }])
    await rejectsWith('VALIDATION_ERROR', evidences.erasures(scope, { after: 'x' }))
  })

  it('leaves the evidence erased or as it was if a commit fails', async (fixture) => {
    const { evidences, scope, process, stores } = fixture
    const { id } = await writeMarks(fixture)
    const before = (await marked(fixture)).length
    process.fail(1, 'before')
    await rejectsWith('UNAVAILABLE', evidences.erase(scope, EXTERNAL_ID, CONTENT))
    assert.equal((await marked(fixture)).length, before)
    process.fail(1, 'after')
    await rejectsWith('UNKNOWN_OUTCOME', evidences.erase(scope, EXTERNAL_ID, CONTENT))
    assert.deepEqual(await marked(fixture), [])
    assert.equal((await stores.blobState()).stored.length, 2)
    assert.deepEqual((await evidences.erase(scope, id, CONTENT)).erased, [])
    await fixture.clock.advance(600_000)
    assert.deepEqual((await stores.blobState()).stored, [], 'the sweep goes on')
    await assertIntact(fixture)
  })

  for (const when of ['before', 'after'] as const)
    test(`is done or not done as a whole if the process crashes ${when} any of its steps`, async () => {
      for (let step = 1, isReached = true; isReached; step += 1) {
        const fixture = await openFixture()
        const { evidences, scope, process, stores } = fixture
        await writeMarks(fixture)
        const before = (await marked(fixture)).length
        process.fail(step, when, true)
        await evidences.erase(scope, EXTERNAL_ID, CONTENT).catch(() => undefined)
        isReached = process.steps >= step
        await fixture.close().catch(() => undefined)
        const next = await openFixture({ stores })
        await next.clock.advance(600_000)
        const isUntouched = step === 1 && when === 'before'
        assert.equal((await marked(next)).length, isUntouched ? before : 0, `step ${step}`)
        assert.equal((await stores.blobState()).stored.length, isUntouched ? 2 : 0, `step ${step}`)
        await assertIntact(next)
        await next.close()
        assert.ok(isReached || step > 3, 'a commit and the deletions of two files')
      }
    })

  it('is not undone by an update that has read before', async (fixture) => {
    const { evidences, scope, stores, process } = fixture
    const other = await openFixture({ stores })
    await fixture.evidence({ owner: 'Ada', summary: 'secret' })
    process.interleave(() => other.evidences.erase(scope, 'e-1', { fields: ['summary', 'owner'], reason: 'request' }))
    await evidences.update(scope, 'e-1', { description: 'new' })
    await other.close()
    const { evidence, events } = await evidences.get(scope, 'e-1')
    assert.deepEqual([evidence.summary, evidence.owner, evidence.description], [undefined, undefined, 'new'])
    assert.equal(present(events[1]).owner, '')
    await assertIntact(fixture)
  })

  it('is compared by fsck with the events and the log', async (fixture) => {
    const { evidences, scope, stores } = fixture
    await withOwners(fixture)
    await evidences.erase(scope, 'e-1', { fields: ['owner'], versions: [4], reason: 'request' })
    const [erasure] = await listEntries(stores.records, keys.allErasures())
    const [entry] = (await listEntries(stores.records, keys.evidences())) as [StoredRecord<EvidenceRecord>]
    const evidence = decodeRecord(entry)
    const { key, value } = present(erasure)
    const damages: readonly (readonly [kind: string, key: string, text: string])[] = [
      ['evidence', entry.key, evidenceText({ ...evidence, owner: 'Cy' })],
      ['evidence', entry.key, evidenceText({ ...evidence, erased: undefined })],
      ['erasure', key, decodeUtf8(value).replace('"request"', '"mistake"').replace('\\"request', '\\"mistake')],
      ['erasure', key, decodeUtf8(value).replace('"fields":["owner"]', '"fields":["name"]')],
    ]
    for (const [kind, damaged, text] of damages) {
      const [before] = await stores.records.get([damaged])
      await stores.records.commit({
        writes: [
          {
            key: damaged,
            value: kind === 'evidence' ? withPosition(encodeUtf8(text), evidence.lastPosition) : encodeUtf8(text),
          },
        ],
      })
      const found = await differencesIn({ records: stores.records, blobs: stores.blobs })
      assert.ok(
        found.some((difference) => difference.kind === kind && difference.key === damaged),
        `${kind} ${text}`,
      )
      await stores.records.commit({ writes: [{ key: damaged, value: present(before).value }] })
    }
    await assertIntact(fixture)
  })
})
