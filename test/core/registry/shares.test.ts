import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { CompanyId, CreatedShare, EvidenceId, SharedEvidence, ShareId, ShareKey } from '../../../core/index.ts'
import { MAX_BUNDLE_LENGTH } from '../../../core/commitment/bundle-format.ts'
import { textOf } from '../../../core/store/codec.ts'
import { shareEntries } from '../../../core/store/derived.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { keys } from '../../../core/store/keys.ts'
import type { ShareRecord } from '../../../core/store/records.ts'
import { verifyBundle } from '../../../core/verify/index.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'
import { WatchedCalls } from '../../support/watched-calls.ts'
import { present } from '../../support/present.ts'
import {
  assertIntact,
  COMPANY,
  countVersionReads,
  it,
  openFixture,
  Stores,
  type Fixture,
} from '../../support/registry-fixture.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

const keyOf = ({ id, secret }: CreatedShare): ShareKey => ({ shareId: id, secret: present(secret) })

/** The names of the disclosed fields of each event, and the ids of its disclosed files. */
const shown = ({ bundle }: SharedEvidence) =>
  bundle.events.map(({ fields = {}, files = {} }) => [...Object.keys(fields), ...Object.keys(files)].sort())

/** Adds shares of an evidence to a store, also more than the registry makes. */
async function addShares({ records }: Stores, externalId: string, count: number): Promise<void> {
  const [named] = await records.get([keys.externalId(COMPANY, externalId)])
  const evidence = textOf(present(named)) as EvidenceId
  const shares = Array.from({ length: count }, (): ShareRecord => ({
    id: randomUUID() as ShareId,
    kind: 'link',
    company: COMPANY as CompanyId,
    evidence,
    secretHash: '0'.repeat(64),
    fields: ['name'],
    files: 'all',
    version: 1,
    actor: 'operator',
    createdAt: 1,
  }))
  const writes = shares.flatMap((share) => [putRecord(keys.share(share.id), share), ...shareEntries(share)])
  await records.commit({ writes, adds: [{ key: keys.shareCount(COMPANY, evidence), delta: count }] })
}

describe('a share', () => {
  it('discloses what was chosen up to its version, and of later events what happened', async (fixture) => {
    const { registry, scope, evidence, stage } = fixture
    const photo = await stage('photo', 'front.jpg', 'image/jpeg')
    const bill = await stage('bill', 'bill.pdf', 'application/pdf')
    await evidence({
      externalId: 'VIN-1',
      owner: 'Ada',
      description: 'blue',
      meta: { frame: 7 },
      image: photo,
      files: [bill],
    })
    const { shares } = registry
    const everything = ['texts', 'name', 'owner', 'meta', 'categoryId', 'actor', 'externalId'] as const
    const all = keyOf(await shares.create(scope, 'VIN-1', { fields: [...everything], files: 'all' }))
    const little = keyOf(await shares.create(scope, 'VIN-1', { fields: [], files: ['image'] }))

    const letter = await stage('letter', 'letter.txt', 'text/plain')
    const next = { owner: 'N. Next', description: 'a secret', eventDescription: 'a secret' }
    await registry.evidences.update(scope, 'VIN-1', { ...next, files: [letter] })
    await registry.evidences.update(scope, 'VIN-1', { updateType: 'stolen' })
    await registry.sealNow()

    const [opened, small] = await Promise.all([shares.open(all), shares.open(little)])
    const [first, ...later] = shown(opened)
    const disclosed = ['action', 'actor', 'categoryId', 'description', 'externalId', 'imageId', 'meta', 'name', 'owner']
    assert.deepEqual(first, [...disclosed, bill.id, photo.id].sort())
    for (const names of later) assert.deepEqual(new Set(['action', 'status', ...names]), new Set(['action', 'status']))
    assert.equal(later.length, 4)
    assert.match(JSON.stringify(later.at(-1)), /status/)
    assert.deepEqual(shown(small)[0], ['action', 'imageId', photo.id].sort())
    assert.doesNotMatch(JSON.stringify(opened), /N\. Next|a secret|letter\.txt/)
    assert.doesNotMatch(
      JSON.stringify(small),
      /Ada L|sky blue|N\. Next|a secret|bill\.pdf|"acme|A drill|VIN-1|"Tools|"Drills/,
    )
    assert.deepEqual(opened.filedUnder, { category: 'Tools', subcategory: 'Drills' })
    assert.equal(small.filedUnder, undefined)
    const { state } = verifyBundle(JSON.stringify(opened.bundle), {})
    assert.equal(state, 'consistent')

    assert.deepEqual(opened.files.map(({ id }) => id).sort(), [bill.id, photo.id].sort())
    assert.deepEqual(
      small.files.map(({ id }) => id),
      [photo.id],
    )
    assert.equal((await shares.file(little, photo.id.toUpperCase())).name, 'front.jpg')
    await rejectsWith('FILE_NOT_FOUND', shares.file(little, bill.id))
    await rejectsWith('FILE_NOT_FOUND', shares.file(all, letter.id))
    await registry.files.delete(scope, { fileId: photo.id })
    await rejectsWith('FILE_NOT_FOUND', shares.file(little, photo.id))
    await assertIntact(fixture)
  })

  it('says which of its fields lost their value', async ({ registry, scope, evidence, clock }) => {
    await evidence({ owner: 'Ada L' })
    const key = keyOf(await registry.shares.create(scope, 'e-1', { fields: ['owner'], files: [] }))
    assert.equal((await registry.shares.open(key)).erased, undefined)
    await registry.evidences.erase(scope, 'e-1', { fields: ['name', 'owner'], reason: 'request' })
    assert.deepEqual((await registry.shares.open(key)).erased, [{ field: 'owner', at: new Date(clock.now()) }])
  })

  test('discloses the newest values of a long history, and every theft, and reads each event once', async (t) => {
    const { reads, ...options } = countVersionReads(new Stores())
    const { registry, scope, evidence } = await openFixture({ t, ...options })
    await evidence({})
    await registry.evidences.update(scope, 'e-1', { updateType: 'stolen' })
    // 120,000 characters as a bundle writes them: more than fits into one.
    const long = '"'.repeat(30_000)
    for (let i = 0; i < 300; i++) await registry.evidences.update(scope, 'e-1', { meta: { i, long } })
    await registry.sealNow()
    const key = keyOf(await registry.shares.create(scope, 'e-1', { fields: ['meta'], files: [] }))
    reads.count = 0
    const opened = await registry.shares.open(key)
    assert.equal(reads.count, 301)
    const names = shown(opened)
    const newest = names.slice(names.findIndex((each) => each.includes('meta')))
    assert.ok(newest.every((each) => each.includes('meta')))
    assert.deepEqual(names[1], ['action', 'status'])
    const room = MAX_BUNDLE_LENGTH - JSON.stringify(opened.bundle).length
    assert.ok(room >= 0 && room < 121_000, `room for ${room} characters`)
    assert.equal(verifyBundle(JSON.stringify(opened.bundle), {}).state, 'consistent')
  })

  it('opens nothing after its end, with another secret, or if its maker was deactivated', async (fixture) => {
    const { registry, scope, evidence, system, clock } = fixture
    await evidence({})
    const { shares } = registry
    const { scope: reader, id: systemId } = await system('R')
    const input = { fields: ['name'], files: [] } as const
    const [ended, expired, orphan] = await Promise.all([
      shares.create(scope, 'e-1', input),
      shares.create(scope, 'e-1', { ...input, expiresAt: new Date(clock.now() + MINUTE_MS) }),
      shares.create(reader, 'e-1', input),
    ])
    await Promise.all([ended, expired, orphan].map((share) => shares.open(keyOf(share))))
    await rejectsWith('SHARE_NOT_FOUND', shares.open({ shareId: ended.id, secret: present(orphan.secret) }))
    for (const shareId of ['', 'x', orphan.id.replace(/.$/, 'x'), systemId])
      await rejectsWith('SHARE_NOT_FOUND', shares.open({ shareId, secret: present(ended.secret) }))

    await shares.end(scope, 'e-1', ended.id)
    await shares.end(scope, 'e-1', ended.id)
    await registry.sourceSystems.update(scope, systemId, { apiKey: 'another-key-of-this-system' })
    await shares.open(keyOf(orphan))
    await registry.sourceSystems.update(scope, systemId, { active: false })
    await clock.advance(MINUTE_MS)
    for (const share of [ended, expired, orphan]) await rejectsWith('SHARE_NOT_FOUND', shares.open(keyOf(share)))
    const { items } = await registry.sourceSystems.audit(scope)
    const audited = items.filter(({ type }) => type.startsWith('share')).map(({ type }) => type)
    assert.deepEqual(audited, ['shareEnded', 'shared', 'shared', 'shared'])
    await assertIntact(fixture)
  })

  it('is limited by the level of its maker', async ({ registry, scope, evidence, system, clock, stage }) => {
    const photo = await stage('photo', 'front.jpg', 'image/jpeg')
    await evidence({ files: [photo] })
    await evidence({ externalId: 'e-2' })
    const { shares } = registry
    const { scope: reader } = await system('R')
    const { scope: other } = await system('R')
    const { scope: writer } = await system('U')
    const input = { fields: [], files: [] } as const
    const inDays = (days: number) => new Date(clock.now() + days * DAY_MS)
    const own = await shares.create(reader, 'e-1', input)
    assert.deepEqual(own.expiresAt, inDays(30))
    await rejectsWith('FORBIDDEN', shares.create(reader, 'e-1', { ...input, expiresAt: inDays(31) }))
    await rejectsWith('FORBIDDEN', shares.create(reader, 'e-1', { ...input, kind: 'certificate' }))
    assert.equal((await shares.create(writer, 'e-1', { ...input, kind: 'certificate' })).expiresAt, undefined)
    await rejectsWith('FORBIDDEN', shares.end(other, 'e-1', own.id))
    await rejectsWith('SHARE_NOT_FOUND', shares.end(writer, 'e-2', own.id))
    await shares.end(reader, 'e-1', own.id)

    await rejectsWith('FILE_NOT_FOUND', shares.create(scope, 'e-2', { fields: [], files: [photo.id] }))
    await rejectsWith('FILE_NOT_FOUND', shares.create(scope, 'e-2', { fields: [], files: ['image'] }))
    for (const wrong of [
      { fields: ['slotKey'] },
      { fields: ['nam'] },
      { files: ['x'] },
      { more: 1 },
      { expiresAt: inDays(-1) },
      { files: 'none' },
    ])
      await rejectsWith('VALIDATION_ERROR', shares.create(scope, 'e-1', { ...input, ...wrong } as never))
  })

  it('is one of at most 100 open ones; of the ended ones the newest 100 are kept', async (fixture) => {
    const { registry, scope, evidence, clock } = fixture
    await evidence({})
    const { shares } = registry
    const brief = () => ({ fields: [], files: [], expiresAt: new Date(clock.now() + MINUTE_MS) }) as const
    const used = await shares.create(scope, 'e-1', brief())
    await shares.open(keyOf(used))
    const made = [used.id]
    for (const round of [1, 2, 3]) {
      while (made.length < round * 100) made.unshift((await shares.create(scope, 'e-1', brief())).id)
      await rejectsWith('TOO_MANY_SHARES', shares.create(scope, 'e-1', brief()))
      await clock.advance(MINUTE_MS)
      const listed = await shares.list(scope, 'e-1')
      assert.deepEqual(
        listed.map(({ id }) => id),
        made.slice(0, Math.min(round, 2) * 100),
      )
    }
    assert.deepEqual(await fixture.stores.keysOf('lv'), [], 'its last use is gone with it')
    await assertIntact(fixture)
  })

  it('is decided again if it was ended, or if the last place was taken, meanwhile', async (fixture) => {
    const { registry, scope, evidence, process } = fixture
    await evidence({})
    const { shares } = registry
    const create = () => shares.create(scope, 'e-1', { fields: [], files: [] })
    const { id } = await create()
    process.interleave(() => shares.end(scope, 'e-1', id))
    await shares.end(scope, 'e-1', id)
    const { items } = await registry.sourceSystems.audit(scope)
    assert.equal(items.filter(({ type }) => type === 'shareEnded').length, 1)
    for (let i = 0; i < 99; i++) await create()
    process.interleave(create)
    await rejectsWith('TOO_MANY_SHARES', create())
  })

  it('is made once for an idempotency key, and its secret is returned once', async ({ registry, scope, evidence }) => {
    await evidence({})
    const create = () =>
      registry.shares.create(scope, 'e-1', { fields: ['name'], files: 'all' }, { idempotencyKey: 'once' })
    const [first, again] = [await create(), await create()]
    assert.deepEqual(again, { id: first.id })
    assert.match(present(first.secret), /^[\w-]{22}$/)
    const [share, ...others] = await registry.shares.list(scope, 'e-1')
    assert.deepEqual(others, [])
    assert.doesNotMatch(JSON.stringify(share), new RegExp(present(first.secret)))
  })

  it('makes the same calls for a wrong secret, an unknown id and an ended or expired one', async () => {
    const stores = new Stores()
    const watched = new WatchedCalls()
    const { registry, scope, evidence, clock, close } = await openFixture({
      stores,
      records: watched.of(stores.records),
    })
    await evidence({})
    const { shares } = registry
    const input = { fields: [], files: [] } as const
    const [open, ended, expired] = [
      await shares.create(scope, 'e-1', input),
      await shares.create(scope, 'e-1', input),
      await shares.create(scope, 'e-1', { ...input, expiresAt: new Date(clock.now() + MINUTE_MS) }),
    ]
    await shares.end(scope, 'e-1', ended.id)
    await clock.advance(MINUTE_MS)
    const refused = [
      keyOf(ended),
      keyOf(expired),
      { ...keyOf(open), secret: present(ended.secret) },
      { ...keyOf(open), secret: '' },
      { ...keyOf(open), shareId: open.id.replace(/.{8}$/, '00000000') },
      { ...keyOf(open), shareId: 'x' },
    ]
    for (const key of refused)
      for (const use of [() => shares.open(key), () => shares.file(key, open.id)])
        assert.deepEqual(await watched.during(() => rejectsWith('SHARE_NOT_FOUND', use())), ['get ln'])
    await close()
  })

  it('costs no read of anything else while it is not used, not even as one of 10,000', async () => {
    const stores = new Stores()
    const watched = new WatchedCalls()
    const records = watched.of(stores.records)
    const first = await openFixture({ stores, records })
    await first.evidence({ owner: 'Ada' })
    await first.registry.evidences.update(first.scope, 'e-1', { updateType: 'stolen' })
    const used = keyOf(await first.registry.shares.create(first.scope, 'e-1', { fields: ['name'], files: 'all' }))
    await first.registry.sealNow()
    await first.close()
    await addShares(stores, 'e-1', 9_999)

    let fixture: Fixture | undefined
    const starts = await watched.during(async () => (fixture = await openFixture({ stores, records })))
    const { registry, scope, evidences, categories, files, proofs, sourceSystems, evidence, close } = present(fixture)
    const reads = await watched.during(async () => {
      await evidences.get(scope, 'e-1')
      await evidences.list(scope, { owner: 'Ada' })
      await evidences.list(scope, { words: 'drill', status: 'stolen' })
      await evidences.overview(scope)
      await evidences.events(scope)
      await evidences.files(scope, 'e-1')
      await evidences.publicStatus({ companyId: COMPANY, externalId: 'e-1' })
      await categories.list(scope)
      await sourceSystems.list(scope)
      await sourceSystems.audit(scope)
      await proofs.evidence({ evidenceId: 'e-1' })
      await rejectsWith('FILE_NOT_FOUND', files.find(scope, { fileId: randomUUID() }))
      await evidence({ externalId: 'e-2' })
      await evidences.update(scope, 'e-1', { owner: 'Next' })
    })
    const ofShares = (calls: readonly string[]) => calls.filter((call) => / l[ncev]\b/.test(call))
    assert.deepEqual(ofShares([...starts, ...reads]), [])
    assert.ok(reads.length > 30)
    assert.deepEqual(ofShares(await watched.during(() => registry.shares.open(used))), ['get ln'])
    await close()
  })

  it('is listed with its last use, also after a restart', async () => {
    const stores = new Stores()
    const { registry, scope, evidence, clock, close } = await openFixture({ stores })
    await evidence({})
    const share = await registry.shares.create(scope, 'e-1', { fields: [], files: [] })
    const usedAt = async (opened: typeof registry) => (await opened.shares.list(scope, 'e-1'))[0]?.lastUsedAt?.getTime()
    assert.equal(await usedAt(registry), undefined)
    await clock.advance(MINUTE_MS)
    await registry.shares.open(keyOf(share))
    const at = clock.now() - (clock.now() % MINUTE_MS)
    assert.equal(await usedAt(registry), at)
    await close()
    const later = await openFixture({ stores })
    assert.equal(await usedAt(later.registry), at)
    await later.close()
  })
})
