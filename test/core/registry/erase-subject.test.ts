import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeUtf8, encodeUtf8 } from '../../../core/bytes.ts'
import type { RecordStore, SubjectErasureInput, SubjectErasureResult } from '../../../core/index.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { putRecord, textEntry } from '../../../core/store/entries.ts'
import { keys } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'
import type { When } from '../../support/crashable-process.ts'
import { eventually } from '../../support/eventually.ts'
import { settle } from '../../support/manual-clock.ts'
import { present } from '../../support/present.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { assertIntact, type Fixture, it, openFixture, Stores } from '../../support/registry-fixture.ts'
import { entriesOf } from '../../support/whole-store.ts'

const ADA: SubjectErasureInput = { subject: 'Ada Lovelace', reason: 'request', note: 'by letter' }
const LEASE_MS = 30_000

/** Ada in three of four evidences: as owner, as a former one in other letters, and as persona. */
async function withAda({ evidence, evidences, scope }: Fixture): Promise<void> {
  await evidence({ externalId: 'owned', owner: 'Ada Lovelace' })
  await evidence({ externalId: 'formerly', owner: ' ADA LOVELACE ' })
  await evidences.update(scope, 'formerly', { summary: 'seen by Ada Lovelace' })
  await evidences.update(scope, 'formerly', { owner: 'Grace' })
  await evidence({ externalId: 'acted', owner: 'Grace' })
  await evidences.update(scope, 'acted', { owner: 'Edsger', persona: 'ada lovelace' })
  await evidence({ externalId: 'other', owner: 'Ada Lovelace the Second' })
}

const ALL = [
  ['owned', 1, 'owner'],
  ['formerly', 1, 'owner'],
  ['acted', 2, 'personaName'],
]

/** The erasure of a subject, when it has ended. */
const ended = ({ evidences, scope, clock }: Fixture, id: string): Promise<SubjectErasureResult> =>
  eventually(async () => {
    await clock.advance(1_000)
    const erasure = await evidences.erasure(scope, id)
    return erasure.kind === 'subject' && ['done', 'failed'].includes(erasure.state) && erasure
  })

const erase = async (fixture: Fixture, input: SubjectErasureInput = ADA): Promise<SubjectErasureResult> =>
  ended(fixture, (await fixture.evidences.eraseSubject(fixture.scope, input)).id)

const placesIn = ({ found }: SubjectErasureResult) =>
  found.map(({ externalId, version, field }) => [externalId, version, field])

/** Whether Ada is an owner or a persona anywhere. The second Ada and the summary stay. */
async function isNamed({ evidences, scope }: Fixture): Promise<boolean> {
  const pages = await Promise.all(['owned', 'formerly', 'acted'].map((id) => evidences.get(scope, id)))
  const texts = pages.flatMap(({ evidence, events }) => [
    evidence.owner,
    ...events.flatMap(({ owner, persona }) => [owner, persona]),
  ])
  return texts.some((text) => text?.trim().toLowerCase() === 'ada lovelace')
}

describe('erasing a subject', () => {
  it('begins with a dry run that changes no evidence', async (fixture) => {
    await withAda(fixture)
    const logSize = await fixture.stores.records.logSize()
    const result = await erase(fixture, { ...ADA, dryRun: true })
    assert.deepEqual(placesIn(result), ALL)
    const { state, dryRun, progress, erased, isMore } = result
    assert.deepEqual([state, dryRun, progress, erased, isMore], ['done', true, { done: 4, total: 4 }, 0, false])
    assert.equal(await fixture.stores.records.logSize(), logSize)
    assert.ok(await isNamed(fixture))
    await assertIntact(fixture)
  })

  it('erases each owner and persona, with a receipt for each evidence', async (fixture) => {
    const { evidences, scope, stores, registry } = fixture
    await withAda(fixture)
    const result = await erase(fixture)
    assert.deepEqual([placesIn(result), result.erased], [ALL, 3])
    assert.ok(!(await isNamed(fixture)))
    const { events } = await evidences.get(scope, 'formerly')
    assert.deepEqual(
      events.map(({ owner }) => owner),
      ['', '', 'Grace'],
    )
    const acted = await evidences.get(scope, 'acted')
    assert.deepEqual([acted.evidence.owner, acted.events[1]?.owner], ['Edsger', 'Edsger'])
    assert.equal((await evidences.list(scope, { owner: 'ada lovelace the second' })).count, 1)

    const { items } = await evidences.erasures(scope)
    assert.deepEqual(
      items.map(({ kind, reason, note, by }) => [kind, reason, note, by]),
      ['evidence', 'evidence', 'evidence', 'subject'].map((kind) => [kind, 'request', 'by letter', 'operator']),
    )
    const [newest, , , oldest] = items
    assert.deepEqual(await evidences.erasure(scope, present(newest).id.toUpperCase()), newest)
    const { found: _, isMore: __, ...listed } = result
    assert.deepEqual(oldest, listed)
    assert.ok(!('holder' in listed || 'cursor' in listed), 'what the servers work with')
    const pages = [
      await evidences.erasures(scope, { limit: 3 }),
      await evidences.erasures(scope, { after: newest?.id ?? '' }),
    ]
    assert.deepEqual(
      pages.map(({ items: of, hasMore }) => [of.map(({ kind }) => kind).join(), hasMore]),
      [
        ['evidence,evidence,evidence', true],
        ['evidence,evidence,subject', false],
      ],
    )
    const left = (await entriesOf(stores.records)).map(({ key, value }) => `${key} ${decodeUtf8(value)}`)
    assert.deepEqual(
      left.filter((entry) => /"ada lovelace"|ada%20lovelace\//i.test(entry) || entry.startsWith('eu/')),
      [],
    )
    assert.deepEqual((await erase(fixture)).found, [])
    await registry.sealNow()
    await assertIntact(fixture)
  })

  it('is found only in its own company, by its id', async (fixture) => {
    const { evidences, scope, system } = fixture
    await withAda(fixture)
    const other = await system('A', 'other')
    const { id } = await evidences.eraseSubject(other.scope, ADA)
    await rejectsWith('ERASURE_NOT_FOUND', evidences.erasure(scope, id))
    for (const wrong of ['x', '', `${id}x`])
      await rejectsWith('ERASURE_NOT_FOUND', evidences.erasure(other.scope, wrong))
    assert.equal((await ended({ ...fixture, scope: other.scope }, id)).progress.total, 0)
    assert.ok(await isNamed(fixture))
    for (const subject of ['', ' ', 'a\nb'])
      await rejectsWith('VALIDATION_ERROR', evidences.eraseSubject(scope, { ...ADA, subject }))
  })

  it('takes at most 16 of a company at a time', async ({ evidences, scope, stores, system }) => {
    const waiting = Array.from({ length: 16 }, (_, i) => textEntry(keys.subject('acme', `waiting-${i}`), 'Grace'))
    await stores.records.commit({ writes: waiting })
    await rejectsWith('UNAVAILABLE', evidences.eraseSubject(scope, ADA))
    await evidences.eraseSubject((await system('A', 'other')).scope, ADA)
  })

  it('shows the first 1,000 values', async (fixture) => {
    const { categories, evidences, scope } = fixture
    await fixture.evidence({ owner: 'Ada Lovelace' })
    const [category] = await categories.list(scope)
    const path = { categoryId: present(category).id, subcategoryId: present(category?.subcategories[0]).id }
    const named = { name: 'm', owner: 'ada lovelace' }
    const more = Array.from({ length: 1_000 }, (_, i) => ({ ...named, externalId: `m-${i}` }))
    // So many are looked at in one step.
    const others = Array.from({ length: 128 }, (_, i) => ({ externalId: `other-${i}`, name: 'm' }))
    for (const each of [others, more]) await evidences.createMany(scope, { ...path, evidences: each })
    const { found, isMore, progress } = await erase(fixture, { ...ADA, dryRun: true })
    assert.deepEqual([found.length, isMore, progress], [1_000, true, { done: 1_129, total: 1_129 }])
    assert.deepEqual([found[0]?.externalId, found[999]?.externalId], ['e-1', 'm-998'])
  })

  it('ends at an evidence that is damaged, and forgets the subject', async (fixture) => {
    const { evidences, scope, stores } = fixture
    await withAda(fixture)
    const { id } = (await evidences.get(scope, 'formerly')).evidence
    const [event] = await stores.records.get([keys.event('acme', id, 2)])
    await stores.records.commit({ writes: [{ key: present(event).key, value: null }] })
    const result = await erase(fixture)
    assert.deepEqual([result.state, result.erased, placesIn(result)], ['failed', 1, ALL.slice(0, 1)])
    assert.deepEqual(await stores.keysOf('eu'), [])
    await stores.records.commit({ writes: [{ key: present(event).key, value: present(event).value }] })
    assert.deepEqual(placesIn(await erase(fixture)), ALL.slice(1))
    await assertIntact(fixture)
  })

  test('passes over one whose own record is damaged or missing, and reports it once the others are done', async (t) => {
    const { logger, lines } = recordingLogger()
    const fixture = await openFixture({ t, registry: { logger } })
    await withAda(fixture)
    const damaged = { key: keys.subjectErasure('acme', '0-damaged'), value: encodeUtf8('{"id":') }
    const subjects = ['0-damaged', '0-missing'].map((id) => textEntry(keys.subject('acme', id), 'Grace'))
    await fixture.stores.records.commit({ writes: [damaged, ...subjects] })
    assert.deepEqual(placesIn(await erase(fixture)), ALL)
    await fixture.clock.advance(LEASE_MS)
    const reported = lines.filter(({ level, code }) => level === 'warn' && code === 'CORRUPT')
    assert.ok(reported.length > 0 && reported.length < 5, `reported ${reported.length} times`)
    assert.equal((await fixture.stores.keysOf('eu')).length, 2)
  })

  test('leaves the subject nowhere on the disk', async (t) => {
    const rewritten: string[] = []
    const eraseHistory = async (changed: readonly string[]) => rewritten.push(...changed) > 0
    const fixture = await openFixture({ t, records: { eraser: { eraseHistory } } })
    await erase(fixture)
    await fixture.clock.advance(60_000)
    assert.ok(rewritten.some((key) => key.startsWith('eu/')))
  })

  it('does not overwrite an update that comes between its read and its commit', async (fixture) => {
    const { evidences, scope, stores } = fixture
    const other = await openFixture({ stores })
    await withAda(fixture)
    const { id } = await evidences.eraseSubject(scope, ADA)
    fixture.process.interleave(() =>
      other.evidences.update(scope, 'owned', { description: 'new', persona: 'ADA Lovelace' }),
    )
    const { found } = await ended(fixture, id)
    await other.close()
    assert.deepEqual(
      found.slice(0, 2).map(({ version, field }) => [version, field]),
      [
        [1, 'owner'],
        [2, 'personaName'],
      ],
    )
    assert.equal((await evidences.get(scope, 'owned')).evidence.description, 'new')
    await assertIntact(fixture)
  })
})

describe('an erasure of a subject that is interrupted', () => {
  for (const when of ['before', 'after'] as const satisfies readonly When[])
    for (const step of [1, 2, 3, 4, 5])
      test(`is done once if the process ends ${when} commit ${step}`, async () => {
        const stores = new Stores()
        const first = await openFixture({ stores })
        await withAda(first)
        first.process.fail(step, when, true)
        await first.evidences.eraseSubject(first.scope, ADA).catch(() => undefined)
        await settle()
        await first.close().catch(() => undefined)
        const next = await openFixture({ stores })
        const [asked] = await listEntries(stores.records, keys.allSubjectErasures())
        if (asked === undefined) assert.deepEqual([step, when, await isNamed(next)], [1, 'before', true])
        else {
          await next.clock.advance(LEASE_MS)
          const result = await ended(next, decodeRecord(asked).id)
          assert.deepEqual([placesIn(result), result.erased, result.progress], [ALL, 3, { done: 4, total: 4 }])
          assert.ok(!(await isNamed(next)))
          assert.equal((await listEntries(stores.records, keys.allErasures())).length, 3)
          assert.deepEqual(await stores.keysOf('eu'), [])
        }
        await assertIntact(next)
        await next.close()
      })

  test('goes on after errors of the store', async (t) => {
    const stores = new Stores()
    let failing = 0
    const get: RecordStore['get'] = async (wanted) => {
      if (wanted.some((key) => key.startsWith('vh/')) && failing-- > 0) throw new Error('injected')
      return stores.records.get(wanted)
    }
    const fixture = await openFixture({ t, stores, records: { get } })
    await withAda(fixture)
    failing = 1
    fixture.process.fail(3, 'after')
    const result = await erase(fixture)
    assert.deepEqual([placesIn(result), result.erased], [ALL, 3])
  })

  it('is as the first server left it if two take a step at the same time', async (fixture) => {
    await withAda(fixture)
    const { id } = await fixture.evidences.eraseSubject(fixture.scope, { ...ADA, dryRun: true })
    let isFirstDone = false
    fixture.process.interleave(async () => {
      const other = await openFixture({ stores: fixture.stores })
      isFirstDone = (await ended(other, id)).state === 'done'
      await other.close()
    })
    await eventually(async () => {
      await settle()
      return isFirstDone
    })
    await settle()
    assert.equal((await ended(fixture, id)).state, 'done')
  })

  it('is left to the server that works on it, until that has ended', async (fixture) => {
    const { stores } = fixture
    await withAda(fixture)
    fixture.process.fail(3, 'before', true)
    const { id } = await fixture.evidences.eraseSubject(fixture.scope, ADA)
    await settle()
    const other = await openFixture({ stores })
    await other.clock.advance(LEASE_MS - 1)
    const waiting = await other.evidences.erasure(other.scope, id)
    assert.ok(waiting.kind === 'subject' && waiting.state === 'running' && waiting.erased === 1)
    const { id: own } = await other.evidences.eraseSubject(other.scope, { ...ADA, subject: 'Edsger' })
    await settle()
    assert.equal((await other.evidences.erasures(other.scope)).items.find((item) => item.id === own)?.erased, 1)
    assert.equal((await ended(other, id)).erased, 3)
    await other.close()
  })

  it('is taken over also from a server whose clock was ahead', async (fixture) => {
    const { stores } = fixture
    await withAda(fixture)
    fixture.process.fail(3, 'before', true)
    const { id } = await fixture.evidences.eraseSubject(fixture.scope, ADA)
    await settle()
    const [running] = await listEntries(stores.records, keys.allSubjectErasures())
    const ahead = { ...decodeRecord(present(running)), heldAt: stores.clock.now() + 86_400_000 }
    await stores.records.commit({ writes: [putRecord(keys.subjectErasure('acme', id), ahead)] })
    const other = await openFixture({ stores })
    assert.equal((await ended(other, id)).erased, 3)
    await other.close()
  })
})
