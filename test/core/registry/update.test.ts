import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { EvidenceChange, HistoryEvent } from '../../../core/index.ts'
import { it, withStatus, type Fixture, assertIntact } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

/** The values of an evidence with all of them set. */
const CURRENT = { owner: 'Ada', description: 'old', summary: 'sum', meta: { a: 1 } }

/** The types of the events after the first one, such as `update/change transfer update/addfile`. */
const kinds = (events: readonly HistoryEvent[]): string =>
  events
    .slice(1)
    .map(({ type, updateType }) => (updateType === undefined ? type : `${type}/${updateType}`))
    .join(' ')

async function updated(fixture: Fixture, update: EvidenceChange, files = 0) {
  const { evidences, scope, evidence, stage } = fixture
  await evidence(CURRENT)
  const staged = await Promise.all(Array.from({ length: files }, (_, i) => stage(`${i}`)))
  const answer = await evidences.update(scope, 'e-1', { ...update, files: staged })
  return { ...(await evidences.get(scope, 'e-1', { disclose: true })), answer, staged }
}

/** The values that an event commits to, without those that every event has. */
function committed({ disclosure }: HistoryEvent): Record<string, unknown> {
  const fields = Object.values(disclosure?.fields ?? {}).map(({ text }) => JSON.parse(text) as [string, unknown])
  const common = new Set(['action', 'actor', 'company', 'evidence', 'externalId'])
  return Object.fromEntries(fields.filter(([name]) => !common.has(name)))
}

describe('what an update records', () => {
  const cases: readonly [string, EvidenceChange, number, string][] = [
    ['a new description', { description: 'new' }, 0, 'update/change'],
    ['a new summary', { summary: 'new' }, 0, 'update/change'],
    ['a new meta', { meta: { a: 2 } }, 0, 'update/change'],
    ['several at once', { description: 'new', clear: ['summary', 'meta'] }, 0, 'update/change'],
    ['a new name', { name: 'new' }, 0, 'update/change'],
    ['an empty meta', { meta: {} }, 0, 'update/change'],
    ['another owner', { owner: 'Grace' }, 0, 'transfer'],
    ['no owner', { clear: ['owner'] }, 0, 'transfer'],
    ['files', {}, 2, 'update/addfile'],
    ['content and owner', { description: 'new', owner: 'Grace' }, 0, 'update/change transfer'],
    ['content, owner and files', { description: 'new', owner: 'Grace' }, 1, 'update/change transfer update/addfile'],
    ['owner and files', { owner: 'Grace' }, 3, 'transfer update/addfile'],
    ['content and files', { summary: 'new' }, 1, 'update/change update/addfile'],
    ['only a text', { updateDescription: 'x' }, 0, 'update/custom'],
    ['only a persona', { persona: 'x' }, 0, 'update/custom'],
    ['only an event description', { eventDescription: 'x' }, 0, 'update/custom'],
    ['a text and equal values', { eventDescription: 'x', ...CURRENT }, 0, 'update/custom'],
    ['a text and an owner', { eventDescription: 'x', owner: 'Grace' }, 0, 'transfer'],
    ['a text and a file', { eventDescription: 'x' }, 1, 'update/addfile'],
    ['a text and content', { eventDescription: 'x', description: 'new' }, 0, 'update/change'],
    ['equal values and a new one', { ...CURRENT, summary: 'new' }, 0, 'update/change'],
    ['a given type and no change', { updateType: 'repair' }, 0, 'update/repair'],
    ['a given type and equal values', { updateType: 'change', ...CURRENT }, 0, 'update/change'],
    ['a given type and content', { updateType: 'custom', description: 'new' }, 0, 'update/custom'],
    [
      'a given type, owner and file',
      { updateType: 'repair', owner: 'Grace' },
      1,
      'update/repair transfer update/addfile',
    ],
    ['stolen', { updateType: 'stolen' }, 0, 'update/stolen'],
    ['not stolen', { updateType: 'stolen', stolen: false }, 0, 'update/stolen'],
    ['an update, as expected type', { expectedType: 'update', description: 'new' }, 0, 'update/change'],
    ['an update by a file, as expected type', { expectedType: 'update' }, 1, 'update/addfile'],
    ['a transfer, as expected type', { expectedType: 'transfer', owner: 'Grace' }, 0, 'transfer'],
    [
      'a transfer with content, as expected type',
      { expectedType: 'transfer', owner: 'Grace', summary: 'x' },
      0,
      'update/change transfer',
    ],
  ]
  for (const [what, update, files, expected] of cases)
    it(`${what}: ${expected}`, async (fixture) => {
      const { events, answer } = await updated(fixture, update, files)
      assert.equal(kinds(events), expected)
      assert.equal(answer.flatMap((event) => event.files ?? []).length, files)
      assert.deepEqual(
        answer.map(({ files: _, ...event }) => event),
        events
          .slice(1)
          .map(({ type, updateType, txId, version }) => ({ type, ...(updateType && { updateType }), txId, version })),
      )
    })

  const refusals: readonly [string, EvidenceChange, number][] = [
    ['nothing', {}, 0],
    ['equal values', CURRENT, 0],
    ['equal meta with other order and spelling', { meta: JSON.parse('{"a":1.0}') as { a: number } }, 0],
    ['empty texts', { updateDescription: '', persona: '', eventDescription: '' }, 0],
    ['empty values', { owner: '', description: '', summary: '' }, 0],
    ['a text that is cleared and given', { description: 'new', clear: ['description'] }, 0],
    ['a meta that is cleared and given', { meta: {}, clear: ['meta'] }, 0],
    ['a name to clear', { clear: ['name' as 'owner'] }, 0],
    ['an expected update that is a transfer', { expectedType: 'update', owner: 'Grace' }, 0],
    ['an expected transfer to the same owner', { expectedType: 'transfer', owner: 'Ada', description: 'new' }, 0],
    ['an expected transfer without an owner', { expectedType: 'transfer' }, 1],
    ['an expected transfer with an update type', { expectedType: 'transfer', updateType: 'repair' }, 0],
    ['an expected update that changes nothing', { expectedType: 'update' }, 0],
    ['stolen without the type', { stolen: true }, 0],
    ['stolen with another type', { stolen: false, updateType: 'repair' }, 0],
    ['an unknown type', { updateType: 'addfile' as 'custom' }, 0],
    ['a meta that canonical JSON cannot hold', { meta: { a: [-0] } }, 0],
    ['an unknown field', { title: 'new' } as EvidenceChange, 0],
    ['an empty name', { name: '' }, 0],
  ]
  for (const [what, update, files] of refusals)
    it(`rejects ${what}`, async (fixture) => {
      await rejectsWith('VALIDATION_ERROR', updated(fixture, update, files))
      const { evidences, scope, stores } = fixture
      const { evidence: stored, events } = await evidences.get(scope, 'e-1')
      assert.deepEqual([events.length, stored.owner, stored.description, stored.meta], [1, 'Ada', 'old', { a: 1 }])
      assert.equal((await stores.blobState()).intents, files, 'the staged files can still be used')
    })
})

describe('after an update', () => {
  it('the evidence has the new values, and no cleared ones', async (fixture) => {
    const { evidence: stored, events } = await updated(fixture, {
      name: 'renamed',
      summary: 'new',
      clear: ['description', 'meta', 'owner'],
    })
    assert.equal(stored.name, 'renamed')
    assert.deepEqual(
      ['description' in stored, stored.summary, 'meta' in stored, 'owner' in stored],
      [false, 'new', false, false],
    )
    assert.deepEqual(committed(events[1] as HistoryEvent), {
      name: 'renamed',
      description: '',
      summary: 'new',
      meta: {},
    })
    assert.deepEqual(committed(events[2] as HistoryEvent), { owner: '' })
    assert.equal(events[2]?.owner, '')
    // A value that was removed cannot be removed again.
    const { evidences, scope } = fixture
    const again: EvidenceChange = { clear: ['description', 'meta', 'owner'] }
    await rejectsWith('VALIDATION_ERROR', evidences.update(scope, 'e-1', again))
    await evidences.update(scope, 'e-1', { meta: {} })
    assert.deepEqual((await evidences.get(scope, 'e-1')).evidence.meta, {})
    await evidences.update(scope, 'e-1', again)
    assert.equal('meta' in (await evidences.get(scope, 'e-1')).evidence, false)
    await fixture.registry.sealNow()
    await assertIntact(fixture)
  })

  it('meta is replaced completely', async (fixture) => {
    assert.deepEqual((await updated(fixture, { meta: { b: [{}] } })).evidence.meta, { b: [{}] })
  })

  it('no transfer is recorded for an owner who is only written in another way', async (fixture) => {
    const { evidences, scope, evidence } = fixture
    await evidence({ externalId: 'a', owner: 'J\u00f6rg' })
    const change = { owner: ' Jo\u0308rg' }
    await rejectsWith('VALIDATION_ERROR', evidences.update(scope, 'a', change))
    for (const owner of ['J\u00f6rg', 'JO\u0308RG '])
      assert.equal((await evidences.list(scope, { owner })).items.length, 1)
  })

  it('each event has the owner of its time', async (fixture) => {
    const { events } = await updated(fixture, { description: 'new', owner: 'Grace' }, 1)
    const owners = events.map(({ owner }) => owner)
    assert.deepEqual(owners, ['Ada', 'Ada', 'Grace', 'Grace'])
  })

  it('the texts and the meta of the update are on each of its events, and on no other', async (fixture) => {
    const texts = { updateDescription: 'why', persona: 'who', eventDescription: 'what' }
    const { events } = await updated(fixture, { ...texts, owner: 'Grace', meta: { b: 1 } }, 1)
    assert.equal(kinds(events), 'update/change transfer update/addfile')
    for (const event of events.slice(1)) {
      const { updateDescription, persona, eventDescription, meta } = event
      assert.deepEqual([updateDescription, persona, eventDescription, meta], ['why', 'who', 'what', { b: 1 }])
      const { owner, ...rest } = committed(event)
      assert.equal(owner, event.type === 'transfer' ? 'Grace' : undefined)
      assert.deepEqual(rest, {
        updateDescription: 'why',
        personaName: 'who',
        eventDescription: 'what',
        meta: { b: 1 },
      })
    }
    const { evidences, scope } = fixture
    await evidences.update(scope, 'e-1', { description: 'later' })
    const last = (await evidences.get(scope, 'e-1')).events.at(-1) as HistoryEvent
    assert.deepEqual([last.meta, last.persona, last.owner], [undefined, undefined, 'Grace'])
  })

  it('an event contains the meta of its update also if it changes nothing', async (fixture) => {
    const { events } = await updated(fixture, { meta: { a: 1 }, owner: 'Grace' })
    assert.equal(kinds(events), 'transfer')
    assert.deepEqual(events[1]?.meta, { a: 1 })
  })

  it('the status is stolen, until another update resets it', async (fixture) => {
    const { evidence: stored, events } = await updated(fixture, { updateType: 'stolen', description: 'at night' })
    assert.deepEqual([stored.status, stored.description], ['stolen', 'at night'])
    assert.deepEqual(committed(events[1] as HistoryEvent), { description: 'at night', status: 'stolen' })
    const { evidences, scope } = fixture
    const stolen = async () => (await evidences.list(scope)).items[0]?.status === 'stolen'
    assert.equal(await stolen(), true)
    await evidences.update(scope, 'e-1', { updateType: 'repair', description: 'still away' })
    assert.equal(await stolen(), true, 'another type does not change it')
    await evidences.update(scope, 'e-1', { updateType: 'stolen', stolen: false })
    const back = await evidences.get(scope, 'e-1', { disclose: true })
    assert.deepEqual([await stolen(), back.evidence.status], [false, 'active'])
    assert.deepEqual(committed(back.events.at(-1) as HistoryEvent), { status: 'active' })
    await evidences.update(scope, 'e-1', { updateType: 'stolen', stolen: true })
    assert.equal(await stolen(), true)
  })

  it('the files belong to the last event, and are counted', async (fixture) => {
    const { events, staged } = await updated(fixture, { description: 'new', owner: 'Grace' }, 2)
    const ids = staged.map(({ id }) => id).sort()
    assert.deepEqual(Object.keys(events[3]?.disclosure?.files ?? {}).sort(), ids)
    for (const event of events.slice(0, 3)) assert.equal(event.disclosure?.filesText, '{}')
    const { evidences, proofs, scope, stores } = fixture
    const { evidence: files } = await evidences.files(scope, 'e-1')
    assert.deepEqual(
      files.map(({ id, eventVersion }) => [id, eventVersion]),
      ids.map((id) => [id, 4]),
    )
    assert.equal(withStatus(await proofs.evidence({ evidenceId: 'e-1' }), 'pending').fileCount, 2)
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: ids, stored: ids })
  })

  it('the log contains the events in order', async (fixture) => {
    const { events } = await updated(fixture, { description: 'new', owner: 'Grace' }, 1)
    const log = Buffer.from(await fixture.stores.records.readLog(1, 10)).toString('hex')
    assert.equal(log, events.map(({ txId }) => txId).join(''))
  })
})

describe('simultaneous updates', () => {
  it('throw if ifVersion is not the current version, and record nothing', async ({ evidences, scope, evidence }) => {
    await evidence()
    await evidences.update(scope, 'e-1', { description: '1' }, { ifVersion: 1 })
    for (const ifVersion of [0, 1, 3])
      await rejectsWith('VERSION_CONFLICT', evidences.update(scope, 'e-1', { description: '2' }, { ifVersion }))
    await evidences.update(scope, 'e-1', { description: '2' }, { ifVersion: 2 })
    assert.equal((await evidences.get(scope, 'e-1')).lastVersion, 3)
  })

  it('are all recorded without a version, in one chain, with their files, without a second upload', async (fixture) => {
    const { evidences, scope, evidence, stage, stores } = fixture
    await evidence()
    const count = 250
    const files = await Promise.all(Array.from({ length: 20 }, (_, i) => stage(`${i}`)))
    const racers = Array.from({ length: count }, (_, i) => {
      const file = files[i]
      return evidences.update(scope, 'e-1', { description: `${i}`, ...(file && { files: [file] }) })
    })
    const recorded = await Promise.all(racers)
    assert.deepEqual(
      recorded.flatMap((events) => events.map(({ version }) => version)).sort((a, b) => a - b),
      Array.from({ length: count + 20 }, (_, i) => i + 2),
    )
    const { events } = await evidences.get(scope, 'e-1', { limit: 500, disclose: true })
    for (const [i, { disclosure }] of events.entries())
      if (i > 0) assert.equal((JSON.parse(disclosure?.header ?? '') as { prev: string }).prev, events[i - 1]?.txId)
    const { intents, files: used, stored } = await stores.blobState()
    assert.deepEqual([intents, used.length, stored.length], [0, 20, 20])
    const [item] = (await evidences.list(scope)).items
    const { create = 0, update = 0, transfer = 0 } = item?.eventCounts ?? {}
    assert.equal(create + update + transfer, count + 21)
  })
})
