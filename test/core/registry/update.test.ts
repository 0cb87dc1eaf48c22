import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EvidenceChange, HistoryEvent } from '../../../core/index.ts'
import { refused, withRegistry, withStatus, type Fixture } from '../../support/registry-fixture.ts'

/** An evidence with everything set. */
const CURRENT = { owner: 'Ada', description: 'old', summary: 'sum', meta: { a: 1 } }

/** What the events after the first are, in short: `update/change transfer update/addfile`. */
const kinds = (events: readonly HistoryEvent[]): string =>
  events
    .slice(1)
    .map(({ type, updateType }) => (updateType === undefined ? type : `${type}/${updateType}`))
    .join(' ')

async function updated(fixture: Fixture, update: EvidenceChange, files = 0) {
  const { registry: { evidences }, scope, evidence, stage } = fixture // prettier-ignore
  await evidence(CURRENT)
  const staged = await Promise.all(Array.from({ length: files }, (_, i) => stage(`${i}`)))
  const answer = await evidences.update(scope, 'e-1', { ...update, files: staged })
  return { ...(await evidences.get(scope, 'e-1', { disclose: true })), answer, staged }
}

/** The values that an event commits to beside those of every event. */
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
    ['several at once', { description: 'new', summary: '', meta: {} }, 0, 'update/change'],
    ['another owner', { owner: 'Grace' }, 0, 'transfer'],
    ['no owner any more', { owner: '' }, 0, 'transfer'],
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
    ['a named type where nothing changes', { updateType: 'repair' }, 0, 'update/repair'],
    ['a named type and equal values', { updateType: 'change', ...CURRENT }, 0, 'update/change'],
    ['a named type and content', { updateType: 'custom', description: 'new' }, 0, 'update/custom'],
    [
      'a named type, owner and file',
      { updateType: 'repair', owner: 'Grace' },
      1,
      'update/repair transfer update/addfile',
    ],
    ['stolen', { updateType: 'stolen' }, 0, 'update/stolen'],
    ['not stolen', { updateType: 'stolen', stolen: false }, 0, 'update/stolen'],
    ['an update, named', { expectedType: 'update', description: 'new' }, 0, 'update/change'],
    ['an update by a file, named', { expectedType: 'update' }, 1, 'update/addfile'],
    ['a transfer, named', { expectedType: 'transfer', owner: 'Grace' }, 0, 'transfer'],
    [
      'a transfer with content, named',
      { expectedType: 'transfer', owner: 'Grace', summary: 'x' },
      0,
      'update/change transfer',
    ],
  ]
  for (const [what, update, files, expected] of cases)
    it(`${what}: ${expected}`, () =>
      withRegistry(async (fixture) => {
        const { events, answer } = await updated(fixture, update, files)
        assert.equal(kinds(events), expected)
        assert.deepEqual(
          answer,
          events.slice(1).map(({ txId, version }) => ({ txId, version })),
        )
      }))

  const refusals: readonly [string, EvidenceChange, number][] = [
    ['nothing', {}, 0],
    ['equal values', CURRENT, 0],
    ['equal meta with other order and spelling', { meta: JSON.parse('{"a":1.0}') as { a: number } }, 0],
    ['empty texts', { updateDescription: '', persona: '', eventDescription: '' }, 0],
    ['an action update that is a transfer', { expectedType: 'update', owner: 'Grace' }, 0],
    ['an action transfer to the same owner', { expectedType: 'transfer', owner: 'Ada', description: 'new' }, 0],
    ['an action transfer without an owner', { expectedType: 'transfer' }, 1],
    ['an action transfer with a type', { expectedType: 'transfer', updateType: 'repair' }, 0],
    ['an action update that changes nothing', { expectedType: 'update' }, 0],
    ['stolen without the type', { stolen: true }, 0],
    ['stolen with another type', { stolen: false, updateType: 'repair' }, 0],
    ['an unknown type', { updateType: 'addfile' as 'custom' }, 0],
    ['a meta that does not survive', { meta: { a: [-0] } }, 0],
    ['an unknown field', { name: 'new' } as EvidenceChange, 0],
  ]
  for (const [what, update, files] of refusals)
    it(`is refused: ${what}`, () =>
      withRegistry(async (fixture) => {
        await assert.rejects(updated(fixture, update, files), refused('VALIDATION_ERROR'))
        const { registry: { evidences }, scope, world } = fixture // prettier-ignore
        const { evidence: stored, events } = await evidences.get(scope, 'e-1')
        assert.deepEqual([events.length, stored.owner, stored.description, stored.meta], [1, 'Ada', 'old', { a: 1 }])
        assert.equal((await world.blobState()).intents, files, 'staged files are still the caller’s')
      }))
})

describe('what an update leaves', () => {
  it('is the new state, with empty values cleared', () =>
    withRegistry(async (fixture) => {
      const { evidence: stored, events } = await updated(fixture, {
        description: '',
        summary: 'new',
        meta: {},
        owner: '',
      })
      assert.deepEqual(
        ['description' in stored, stored.summary, 'meta' in stored, 'owner' in stored],
        [false, 'new', false, false],
      )
      assert.deepEqual(committed(events[1] as HistoryEvent), { description: '', summary: 'new', meta: {} })
      assert.deepEqual(committed(events[2] as HistoryEvent), { owner: '', meta: {} })
      // What is cleared can be cleared no more.
      const { registry: { evidences }, scope } = fixture // prettier-ignore
      const again = { description: '', meta: {}, owner: '' }
      await assert.rejects(evidences.update(scope, 'e-1', again), refused('VALIDATION_ERROR'))
    }))

  it('replaces meta as a whole', () =>
    withRegistry(async (fixture) => {
      assert.deepEqual((await updated(fixture, { meta: { b: [{}] } })).evidence.meta, { b: [{}] })
    }))

  it('has the owner of its time on each event', () =>
    withRegistry(async (fixture) => {
      const { events } = await updated(fixture, { description: 'new', owner: 'Grace' }, 1)
      assert.deepEqual(
        events.map(({ owner }) => owner),
        ['Ada', 'Ada', 'Grace', 'Grace'],
      )
    }))

  it('has the request’s texts and meta on every event of it, and on no other', () =>
    withRegistry(async (fixture) => {
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
      const { registry: { evidences }, scope } = fixture // prettier-ignore
      await evidences.update(scope, 'e-1', { description: 'later' })
      const last = (await evidences.get(scope, 'e-1')).events.at(-1) as HistoryEvent
      assert.deepEqual([last.meta, last.persona, last.owner], [undefined, undefined, 'Grace'])
    }))

  it('shows an equal meta on the event of its request', () =>
    withRegistry(async (fixture) => {
      const { events } = await updated(fixture, { meta: { a: 1 }, owner: 'Grace' })
      assert.equal(kinds(events), 'transfer')
      assert.deepEqual(events[1]?.meta, { a: 1 })
    }))

  it('sets the stolen flag and takes it back', () =>
    withRegistry(async (fixture) => {
      const { evidence: stored, events } = await updated(fixture, { updateType: 'stolen', description: 'at night' })
      assert.deepEqual([stored.status, stored.description], ['stolen', 'at night'])
      assert.deepEqual(committed(events[1] as HistoryEvent), { description: 'at night', status: 'stolen' })
      const { registry: { evidences }, scope } = fixture // prettier-ignore
      const stolen = async () => (await evidences.list(scope)).items[0]?.status === 'stolen'
      assert.equal(await stolen(), true)
      await evidences.update(scope, 'e-1', { updateType: 'repair', description: 'still away' })
      assert.equal(await stolen(), true, 'another type leaves it')
      await evidences.update(scope, 'e-1', { updateType: 'stolen', stolen: false })
      const back = await evidences.get(scope, 'e-1', { disclose: true })
      assert.deepEqual([await stolen(), back.evidence.status], [false, 'active'])
      assert.deepEqual(committed(back.events.at(-1) as HistoryEvent), { status: 'active' })
      await evidences.update(scope, 'e-1', { updateType: 'stolen', stolen: true })
      assert.equal(await stolen(), true)
    }))

  it('has its files on the last event, and counts them', () =>
    withRegistry(async (fixture) => {
      const { events, staged } = await updated(fixture, { description: 'new', owner: 'Grace' }, 2)
      const ids = staged.map(({ id }) => id).sort()
      assert.deepEqual(Object.keys(events[3]?.disclosure?.files ?? {}).sort(), ids)
      for (const event of events.slice(0, 3)) assert.equal(event.disclosure?.filesText, '{}')
      const { registry: { evidences, proofs }, scope, world } = fixture // prettier-ignore
      const { evidence: files } = await evidences.files(scope, 'e-1')
      assert.deepEqual(
        files.map(({ id, eventVersion }) => [id, eventVersion]),
        ids.map((id) => [id, 4]),
      )
      assert.equal(withStatus(await proofs.evidence({ evidenceId: 'e-1' }), 'pending').fileCount, 2)
      assert.deepEqual(await world.blobState(), { intents: 0, dooms: 0, files: ids, stored: ids })
    }))

  it('is in the log in the order of its events', () =>
    withRegistry(async (fixture) => {
      const { events } = await updated(fixture, { description: 'new', owner: 'Grace' }, 1)
      const log = Buffer.from(await fixture.world.records.readLog(1, 10)).toString('hex')
      assert.equal(log, events.map(({ txId }) => txId).join(''))
    }))
})

describe('updates at the same time', () => {
  it('are refused where If-Match names another version, and nothing is recorded', () =>
    withRegistry(async ({ registry: { evidences }, scope, evidence }) => {
      await evidence()
      await evidences.update(scope, 'e-1', { description: '1' }, { ifVersion: 1 })
      for (const ifVersion of [0, 1, 3])
        await assert.rejects(
          evidences.update(scope, 'e-1', { description: '2' }, { ifVersion }),
          refused('VERSION_CONFLICT'),
        )
      await evidences.update(scope, 'e-1', { description: '2' }, { ifVersion: 2 })
      assert.equal((await evidences.get(scope, 'e-1')).lastVersion, 3)
    }))

  it('have one winner where all name the version', () =>
    withRegistry(async ({ registry: { evidences }, scope, evidence }) => {
      await evidence()
      const racers = Array.from({ length: 10 }, (_, i) =>
        evidences.update(scope, 'e-1', { description: `${i}` }, { ifVersion: 1 }),
      )
      const results = await Promise.allSettled(racers)
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const result of results)
        if (result.status === 'rejected') assert.equal((result.reason as { code: string }).code, 'VERSION_CONFLICT')
    }))

  it('are all recorded without it, in one chain, with their files, and none uploads twice', () =>
    withRegistry(async ({ registry: { evidences }, scope, evidence, stage, world }) => {
      await evidence()
      const count = 250
      const files = await Promise.all(Array.from({ length: 20 }, (_, i) => stage(`${i}`)))
      const racers = Array.from({ length: count }, (_, i) => {
        const file = files[i]
        return evidences.update(scope, 'e-1', { description: `${i}`, ...(file && { files: [file] }) })
      })
      const answers = await Promise.all(racers)
      const versions = answers.flatMap((events) => events.map(({ version }) => version)).sort((a, b) => a - b)
      assert.deepEqual(
        versions,
        Array.from({ length: count + 20 }, (_, i) => i + 2),
      )
      const { events } = await evidences.get(scope, 'e-1', { limit: 500, disclose: true })
      for (const [i, { disclosure }] of events.entries())
        if (i > 0) assert.equal((JSON.parse(disclosure?.header ?? '') as { prev: string }).prev, events[i - 1]?.txId)
      const { intents, files: used, stored } = await world.blobState()
      assert.deepEqual([intents, used.length, stored.length], [0, 20, 20])
      const [item] = (await evidences.list(scope)).items
      const { create = 0, update = 0, transfer = 0 } = item?.eventCounts ?? {}
      assert.equal(create + update + transfer, count + 21)
    }))
})
