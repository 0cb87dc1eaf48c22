import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RegistryError, type CompanyEvent, type EventPage, type Registry, type Scope } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { createMany, numbered } from '../../support/many-evidences.ts'
import { openFixture, inCategory, it, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

/** The pages of the feed from a cursor on, until there is no more. */
async function read(registry: Registry, scope: Scope, query: { after?: string; limit?: number } = {}) {
  const pages: EventPage[] = []
  for (let after = query.after; pages.at(-1)?.hasMore !== false; after = pages.at(-1)?.cursor)
    pages.push(await registry.evidences.events(scope, { ...query, ...(after !== undefined && { after }) }))
  return { pages, events: pages.flatMap(({ events }) => events), cursor: pages.at(-1)?.cursor ?? '' }
}

const short = ({ externalId, version, type, updateType }: CompanyEvent): string =>
  [externalId, version, updateType ?? type].join(' ')

/** Another company, which writes to the same log. */
async function createOther({ registry, system }: Fixture, count: number): Promise<Scope> {
  const { scope } = await system('U', 'other')
  for (let i = 0; i < count; i++)
    await registry.evidences.create(scope, { externalId: `o-${i}`, name: 'Other', ...inCategory('A', 'B') })
  return scope
}

const never = new AbortController().signal

describe('the events of a company', () => {
  it('have every event of the company once, in the order of the log, whatever the length of pages', async (fixture) => {
    const { registry, scope, evidence, stage } = fixture
    await evidence({ externalId: 'e-1' })
    const other = await createOther(fixture, 2)
    await evidence({ externalId: 'e-2' })
    const file = await stage()
    const change = { description: 'x', owner: 'Ada', files: [file] }
    const recorded = await registry.evidences.update(scope, 'e-1', change)
    await registry.files.delete(scope, { fileId: file.id })
    await registry.evidences.update(scope, 'e-2', { updateType: 'stolen' })
    await registry.sealNow()
    const { events } = await read(registry, scope)
    const expected = ['e-1 1 create', 'e-2 1 create', 'e-1 2 change', 'e-1 3 transfer', 'e-1 4 addfile']
    assert.deepEqual(events.map(short), [...expected, 'e-1 5 deletefile', 'e-2 2 stolen'])
    assert.deepEqual(
      events.slice(2, 5).map(({ txId }) => txId),
      recorded.map(({ txId }) => txId),
    )
    const history = await registry.evidences.get(scope, 'e-1')
    assert.deepEqual(
      history.events.map(({ version, recordedAt, txId, batch }) => ({ version, recordedAt, txId, batch })),
      events
        .filter(({ externalId }) => externalId === 'e-1')
        .map(({ version, recordedAt, txId, batch }) => ({ version, recordedAt, txId, batch })),
    )
    for (const limit of [1, 2, 5]) assert.deepEqual((await read(registry, scope, { limit })).events, events)
    for (const [i, { cursor }] of events.entries())
      assert.deepEqual((await read(registry, scope, { after: cursor })).events, events.slice(i + 1))
    assert.deepEqual((await read(registry, other)).events.map(short), ['o-0 1 create', 'o-1 1 create'])
  })

  test('begin at the first event, and go on until there is one or 200 ms have passed', async (t) => {
    const fixture = await openFixture({ t })
    const { registry, scope, evidence, system, stores } = fixture
    const { scope: other } = await system('U', 'other')
    await createMany(registry, other, numbered('o-', 11_000))
    const { scope: late } = await system('U', 'late')
    await registry.evidences.create(late, { externalId: 'l-1', name: 'Late', ...inCategory('A', 'B') })
    await evidence()
    const reads: number[] = []
    let readMs = 0
    const { records, clock } = stores
    const readPayloads = records.readPayloads.bind(records)
    t.mock.method(records, 'readPayloads', (from: number, count: number) => {
      reads.push(from)
      clock.set(clock.now() + readMs)
      return readPayloads(from, count)
    })
    assert.deepEqual((await read(registry, late)).events.map(short), ['l-1 1 create'])
    assert.deepEqual(reads, [11_001], 'nothing from before the company')
    readMs = 100
    const first = await registry.evidences.events(scope)
    assert.deepEqual([first.events, first.hasMore, reads.slice(1)], [[], true, [1, 256]])
    readMs = 0
    const { pages, events } = await read(registry, scope, { after: first.cursor })
    assert.deepEqual([pages.length, events.map(short)], [1, ['e-1 1 create']])
    reads.length = 0
    assert.deepEqual((await read(registry, scope)).events, events)
    assert.deepEqual(reads, [11_002], 'what was read in vain is not read again')
  })

  it('begin where the caller says, and refuse other texts than cursors of this log', async (fixture) => {
    const { registry, scope, evidence, system } = fixture
    await evidence({ externalId: 'e-1' })
    const latest = await registry.evidences.events(scope, { after: 'latest' })
    assert.deepEqual(latest.events, [])
    await evidence({ externalId: 'e-2' })
    assert.deepEqual((await read(registry, scope, { after: latest.cursor })).events.map(short), ['e-2 1 create'])
    const [logId = '', position = ''] = latest.cursor.split('.')
    const wrong = ['', 'x', position, `00000000.${position}`, `${logId}.99`, `${logId}.01`, `${logId}.-1`]
    for (const after of wrong) await rejectsWith('VALIDATION_ERROR', registry.evidences.events(scope, { after }), after)
    const { scope: inserter } = await system('I')
    assert.equal((await registry.evidences.events(inserter)).events.length, 2)
  })

  it('go on past an evidence that cannot be read any more', async ({ registry, scope, evidence, stores }) => {
    for (const externalId of ['e-1', 'e-2', 'e-3']) await evidence({ externalId })
    const { events } = await read(registry, scope)
    const [lost, damaged] = events.map(({ evidenceId }) => keys.evidence('acme', evidenceId))
    assert.ok(lost !== undefined && damaged !== undefined, 'there are three events')
    await stores.records.commit({
      writes: [
        { key: lost, value: null },
        { key: damaged, value: new Uint8Array([1]) },
      ],
    })
    const ids = (await read(registry, scope)).events.map(({ externalId }) => externalId)
    assert.deepEqual(ids, [undefined, undefined, 'e-3'])
  })
})

describe('waiting for an event', () => {
  it('ends with an event of the company, and not with one of another company', async (fixture) => {
    const { registry, scope, evidence } = fixture
    const { cursor } = await read(registry, scope)
    const waiting = registry.evidences.nextEvent(scope, cursor, never)
    const alsoWaiting = registry.evidences.nextEvent(scope, cursor, never)
    await createOther(fixture, 1)
    await fixture.clock.advance(1)
    await evidence()
    await fixture.clock.advance(1_000)
    const after = await waiting
    assert.equal(await alsoWaiting, after)
    const { events } = await registry.evidences.events(scope, { after, limit: 1 })
    assert.deepEqual(events.map(short), ['e-1 1 create'])
  })

  it('ends with its signal, at the end of what was looked at', async (fixture) => {
    const { registry, scope, evidence } = fixture
    const { cursor } = await read(registry, scope)
    const ending = new AbortController()
    const waiting = registry.evidences.nextEvent(scope, cursor, ending.signal)
    const other = await createOther(fixture, 3)
    // It ends when the log was looked at up to its first event.
    await registry.evidences.nextEvent(other, cursor, never)
    ending.abort()
    const after = await waiting
    assert.notEqual(after, cursor)
    await evidence()
    assert.deepEqual((await read(registry, scope, { after })).events.map(short), ['e-1 1 create'])
  })

  it('fails if the log cannot be read', async (fixture) => {
    const { registry, scope, evidence, stores } = fixture
    const { cursor } = await read(registry, scope)
    const waiting = rejectsWith('UNAVAILABLE', registry.evidences.nextEvent(scope, cursor, never))
    stores.records.readPayloads = () => Promise.reject(new RegistryError('UNAVAILABLE', 'injected'))
    await evidence()
    await waiting
  })

  test('sees what another server wrote, and ends with the registry', async (t) => {
    const first = await openFixture({ records: { isShared: true } })
    const second = await openFixture({ t, stores: first.stores, records: { isShared: true } })
    const { cursor } = await read(first.registry, first.scope)
    const waiting = first.registry.evidences.nextEvent(first.scope, cursor, never)
    await second.evidence()
    await first.clock.advance(1_000)
    const after = await waiting
    assert.deepEqual((await read(first.registry, first.scope, { after })).events.map(short), ['e-1 1 create'])
    const end = await read(first.registry, first.scope)
    const last = first.registry.evidences.nextEvent(first.scope, end.cursor, never)
    await first.close()
    assert.equal(await last, end.cursor)
  })
})
